// The root sends every rank its block, straight from its place.
//
// Cost at the root: L + o + (p - 1) max(g, n G). For long blocks, and for blocks of different sizes.
#include "coll/algorithms.h"

namespace lapwing::coll {

void scatter_linear(Schedule& schedule, const Blocks& all, const Block& mine, int root) {
  if (schedule.rank() != root) {
    if (mine.bytes() > 0) schedule.receive(mine, root);
    return;
  }
  for (int rank = 0; rank < schedule.size(); ++rank) {
    const Block& place = all[static_cast<std::size_t>(rank)];
    if (rank == root) {
      if (mine.type != nullptr) schedule.copy(place, mine);
    } else if (place.bytes() > 0) {
      schedule.send(place, rank);
    }
  }
}

}  // namespace lapwing::coll
