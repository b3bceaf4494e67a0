// Recursive doubling: in round k partners 2^k apart exchange their partial results and both combine them, in the same
// order.
//
// Cost: floor(log2 p)(L + 2o + n (G + y)), and two messages more when p is no power of two. For short operands.
#include "coll/algorithms.h"
#include "coll/fold.h"
#include "coll/partial.h"

namespace lapwing::coll {

void allreduce_recursive_doubling(Schedule& schedule, const Block& input, const Block& output) {
  const Fold fold(schedule);
  const int rank = schedule.rank();
  if (fold.gives()) {
    schedule.send(input, rank + 1);
    schedule.fence();  // the input may lie where the result goes
    schedule.receive(output, rank + 1);
    return;
  }
  Partial partial(schedule, input, &output);
  if (fold.takes()) partial.combine(rank - 1, true);
  for (int mask = 1; mask < fold.power; mask *= 2) {
    const int peer = fold.rank_of(fold.core() ^ mask);
    partial.send(peer);
    partial.combine(peer, peer < rank);
  }
  const StepId ready = partial.deliver(output);
  if (fold.takes()) schedule.send(output, rank - 1, {ready});
}

}  // namespace lapwing::coll
