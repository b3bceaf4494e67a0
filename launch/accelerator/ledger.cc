#include "accelerator/ledger.h"

namespace lapwing::launch {
namespace {

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

Status Ledger::admit(uid_t user, Id& id) {
  const auto account = accounts_.find(user);
  if (account != accounts_.end() && account->second.ranks >= limits_.user_ranks)
    return Status::error(MPI_ERR_OTHER, "it serves no more than %u ranks of a user at a time (--user-ranks)", limits_.user_ranks);
  if (ranks_ >= limits_.ranks) return Status::error(MPI_ERR_OTHER, "it serves no more than %u ranks at a time (--ranks)", limits_.ranks);
  id = ++last_;
  entries_.emplace(id, Entry{user});
  ++accounts_[user].ranks;
  ++ranks_;
  return {};
}

Status Ledger::reserve(Id id, std::uint64_t memory, std::uint32_t connections) {
  Entry& entry = entries_.at(id);
  Account& account = accounts_[entry.user];
  if (memory > limits_.user_memory || account.memory > limits_.user_memory - memory)
    return Status::error(MPI_ERR_OTHER, "the ranks of this user have %s of the %s that they may pin (--user-memory), and this one asks for %s",
                         mebibytes(account.memory).c_str(), mebibytes(limits_.user_memory).c_str(), mebibytes(memory).c_str());
  if (memory > limits_.memory || memory_ > limits_.memory - memory)
    return Status::error(MPI_ERR_OTHER, "all ranks have %s of the %s that they may pin (--memory), and this one asks for %s",
                         mebibytes(memory_).c_str(), mebibytes(limits_.memory).c_str(), mebibytes(memory).c_str());
  if (connections > limits_.user_connections || account.connections > limits_.user_connections - connections)
    return Status::error(MPI_ERR_OTHER,
                         "the ranks of this user have %u of the %u connections that they may (--user-connections), and this one asks for %u",
                         account.connections, limits_.user_connections, connections);
  entry.memory = memory;
  entry.connections = connections;
  account.memory += memory;
  account.connections += connections;
  memory_ += memory;
  return {};
}

void Ledger::leave(Id id) noexcept {
  const auto found = entries_.find(id);
  if (found == entries_.end() || !found->second.here) return;
  Entry& entry = found->second;
  entry.here = false;
  Account& account = accounts_[entry.user];
  account.connections -= entry.connections;
  --account.ranks;
  --ranks_;
}

void Ledger::release_memory(Id id) noexcept {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  leave(id);
  const auto account = accounts_.find(found->second.user);
  account->second.memory -= found->second.memory;
  memory_ -= found->second.memory;
  if (account->second.ranks == 0 && account->second.memory == 0) accounts_.erase(account);
  entries_.erase(found);
}

}  // namespace lapwing::launch
