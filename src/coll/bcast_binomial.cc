// Binomial tree: each round doubles the number of ranks that have the data. Ranks count from the root.
//
// Cost: ceil(log2 p) (L + 2o + n G). For short data, and for data that should not be cut.
#include "coll/algorithms.h"

namespace lapwing::coll {

StepId bcast_binomial(Schedule& schedule, const Block& data, int root) {
  const int size = schedule.size();
  const int place = (schedule.rank() - root + size) % size;
  StepId have = kNoStep;
  int mask = 1;
  while (mask < size && (place & mask) == 0) mask *= 2;
  // The lowest set bit leads to the parent; the root has none, and its mask is beyond all.
  if (place != 0) have = schedule.receive(data, (place - mask + root) % size);
  // The deepest subtree first.
  for (mask /= 2; mask > 0; mask /= 2) {
    if (place + mask < size) schedule.send(data, (place + mask + root) % size, {have});
  }
  return have;
}

}  // namespace lapwing::coll
