// K-nomial tree of radix k (knomial.h): every rank collects the packed blocks of its subtree and passes them on.
//
// Cost: ceil(logk p) (L + 2o + (k - 2) max(g, o)) + (p - 1) n G + (p + 1) n C: few messages at the root, for short blocks.
#include "coll/algorithms.h"
#include "coll/packed_tree.h"

namespace lapwing::coll {

void gather_knomial(Schedule& schedule, const Block& mine, const Blocks& all, int root, int radix) {
  const bool is_root = schedule.rank() == root;
  const std::uint64_t bytes = is_root ? all[static_cast<std::size_t>(root)].bytes() : mine.bytes();
  if (bytes == 0) return;
  PackedTree packed(schedule, root, radix, bytes);
  if (packed.is_leaf()) {
    schedule.send(mine, packed.parent());
    return;
  }
  packed.hold();
  if (!is_root) schedule.copy(mine, packed.own());
  packed.tree().for_each_child([&](int place, int width) { schedule.receive(packed.part(place, width), packed.rank_at(place)); });
  schedule.fence();
  if (!is_root) {
    schedule.send(packed.whole(), packed.parent());
    return;
  }
  if (mine.type != nullptr) schedule.copy(mine, all[static_cast<std::size_t>(root)]);
  for (int place = 1; place < schedule.size(); ++place)
    schedule.copy(packed.part(place, 1), all[static_cast<std::size_t>(packed.rank_at(place))]);
}

}  // namespace lapwing::coll
