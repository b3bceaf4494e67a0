// Neighbour exchange (Chen and others, 2005): ranks stand in a ring and exchange with their two neighbours in turn, first their own blocks, then
// the two blocks that they got last. For an even number of ranks; with an odd one the ring does it.
//
// Cost: p / 2 (L + 2o) + (p - 1) n G + n C: half the rounds of the ring, still always between neighbours; for long data where latency counts as well.
#include "coll/algorithms.h"
#include "coll/block_run.h"

namespace lapwing::coll {

void allgather_neighbors(Schedule& schedule, const Block& mine, const Blocks& all) {
  const int size = schedule.size(), rank = schedule.rank();
  if (size % 2 != 0) return allgather_ring(schedule, mine, all);
  const BlockRun run(schedule, all);
  // The blocks go in pairs, of ranks 2i and 2i + 1. Even ranks turn to the right first, odd ones to the left.
  const int pairs = size / 2, own = rank / 2, turn = rank % 2 == 0 ? 1 : -1;
  const auto pair = [&](int at) {
    const int first = 2 * ((at % pairs + pairs) % pairs);
    return run.places(first, first + 2);
  };
  const auto neighbor = [&](int towards) { return (rank + towards + size) % size; };
  run.put(schedule, mine);
  schedule.fence();
  schedule.send(run.of_rank(rank), neighbor(turn));
  schedule.receive(run.of_rank(neighbor(turn)), neighbor(turn));
  // In round i the two neighbours in a pair's way exchange what they have had for one round: a rank gets the pairs to the left and to the right of
  // its own in turn, each time one further away.
  int newest = own;
  for (int round = 1; round < pairs; ++round) {
    const bool first_side = round % 2 == 0;
    const int peer = neighbor(first_side ? turn : -turn);
    const int away = (round + 1) / 2;
    const int incoming = own + (first_side ? turn : -turn) * away;
    schedule.fence();
    schedule.send(pair(newest), peer);
    schedule.receive(pair(incoming), peer);
    newest = incoming;
  }
  run.deliver(schedule, all);
}

}  // namespace lapwing::coll
