// What the ranks of each user take of the accelerator, and how much of it they may. Pure; one thread at a time.
//
// A rank's place and its connections are free again when it has gone. Its memory is free only when no process holds it any more (remains.h), because
// a descriptor that was handed out can live on elsewhere.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "base/status.h"

namespace lapwing::launch {

struct AcceleratorLimits {
  std::uint64_t user_memory = std::uint64_t{4} << 30;
  std::uint64_t memory = std::uint64_t{16} << 30;  // of all users
  std::uint32_t user_ranks = 256;
  std::uint32_t ranks = 4096;
  std::uint32_t user_connections = 16'384;
};

class Ledger {
 public:
  using Id = std::uint64_t;

  explicit Ledger(const AcceleratorLimits& limits) : limits_(limits) {}

  // A rank of this user has come. The text of an error says which limit keeps it out.
  Status admit(uid_t user, Id& id);
  // It is to have so much, once.
  Status reserve(Id id, std::uint64_t memory, std::uint32_t connections);
  // It has gone.
  void leave(Id id) noexcept;
  // And so has its memory. Nothing is known of it afterwards.
  void release_memory(Id id) noexcept;

  std::size_t ranks() const noexcept { return ranks_; }
  std::uint64_t memory() const noexcept { return memory_; }

 private:
  struct Account {
    std::uint64_t memory = 0;
    std::uint32_t ranks = 0;
    std::uint32_t connections = 0;
  };
  struct Entry {
    uid_t user;
    std::uint64_t memory = 0;
    std::uint32_t connections = 0;
    bool here = true;
  };

  const AcceleratorLimits limits_;
  std::map<uid_t, Account> accounts_;
  std::map<Id, Entry> entries_;
  Id last_ = 0;
  std::uint32_t ranks_ = 0;
  std::uint64_t memory_ = 0;
};

}  // namespace lapwing::launch
