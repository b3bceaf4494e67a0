// Barrier on two levels: the ranks of each host arrive at the one that speaks for it, these meet, and let the others go.
//
// Cost, for h hosts of which the largest has m ranks: 2 (m l + W) + ceil(log2 h)(L + 2o) with shared areas (l, W: on_area.cc), where all ranks
// would take ceil(log2 p) rounds of p messages between hosts.
#include "base/tuning.h"
#include "coll/algorithms.h"
#include "coll/two_levels.h"

namespace lapwing::coll {
namespace {

void arrive(Schedule& schedule, const Block& signal) {
  const bool speaks = schedule.rank() == 0;
  if (schedule.situation().area) {
    const StepId posted = schedule.post(signal, 0);
    if (speaks) schedule.await(AwaitStep::kAll, 0, {posted});
  } else if (speaks) {
    for (int rank = 1; rank < schedule.size(); ++rank) schedule.receive(signal, rank);
  } else {
    schedule.send(signal, 0);
  }
}

void let_go(Schedule& schedule, const Block& signal) {
  schedule.situation().area ? bcast_on_area(schedule, signal, 0) : void(bcast_knomial(schedule, signal, 0));
}

}  // namespace

void barrier_on_two_levels(Schedule& schedule) {
  const TwoLevels two(schedule, 0);
  const Block signal = bytes_block(nullptr, 0);
  two.inside();
  arrive(schedule, signal);
  schedule.next_piece();
  if (two.speaks()) {
    two.across();
    barrier_dissemination(schedule, static_cast<int>(tuning().coll_barrier_radix));
    schedule.next_piece();
  }
  two.inside();
  let_go(schedule, signal);
}

}  // namespace lapwing::coll
