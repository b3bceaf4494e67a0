// The ledger of the accelerator, for the threads of its ranks: each function may be called by any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <span>

#include "accelerator/ledger.h"
#include "accelerator/remains.h"

namespace lapwing::launch {

class Accounts {
 public:
  explicit Accounts(const AcceleratorLimits& limits) : ledger_(limits) {}

  Status open() { return remains_.open(); }
  Status admit(uid_t user, Ledger::Id& id);
  // Memory that nobody holds any more is free by then.
  Status reserve(Ledger::Id id, std::uint64_t memory, std::uint32_t connections);
  // A rank has gone. `files`: its memory, of which it may have kept something; they are closed afterwards.
  void leave(Ledger::Id id, std::span<const int> files) noexcept;
  // What is counted now.
  std::uint64_t memory();
  std::size_t ranks();

 private:
  void collect();

  std::mutex mutex_;
  Ledger ledger_;
  Remains remains_;
};

}  // namespace lapwing::launch
