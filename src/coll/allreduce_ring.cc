// Ring: p chunks go around once, gathering a contribution at every rank, and around again, complete.
//
// Cost: 2 (p - 1)(L + 2o) + n (p - 1) / p (2G + y) for any p, always between neighbours: for very long operands. Chunk
// i is reduced in the order i, i + 1, ... around, so the operation must commute. Every rank gets the bits computed by
// one.
#include "coll/algorithms.h"

namespace lapwing::coll {

void allreduce_ring(Schedule& schedule, const Block& input, const Block& output) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const int right = (rank + 1) % size;
  const int left = (rank - 1 + size) % size;
  const std::vector<std::uint64_t> starts = even_starts(output.count, size);
  const auto chunk = [&](const Block& whole, int index) {
    const std::size_t i = static_cast<std::size_t>((index % size + size) % size);
    return whole.part(starts[i], starts[i + 1] - starts[i]);
  };
  const auto lane_of = [&](int step) {
    if (step > 0 && step % kLanes == 0) schedule.fence();  // lanes are used again
    return step % kLanes;
  };

  const StepId here = input.address != output.address ? schedule.copy(input, output) : kNoStep;
  const Block room[2] = {schedule.scratch_like(chunk(output, 0)), schedule.scratch_like(chunk(output, 0))};
  std::vector<StepId> sent;
  std::vector<StepId> reduced;
  for (int step = 0; step < size - 1; ++step) {
    const int lane = lane_of(step);
    Block arrived = room[step % 2];
    const Block sum = chunk(output, rank - step - 1);
    arrived.count = sum.count;
    const StepId received = schedule.receive(arrived, left, {step > 1 ? reduced[reduced.size() - 2] : kNoStep}, lane);
    sent.push_back(schedule.send(chunk(output, rank - step), right, {step > 0 ? reduced.back() : here}, lane));
    reduced.push_back(schedule.reduce(arrived, sum, {received, here}));
  }
  StepId newest = size > 1 ? reduced.back() : here;
  for (int step = 0; step < size - 1; ++step) {
    const int lane = lane_of(size - 1 + step);
    const StepId have = newest;
    // What comes overwrites a chunk that was sent in the first turn, step `step`.
    newest = schedule.receive(chunk(output, rank - step), left, {sent[static_cast<std::size_t>(step)]}, lane);
    schedule.send(chunk(output, rank - step + 1), right, {have}, lane);
  }
}

}  // namespace lapwing::coll
