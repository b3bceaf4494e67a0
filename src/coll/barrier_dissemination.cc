// Dissemination barrier of a radix k. In round i every rank signals those j k^i further on, for j from 1 to k - 1, and waits for those as far before;
// after ceil(logk p) rounds every rank has heard, directly or not, of every other.
//
// Cost: ceil(logk p) (L + 2o + (k - 2) max(g, o)). All receives are posted at the start. No two messages go from one rank to the same other.
#include "coll/algorithms.h"

namespace lapwing::coll {

void barrier_dissemination(Schedule& schedule, int radix) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const Block signal = bytes_block(nullptr, 0);
  std::vector<StepId> before, round;
  for (int distance = 1; distance < size; distance *= radix) {
    for (int away = distance; away < size && away < radix * distance; away += distance) {
      round.push_back(schedule.receive(signal, (rank - away + size) % size));
      // Waiting for our own last signals means having heard everything before them.
      const StepId sent = schedule.send(signal, (rank + away) % size);
      for (const StepId each : before) schedule.add_dependency(sent, each);
      round.push_back(sent);
    }
    before = std::move(round);
    round.clear();
  }
}

}  // namespace lapwing::coll
