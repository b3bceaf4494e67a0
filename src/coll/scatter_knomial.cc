// K-nomial tree of radix k (knomial.h): every rank receives the packed blocks of its subtree and hands on its children's.
//
// Cost: ceil(logk p) (L + 2o) + (p - 1) n G + (p + 1) n C: for short blocks.
#include "coll/algorithms.h"

namespace lapwing::coll {

void scatter_knomial(Schedule& schedule, const Blocks& all, const Block& mine, int root, int radix) {
  const int size = schedule.size();
  const int own = (schedule.rank() - root + size) % size;
  const KnomialTree tree(own, size, radix);
  const auto rank_at = [&](int place) { return (place + root) % size; };
  const std::uint64_t bytes = tree.is_root() ? all[static_cast<std::size_t>(root)].bytes() : mine.bytes();
  if (bytes == 0) return;

  if (tree.width() == 1 && !tree.is_root()) {
    schedule.receive(mine, rank_at(tree.parent()));
    return;
  }
  std::byte* held = schedule.scratch(bytes * static_cast<std::uint64_t>(tree.width()));
  const auto part = [&](int place, int count) {
    return bytes_block(held + bytes * static_cast<std::uint64_t>(place - own), bytes * static_cast<std::uint64_t>(count));
  };
  if (tree.is_root()) {
    if (mine.type != nullptr) schedule.copy(all[static_cast<std::size_t>(root)], mine);
    for (int place = 1; place < size; ++place) schedule.copy(all[static_cast<std::size_t>(rank_at(place))], part(place, 1));
  } else {
    schedule.receive(part(own, tree.width()), rank_at(tree.parent()));
  }
  schedule.fence();
  tree.for_each_child_deepest_first([&](int place, int width) { schedule.send(part(place, width), rank_at(place)); });
  if (!tree.is_root()) schedule.copy(part(own, 1), mine);
}

}  // namespace lapwing::coll
