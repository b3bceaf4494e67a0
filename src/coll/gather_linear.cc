// Everybody sends straight to the root, which receives straight into place.
//
// Cost at the root: L + o + (p - 1) max(g, n G). No byte is moved twice: for long blocks, and for blocks of different
// sizes.
#include "coll/algorithms.h"

namespace lapwing::coll {

void gather_linear(Schedule& schedule, const Block& mine, const Blocks& all, int root) {
  if (schedule.rank() != root) {
    if (mine.bytes() > 0) schedule.send(mine, root);
    return;
  }
  for (int rank = 0; rank < schedule.size(); ++rank) {
    const Block& place = all[static_cast<std::size_t>(rank)];
    if (rank == root) {
      if (mine.type != nullptr) schedule.copy(mine, place);
    } else if (place.bytes() > 0) {
      schedule.receive(place, rank);
    }
  }
}

}  // namespace lapwing::coll
