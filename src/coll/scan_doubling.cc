// Prefix sums by doubling: in round k every rank adds what the rank 2^k before it has, and then covers 2^(k+1) ranks.
//
// Cost: ceil(log2 p)(L + 2o + n (G + y)); twice y for the exclusive form, which keeps a second sum without the own
// operand.
#include "coll/algorithms.h"
#include "coll/partial.h"

namespace lapwing::coll {

void scan_doubling(Schedule& schedule, const Block& input, const Block& output) {
  const int rank = schedule.rank();
  Partial partial(schedule, input, &output);
  for (int distance = 1; distance < schedule.size(); distance *= 2) {
    if (rank + distance < schedule.size()) partial.send(rank + distance);
    if (rank - distance >= 0) partial.combine(rank - distance, true);
  }
  partial.deliver(output);
}

void exscan_doubling(Schedule& schedule, const Block& input, const Block& output) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const Block inclusive = schedule.scratch_like(input);
  const Block arrived = schedule.scratch_like(input);
  StepId covered = schedule.copy(input, inclusive);
  StepId result = covered;  // the output may be the input, which has been copied by then
  StepId arrived_free = kNoStep;
  bool first = true;
  for (int distance = 1; distance < size; distance *= 2) {
    StepId sent = kNoStep;
    if (rank + distance < size) sent = schedule.send(inclusive, rank + distance, {covered});
    if (rank - distance < 0) continue;
    const StepId received = schedule.receive(arrived, rank - distance, {arrived_free});
    result = first ? schedule.copy(arrived, output, {received, result})
                   : schedule.reduce(arrived, output, {received, result});
    first = false;
    covered = schedule.reduce(arrived, inclusive, {received, covered, sent});
    arrived_free = schedule.join({result, covered});
  }
}

}  // namespace lapwing::coll
