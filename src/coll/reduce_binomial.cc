// Binomial tree: in round k the ranks with bit k set hand their partial results down, and drop out.
//
// Cost: ceil(log2 p)(L + 2o + n (G + y)). For short operands. An operation that does not commute is reduced towards
// rank 0, whose subtrees are runs of ranks, and costs one more message when the root is another.
#include "coll/algorithms.h"
#include "coll/partial.h"

namespace lapwing::coll {

void reduce_binomial(Schedule& schedule, const Block& input, const Block& output, int root) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const int top = schedule.commutative() ? root : 0;
  const int place = (rank - top + size) % size;
  const auto rank_at = [&](int at) { return (at + top) % size; };

  const bool delivers = rank == root && root == top;
  Partial partial(schedule, input, delivers ? &output : nullptr);
  int mask = 1;
  for (; mask < size && (place & mask) == 0; mask *= 2) {
    if (place + mask < size) partial.combine(rank_at(place + mask), false);
  }
  if (place != 0) partial.send(rank_at(place - mask));
  if (delivers) partial.deliver(output);
  if (root == top) return;
  if (rank == top) partial.send(root);
  if (rank == root) {
    schedule.fence();  // the input may lie where the result goes
    schedule.receive(output, top);
  }
}

}  // namespace lapwing::coll
