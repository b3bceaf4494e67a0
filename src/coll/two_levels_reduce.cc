// Reductions on two levels: the ranks of each host combine their operands at the one that speaks for it, and these combine what the hosts
// have. Long operands go in segments: while one is on the wire, the next is combined inside the hosts.
//
// Cost, for h hosts, with R, B and A for what a reduction and a broadcast inside a host and an allreduce of h ranks cost: R(n) + the reduction
// of h ranks, or R(n) + A(n) + B(n); in segments of s bytes the longer of the two levels, and the other one's time for a segment or two.
// The operands are combined in the order of ranks if the ranks of each host follow each other (Levels::in_order()).
#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/compile.h"
#include "coll/two_levels.h"

namespace lapwing::coll {
namespace {

// Two segments are on the wire at a time.
int first_lane(std::size_t segment) noexcept {
  return segment % 2 == 0 ? 0 : kLanes / 2;
}

std::uint64_t size_of(const Block& block) noexcept {
  return static_cast<std::uint64_t>(block.type->size());
}

// The output of a rank that has none.
Block nothing_like(const Block& operand) noexcept {
  return block(nullptr, 0, operand.type);
}

// An algorithm between so many hosts would use the lanes of both.
std::uint64_t segment_bytes(const TwoLevels& two, const Block& operand) noexcept {
  return two.levels().hosts() <= kLanes / 4 ? tuning().coll_two_levels_segment : operand.bytes();
}

}  // namespace

void reduce_on_two_levels(Schedule& schedule, const Block& input, const Block& output, int root) {
  const TwoLevels two(schedule, root);
  const bool is_root = schedule.rank() == root;
  const bool alone = two.levels().neighbors().size() == 1;  // then its own operand is what the host has
  Block partial = is_root ? output : nothing_like(input);
  if (two.speaks() && !is_root && !alone) partial = schedule.scratch_like(input);
  StepId inside = kNoStep, across = kNoStep, before = kNoStep;
  for_segments(input.count, size_of(input), segment_bytes(two, input),
               [&](std::size_t index, std::uint64_t first, std::uint64_t count) {
                 const Block operand = input.part(first, count);
                 const Block combined = two.speaks() && !alone ? partial.part(first, count) : partial;
                 two.inside();
                 if (!alone)
                   inside =
                       schedule.branch({inside}, [&] { compile_reduce(schedule, operand, combined, two.speaker()); });
                 if (!two.speaks()) return;
                 two.across();
                 schedule.set_first_lane(first_lane(index));
                 const StepId started = schedule.join({inside, before});
                 before = across;
                 across = schedule.branch({started}, [&] {
                   compile_reduce(schedule, alone ? operand : combined,
                                  is_root ? output.part(first, count) : nothing_like(input), two.root_host());
                 });
                 schedule.set_first_lane(0);
               });
}

void allreduce_on_two_levels(Schedule& schedule, const Block& input, const Block& output) {
  const TwoLevels two(schedule, 0);
  struct Segment {
    Block result;
    StepId here;
  };
  StepId inside = kNoStep;
  const auto spread = [&](const Segment& segment) {
    two.inside();
    inside = schedule.branch({inside, segment.here}, [&] { compile_bcast(schedule, segment.result, two.speaker()); });
  };
  std::vector<Segment> on_the_wire;
  for_segments(input.count, size_of(input), segment_bytes(two, input),
               [&](std::size_t index, std::uint64_t first, std::uint64_t count) {
                 const Block result = output.part(first, count);
                 two.inside();
                 inside = schedule.branch({inside}, [&] {
                   compile_reduce(schedule, input.part(first, count), two.speaks() ? result : nothing_like(input),
                                  two.speaker());
                 });
                 StepId here = kNoStep;
                 if (two.speaks()) {
                   two.across();
                   schedule.set_first_lane(first_lane(index));
                   here = schedule.branch({inside}, [&] { compile_allreduce(schedule, result, result); });
                   schedule.set_first_lane(0);
                 }
                 on_the_wire.push_back({result, here});
                 if (index > 0) spread(on_the_wire[index - 1]);
               });
  spread(on_the_wire.back());
}

}  // namespace lapwing::coll
