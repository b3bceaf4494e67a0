// Memory for temporary operands of schedules, which the next schedules use again.
//
// Memory that is new to a process costs a page fault for every 4 KiB of it, which takes longer than to combine the operand that lies there: a
// reduce-scatter of 1 MiB between 4 ranks took 4 to 7 times as long as with memory that it used before. A schedule with much scratch memory is
// not kept (cache.h), so what it had comes back here. Used with the endpoint's lock held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lapwing::coll {

struct ScratchMemory {
  std::unique_ptr<std::byte[]> address;
  std::uint64_t bytes = 0;
};

class ScratchPool {
 public:
  // Less than this comes from the allocator, which keeps it anyway.
  static constexpr std::uint64_t kLeast = 16 * 1024;

  ScratchPool();
  // `bytes` at least.
  ScratchMemory take(std::uint64_t bytes);
  // To be used again, as long as all of it is no more than coll.scratch_pool; beyond, what came back first is given up.
  void give_back(ScratchMemory memory) noexcept;
  // Of what is free.
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t kMost = 64;

  std::vector<ScratchMemory> free_;  // in the order in which it came back
  std::uint64_t bytes_ = 0;
};

}  // namespace lapwing::coll
