// All ranks send straight to the root, which receives straight into place, in the order of ranks, and between hosts from a few at a time
// (window.h).
//
// Cost at the root: L + o + (p - 1) max(g, n G). No byte is moved twice: for long blocks, and for blocks of different
// sizes.
#include "coll/algorithms.h"
#include "coll/window.h"

namespace lapwing::coll {

void gather_linear(Schedule& schedule, const Block& mine, const Blocks& all, int root) {
  Window window(schedule);
  if (schedule.rank() != root) {
    const bool asked = window.asks(mine.bytes());
    if (mine.bytes() > 0) asked ? schedule.send_when_asked(mine, root) : schedule.send(mine, root);
    return;
  }
  for (int rank = 0; rank < schedule.size(); ++rank) {
    const Block& place = all[static_cast<std::size_t>(rank)];
    if (rank == root) {
      if (mine.type != nullptr) schedule.copy(mine, place);
    } else if (place.bytes() > 0) {
      window.admit(schedule, place.bytes(), [&](StepId gate) { return schedule.receive(place, rank, {gate}); });
    }
  }
}

}  // namespace lapwing::coll
