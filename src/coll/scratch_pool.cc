#include "coll/scratch_pool.h"

#include <utility>

#include "base/tuning.h"

namespace lapwing::coll {
namespace {

// A little more than is asked for, so that operands of nearly one length take turns at one memory.
std::uint64_t rounded(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kUnit = 4096;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

ScratchPool::ScratchPool() { free_.reserve(kMost); }

// The smallest that has room; of equals the one that came back last, which may still be in the caches. None that is much too large, or one
// short operand would take what a long one needs.
ScratchMemory ScratchPool::take(std::uint64_t bytes) {
  if (bytes >= kLeast) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const bool fits = it->bytes >= bytes && it->bytes / 2 <= bytes;
      if (fits && (best == free_.end() || it->bytes <= best->bytes)) best = it;
    }
    if (best != free_.end()) {
      ScratchMemory memory = std::move(*best);
      free_.erase(best);
      bytes_ -= memory.bytes;
      return memory;
    }
    bytes = rounded(bytes);
  }
  return {std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes};
}

void ScratchPool::give_back(ScratchMemory memory) noexcept {
  const std::uint64_t most = tuning().coll_scratch_pool;
  if (memory.bytes < kLeast || memory.bytes > most) return;
  while (free_.size() == kMost || bytes_ + memory.bytes > most) {
    bytes_ -= free_.front().bytes;
    free_.erase(free_.begin());
  }
  bytes_ += memory.bytes;
  free_.push_back(std::move(memory));
}

}  // namespace lapwing::coll
