// Neighbours talk directly: one message for each edge, all at once. An application's topology has few edges per rank.
//
// Cost: L + o + max(in, out) max(g, 2o + n G).
#include "coll/algorithms.h"

namespace lapwing::coll {

void neighbor_direct(Schedule& schedule, const Neighbors& neighbors, const Blocks& out, const Blocks& in) {
  // Two edges between the same ranks: in a graph they match in the order of the lists, which is the order of starting.
  // In a grid of extent 1 or 2, what goes down arrives from above: lanes say which edge is meant.
  for (std::size_t i = 0; i < neighbors.in.size(); ++i) {
    if (neighbors.in[i] == MPI_PROC_NULL) continue;
    schedule.receive(in[i], neighbors.in[i], {}, neighbors.cartesian ? static_cast<int>(i ^ 1) : 0);
  }
  for (std::size_t i = 0; i < neighbors.out.size(); ++i) {
    if (neighbors.out[i] == MPI_PROC_NULL) continue;
    schedule.send(out[i], neighbors.out[i], {}, neighbors.cartesian ? static_cast<int>(i) : 0);
  }
}

}  // namespace lapwing::coll
