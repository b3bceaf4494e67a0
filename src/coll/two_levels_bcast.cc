// Broadcast on two levels: the data goes from host to host, and inside each host from the rank that received it to the others. Long data goes
// in segments along a chain of hosts, and inside a host one segment is copied while the next is on the wire.
//
// Cost, for h hosts and what a broadcast inside one costs, B(n): ceil(log2 h)(L + 2o + n G) + B(n) for short data, in segments of s bytes
// (h - 2 + n / s)(L + 2o + s G) + B(s). Each host receives the data once, where a tree of all ranks sends it to some hosts several times.
#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/compile.h"
#include "coll/two_levels.h"

namespace lapwing::coll {
namespace {

// One segment along the chain of hosts from the root's on; returns the step after which it is here, `before` being that of the segment
// that used the lane last.
StepId pass_on(Schedule& schedule, const Block& segment, int root, int lane, StepId before) {
  const int size = schedule.size();
  const int place = (schedule.rank() - root + size) % size;
  StepId here = kNoStep;
  if (place != 0) here = schedule.receive(segment, (schedule.rank() - 1 + size) % size, {before}, lane);
  if (place == size - 1) return here;
  const StepId sent = schedule.send(segment, (schedule.rank() + 1) % size, {here, place == 0 ? before : kNoStep}, lane);
  return place == 0 ? sent : here;
}

}  // namespace

void bcast_on_two_levels(Schedule& schedule, const Block& data, int root) {
  const TwoLevels two(schedule, root);
  const bool whole = data.bytes() <= tuning().coll_two_levels_whole;
  const std::uint64_t size = data.type != nullptr ? static_cast<std::uint64_t>(data.type->size()) : 1;
  std::vector<StepId> passed;
  StepId spread = kNoStep;
  for_segments(data.count, size, whole ? data.bytes() : tuning().coll_two_levels_segment,
               [&](std::size_t index, std::uint64_t first, std::uint64_t count) {
                 const Block segment = data.part(first, count);
                 StepId here = kNoStep;
                 if (two.speaks()) {
                   two.across();
                   const StepId before = index >= kLanes ? passed[index - kLanes] : kNoStep;
                   here = whole ? bcast_knomial(schedule, segment, two.root_host())
                                : pass_on(schedule, segment, two.root_host(), static_cast<int>(index % kLanes), before);
                   passed.push_back(here);
                   if (two.root_host() == schedule.rank()) here = kNoStep;
                 }
                 two.inside();
                 spread = schedule.branch({here, spread}, [&] { compile_bcast(schedule, segment, two.speaker()); });
               });
}

}  // namespace lapwing::coll
