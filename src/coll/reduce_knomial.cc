// K-nomial tree of radix k (knomial.h): every rank combines the results of its children's subtrees with its own operand, and hands that on.
//
// Cost: ceil(logk p) (L + 2o + n (G + y) + (k - 2) max(g, n G, o + n y)). For short operands. An operation that does not commute is reduced towards
// rank 0, whose subtrees are runs of ranks, and costs one more message when the root is another.
#include "coll/algorithms.h"
#include "coll/partial.h"

namespace lapwing::coll {

void reduce_knomial(Schedule& schedule, const Block& input, const Block& output, int root, int radix) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const int top = schedule.commutative() ? root : 0;
  const KnomialTree tree((rank - top + size) % size, size, radix);
  const auto rank_at = [&](int place) { return (place + top) % size; };

  const bool delivers = rank == root && root == top;
  Partial partial(schedule, input, delivers ? &output : nullptr);
  tree.for_each_child([&](int place, int) { partial.combine(rank_at(place), false); });
  if (!tree.is_root()) partial.send(rank_at(tree.parent()));
  if (delivers) partial.deliver(output);
  if (root == top) return;
  if (rank == top) partial.send(root);
  if (rank == root) {
    schedule.fence();  // the input may lie where the result goes
    schedule.receive(output, top);
  }
}

}  // namespace lapwing::coll
