// Neighbourhood collectives: the topology's edges in their order, one block for each.
#include "coll/algorithms.h"
#include "coll/compile.h"
#include "comm/topology.h"

namespace lapwing::coll {

void compile_neighbor(const Call& call, const comm::Communicator& communicator, Schedule& schedule) {
  Neighbors neighbors;
  neighbors.in = comm::neighbours_in(communicator);
  neighbors.out = comm::neighbours_out(communicator);
  neighbors.cartesian = comm::topology_of(communicator)->kind() == comm::Topology::Kind::kCartesian;

  const Blocks in = call.receive.blocks(static_cast<int>(neighbors.in.size()));
  const bool to_all_the_same =
      call.what == Collective::kNeighborAllgather || call.what == Collective::kNeighborAllgatherv;
  const Blocks out = to_all_the_same ? Blocks(neighbors.out.size(), call.send.block())
                                     : call.send.blocks(static_cast<int>(neighbors.out.size()));
  neighbor_direct(schedule, neighbors, out, in);
}

}  // namespace lapwing::coll
