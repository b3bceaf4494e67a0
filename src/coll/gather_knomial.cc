// K-nomial tree of radix k (knomial.h): every rank collects the packed blocks of its subtree and passes them on.
//
// Cost: ceil(logk p) (L + 2o) + (p - 1) n G + (p + 1) n C: few messages at the root, for short blocks.
#include "coll/algorithms.h"

namespace lapwing::coll {

void gather_knomial(Schedule& schedule, const Block& mine, const Blocks& all, int root, int radix) {
  const int size = schedule.size();
  const int own = (schedule.rank() - root + size) % size;
  const KnomialTree tree(own, size, radix);
  const auto rank_at = [&](int place) { return (place + root) % size; };
  const std::uint64_t bytes = tree.is_root() ? all[static_cast<std::size_t>(root)].bytes() : mine.bytes();
  if (bytes == 0) return;

  if (tree.width() == 1 && !tree.is_root()) {
    schedule.send(mine, rank_at(tree.parent()));
    return;
  }
  std::byte* collected = schedule.scratch(bytes * static_cast<std::uint64_t>(tree.width()));
  const auto part = [&](int place, int count) {
    return bytes_block(collected + bytes * static_cast<std::uint64_t>(place - own), bytes * static_cast<std::uint64_t>(count));
  };
  if (!tree.is_root()) schedule.copy(mine, part(own, 1));
  tree.for_each_child([&](int place, int width) { schedule.receive(part(place, width), rank_at(place)); });
  schedule.fence();
  if (!tree.is_root()) {
    schedule.send(part(own, tree.width()), rank_at(tree.parent()));
    return;
  }
  if (mine.type != nullptr) schedule.copy(mine, all[static_cast<std::size_t>(root)]);
  for (int place = 1; place < size; ++place) schedule.copy(part(place, 1), all[static_cast<std::size_t>(rank_at(place))]);
}

}  // namespace lapwing::coll
