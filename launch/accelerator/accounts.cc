#include "accelerator/accounts.h"

#include <algorithm>

namespace lapwing::launch {

Status Accounts::admit(uid_t user, Ledger::Id& id) {
  const std::lock_guard guard(mutex_);
  return ledger_.admit(user, id);
}

Status Accounts::reserve(Ledger::Id id, std::uint64_t memory, std::uint32_t connections) {
  const std::lock_guard guard(mutex_);
  collect();
  return ledger_.reserve(id, memory, connections);
}

void Accounts::leave(Ledger::Id id, std::span<const int> files) noexcept {
  const std::lock_guard guard(mutex_);
  const bool leaves_files = std::any_of(files.begin(), files.end(), [](int file) { return file >= 0; });
  if (leaves_files) remains_.watch(id, files);
  ledger_.leave(id);
  if (!leaves_files) ledger_.release_memory(id);
}

std::uint64_t Accounts::memory() {
  const std::lock_guard guard(mutex_);
  collect();
  return ledger_.memory();
}

std::size_t Accounts::ranks() {
  const std::lock_guard guard(mutex_);
  return ledger_.ranks();
}

void Accounts::collect() {
  for (const Ledger::Id id : remains_.gone()) ledger_.release_memory(id);
}

}  // namespace lapwing::launch
