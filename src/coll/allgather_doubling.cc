// Recursive doubling: in round k partners 2^k apart exchange all that they have, which is runs of ranks, so that each round is one message each
// way. Where the number of ranks is no power of two, some give their block to a neighbour first and get everything from it at last.
//
// Cost: floor(log2 p)(L + 2o) + (p - 1) n G + n C, and two messages more, one of them of everything, when p is no power of two. As many rounds as
// Bruck's algorithm, and no copies but that of the own block where the blocks lie one after the other; for short and middling data of 2^k ranks.
#include "coll/algorithms.h"
#include "coll/block_run.h"
#include "coll/fold.h"

namespace lapwing::coll {
namespace {

// The first rank whose block the rank with this number among those that exchange has at the beginning.
int first_rank(const Fold& fold, int core) noexcept {
  return core < fold.excess ? 2 * core : core + fold.excess;
}

}  // namespace

void allgather_doubling(Schedule& schedule, const Block& mine, const Blocks& all) {
  const Fold fold(schedule);
  const BlockRun run(schedule, all);
  const int rank = schedule.rank();
  const auto blocks_of = [&](int first_core, int end_core) {
    return run.places(first_rank(fold, first_core), first_rank(fold, end_core));
  };
  run.put(schedule, mine);
  schedule.fence();
  if (fold.gives()) {
    schedule.send(run.of_rank(rank), rank + 1);
    schedule.fence();  // the own block is among those that come
    schedule.receive(run.whole(), rank + 1);
    return run.deliver(schedule, all);
  }
  if (fold.takes()) schedule.receive(run.of_rank(rank - 1), rank - 1);
  for (int distance = 1; distance < fold.power; distance *= 2) {
    const int first = fold.core() / distance * distance, theirs = first ^ distance;
    const int peer = fold.rank_of(fold.core() ^ distance);
    schedule.fence();
    schedule.send(blocks_of(first, first + distance), peer);
    schedule.receive(blocks_of(theirs, theirs + distance), peer);
  }
  schedule.fence();
  if (fold.takes()) schedule.send(run.whole(), rank - 1);
  run.deliver(schedule, all);
}

}  // namespace lapwing::coll
