#include "coll/block_run.h"

#include <numeric>

namespace lapwing::coll {
namespace {

void* address_of(const Block& block) noexcept {
  return Block::at(block.address, block.type->true_lb());
}

std::vector<int> in_order(std::size_t ranks) {
  std::vector<int> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

BlockRun::BlockRun(Schedule& schedule, const Blocks& all) : BlockRun(schedule, all, in_order(all.size())) {}

BlockRun::BlockRun(Schedule& schedule, const Blocks& all, const std::vector<int>& order) : place_(all.size()) {
  starts_.push_back(0);
  for (const int rank : order) {
    place_[index(rank)] = static_cast<int>(starts_.size()) - 1;
    starts_.push_back(starts_.back() + all[index(rank)].bytes());
  }
  const Block& first = all[index(order[0])];
  if (first.bytes() != 0) base_ = address_of(first);
  in_place_ = lies_so(all);
  if (!in_place_) base_ = schedule.scratch(starts_.back());
}

// An empty block lies anywhere; a first one that is empty tells no address.
bool BlockRun::lies_so(const Blocks& all) const noexcept {
  if (base_ == nullptr) return starts_.back() == 0;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].bytes() == 0) continue;
    if (!all[rank].type->contiguous() || address_of(all[rank]) != of_rank(static_cast<int>(rank)).address) return false;
  }
  return true;
}

StepId BlockRun::put(Schedule& schedule, const Block& mine) const {
  const Block place = of_rank(schedule.rank());
  if (mine.bytes() == 0 || (mine.type->contiguous() && address_of(mine) == place.address)) return kNoStep;
  return schedule.copy(mine, place);
}

void BlockRun::deliver(Schedule& schedule, const Blocks& all) const {
  if (in_place_) return;
  schedule.fence();
  for (std::size_t rank = 0; rank < all.size(); ++rank) schedule.copy(of_rank(static_cast<int>(rank)), all[rank]);
}

}  // namespace lapwing::coll
