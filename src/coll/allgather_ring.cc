// Ring: every block goes once around, straight from place to place.
//
// Cost: (p - 1)(L + 2o + n G). Every rank sends and receives each byte once, only with its neighbours: for long data.
#include "coll/algorithms.h"

namespace lapwing::coll {

void allgather_ring(Schedule& schedule, const Block& mine, const Blocks& all) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const int right = (rank + 1) % size;
  const int left = (rank - 1 + size) % size;
  const Block& own = all[static_cast<std::size_t>(rank)];
  StepId newest = kNoStep;
  for (int step = 0; step < size - 1; ++step) {
    if (step > 0 && step % kLanes == 0) schedule.fence();  // lanes are used again
    const Block& outgoing = step == 0 ? mine : all[static_cast<std::size_t>((rank - step + size) % size)];
    const Block& incoming = all[static_cast<std::size_t>((rank - step - 1 + size) % size)];
    const int lane = step % kLanes;
    if (outgoing.bytes() > 0) schedule.send(outgoing, right, {newest}, lane);
    if (incoming.bytes() > 0) newest = schedule.receive(incoming, left, {}, lane);
    if (step == 0 && own != mine) schedule.copy(mine, own);  // once the first messages are on their way
  }
  if (size == 1 && own != mine) schedule.copy(mine, own);
}

}  // namespace lapwing::coll
