// K-nomial tree of radix k (knomial.h): every rank receives the packed blocks of its subtree and hands on its children's.
//
// Cost: ceil(logk p) (L + 2o + (k - 2) max(g, o)) + (p - 1) n G + (p + 1) n C: for short blocks.
#include "coll/algorithms.h"
#include "coll/packed_tree.h"

namespace lapwing::coll {

void scatter_knomial(Schedule& schedule, const Blocks& all, const Block& mine, int root, int radix) {
  const bool is_root = schedule.rank() == root;
  const std::uint64_t bytes = is_root ? all[static_cast<std::size_t>(root)].bytes() : mine.bytes();
  if (bytes == 0) return;
  PackedTree packed(schedule, root, radix, bytes);
  if (packed.is_leaf()) {
    schedule.receive(mine, packed.parent());
    return;
  }
  packed.hold();
  if (is_root) {
    if (mine.type != nullptr) schedule.copy(all[static_cast<std::size_t>(root)], mine);
    for (int place = 1; place < schedule.size(); ++place)
      schedule.copy(all[static_cast<std::size_t>(packed.rank_at(place))], packed.part(place, 1));
  } else {
    schedule.receive(packed.whole(), packed.parent());
  }
  schedule.fence();
  packed.tree().for_each_child_deepest_first(
      [&](int place, int width) { schedule.send(packed.part(place, width), packed.rank_at(place)); });
  if (!is_root) schedule.copy(packed.own(), mine);
}

}  // namespace lapwing::coll
