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
  const bool in_place = input.address == output.address;
  const bool sends_twice = rank > 0 && rank + 2 < size;
  // What this rank sends: its operand, and from its second message on, that of all ranks that it covers.
  Block covered = input;
  StepId ready = kNoStep, result = kNoStep;
  const auto copy_input = [&] {
    covered = schedule.scratch_like(input);
    ready = schedule.copy(input, covered);
  };
  if (in_place && sends_twice) copy_input();
  // The first operand that arrives is the result so far.
  const auto begin = [&](StepId sent) {
    if (!in_place && sends_twice) copy_input();
    const StepId output_free = sends_twice ? ready : sent;
    result = schedule.receive(output, rank - 1, {in_place ? output_free : kNoStep});
    if (sends_twice) ready = schedule.reduce(output, covered, {result, ready, sent});
  };
  Block arrived{};
  StepId arrived_free = kNoStep;
  const auto go_on = [&](int from, int distance, StepId sent) {
    if (arrived.count == 0) arrived = schedule.scratch_like(input);
    const StepId received = schedule.receive(arrived, from, {arrived_free});
    result = schedule.reduce(arrived, output, {received, result, ready});
    arrived_free = result;
    if (rank + 2 * distance >= size) return;
    ready = schedule.reduce(arrived, covered, {received, ready, sent});
    arrived_free = schedule.join({result, ready});
  };
  for (int distance = 1; distance < size; distance *= 2) {
    const StepId sent = rank + distance < size ? schedule.send(covered, rank + distance, {ready}) : kNoStep;
    if (rank == 0 || rank < distance) continue;
    distance == 1 ? begin(sent) : go_on(rank - distance, distance, sent);
  }
}

}  // namespace lapwing::coll
