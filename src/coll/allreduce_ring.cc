// Ring: p chunks go around once, gathering a contribution at every rank, and around again, complete. Each chunk goes in segments of at most s
// bytes, so that one is combined while the next is on the wire (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69, 2009).
//
// Cost with whole chunks: 2 (p - 1)(L + 2o) + n (p - 1) / p (2G + y) + n C, for any p, always between neighbours: for very long operands. In
// segments: (p - 1)/p n/s (max(g, s G, 2 (o + s O) + s y) + max(g, s G, 2 (o + s O))) + n C, where a chunk has so many that the first one is there
// before the last has left. Chunk i is reduced in the order i, i + 1, ... around, so the operation must commute. Every rank gets the bits computed
// by one.
#include <algorithm>

#include "coll/algorithms.h"

namespace lapwing::coll {
namespace {

// The chunks of an operand, in segments.
class Chunks {
 public:
  Chunks(const Block& whole, int ranks, std::uint64_t segment)
      : whole_(whole), starts_(even_starts(whole.count, ranks)), segments_(ring_segments(part(0).bytes(), segment)) {}

  int segments() const noexcept { return segments_; }
  // Of chunk `index`, counted around.
  Block segment(int index, int which) const {
    const Block chunk = part(index);
    const std::vector<std::uint64_t> starts = even_starts(chunk.count, segments_);
    const auto i = static_cast<std::size_t>(which);
    return chunk.part(starts[i], starts[i + 1] - starts[i]);
  }

 private:
  Block part(int index) const noexcept {
    const int ranks = static_cast<int>(starts_.size()) - 1;
    const auto i = static_cast<std::size_t>((index % ranks + ranks) % ranks);
    return whole_.part(starts_[i], starts_[i + 1] - starts_[i]);
  }

  Block whole_;
  std::vector<std::uint64_t> starts_;
  int segments_;
};

// One message after the other to the right neighbour: a lane for each.
class Lanes {
 public:
  int next(Schedule& schedule) {
    if (used_ > 0 && used_ % kLanes == 0) schedule.fence();  // lanes are used again
    return used_++ % kLanes;
  }

 private:
  int used_ = 0;
};

}  // namespace

int ring_segments(std::uint64_t chunk, std::uint64_t segment) noexcept {
  constexpr std::uint64_t kMost = 16;  // more gain next to nothing, and each is a message
  return static_cast<int>(std::clamp<std::uint64_t>((chunk + segment - 1) / segment, 1, kMost));
}

void allreduce_ring(Schedule& schedule, const Block& input, const Block& output, std::uint64_t segment) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const int right = (rank + 1) % size;
  const int left = (rank - 1 + size) % size;
  const Chunks chunks(output, size, segment);
  const int segments = chunks.segments();
  const auto at = [&](int step, int which) { return static_cast<std::size_t>(step * segments + which); };
  Lanes lanes;

  const StepId here = input.address != output.address ? schedule.copy(input, output) : kNoStep;
  std::vector<Block> rooms;  // of a segment that comes, in even and odd steps
  for (int i = 0; i < 2 * segments; ++i) rooms.push_back(schedule.scratch_like(chunks.segment(0, i % segments)));
  std::vector<StepId> sent, reduced;
  for (int step = 0; step < size - 1; ++step) {
    for (int i = 0; i < segments; ++i) {
      const int lane = lanes.next(schedule);
      const Block sum = chunks.segment(rank - step - 1, i);
      Block arrived = rooms[at(step % 2, i)];
      arrived.count = sum.count;
      const StepId have = step > 0 ? reduced[at(step - 1, i)] : here;
      sent.push_back(schedule.send(chunks.segment(rank - step, i), right, {have}, lane));
      const StepId free = step > 1 ? reduced[at(step - 2, i)] : kNoStep;
      const StepId received = schedule.receive(arrived, left, {free}, lane);
      reduced.push_back(schedule.reduce(arrived, sum, {received, here}));
    }
  }
  std::vector<StepId> newest(static_cast<std::size_t>(segments), here);
  if (size > 1) newest.assign(reduced.end() - segments, reduced.end());
  for (int step = 0; step < size - 1; ++step) {
    for (int i = 0; i < segments; ++i) {
      const int lane = lanes.next(schedule);
      StepId& last = newest[static_cast<std::size_t>(i)];
      schedule.send(chunks.segment(rank - step + 1, i), right, {last}, lane);
      // What comes overwrites a segment that was sent in the first turn, step `step`.
      last = schedule.receive(chunks.segment(rank - step, i), left, {sent[at(step, i)]}, lane);
    }
  }
}

}  // namespace lapwing::coll
