// K-nomial tree of radix k (knomial.h): each round makes k times as many ranks have the data. Ranks count from the root.
//
// Cost: ceil(logk p) (L + 2o + n G + (k - 2) max(g, o, n G)). For short data, and for data that should not be cut.
#include "coll/algorithms.h"

namespace lapwing::coll {

StepId bcast_knomial(Schedule& schedule, const Block& data, int root, int radix) {
  const int size = schedule.size();
  const KnomialTree tree((schedule.rank() - root + size) % size, size, radix);
  const auto rank_at = [&](int place) { return (place + root) % size; };
  StepId have = kNoStep;
  if (!tree.is_root()) have = schedule.receive(data, rank_at(tree.parent()));
  tree.for_each_child_deepest_first([&](int place, int) { schedule.send(data, rank_at(place), {have}); });
  return have;
}

}  // namespace lapwing::coll
