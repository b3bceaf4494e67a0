// The blocks of an allgather as one run of bytes, in some order of ranks: where they lie so anyway, in place, else in scratch memory from which
// they are copied at last. So an algorithm can send several blocks as one message.
#pragma once

#include <vector>

#include "coll/schedule.h"

namespace lapwing::coll {

class BlockRun {
 public:
  // `order`: all ranks, each once.
  BlockRun(Schedule& schedule, const Blocks& all, const std::vector<int>& order);
  // In the order of ranks.
  BlockRun(Schedule& schedule, const Blocks& all);

  bool in_place() const noexcept { return in_place_; }
  Block whole() const noexcept { return between(0, starts_.back()); }
  // The blocks at the places `first` to `end - 1` of the order.
  Block places(int first, int end) const noexcept { return between(starts_[index(first)], starts_[index(end)]); }
  Block of_rank(int rank) const noexcept { return places(place_[index(rank)], place_[index(rank)] + 1); }

  // This rank's block gets there, from `mine`; the step after which it is, kNoStep where it lies there.
  StepId put(Schedule& schedule, const Block& mine) const;
  // All blocks get to where they belong, once everything before is done.
  void deliver(Schedule& schedule, const Blocks& all) const;

 private:
  static std::size_t index(int number) noexcept { return static_cast<std::size_t>(number); }
  Block between(std::uint64_t begin, std::uint64_t end) const noexcept {
    return bytes_block(Block::at(base_, static_cast<std::int64_t>(begin)), end - begin);
  }
  bool lies_so(const Blocks& all) const noexcept;

  std::vector<int> place_;             // by rank
  std::vector<std::uint64_t> starts_;  // by place, and the end
  void* base_ = nullptr;
  bool in_place_ = false;
};

}  // namespace lapwing::coll
