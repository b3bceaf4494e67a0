// Dissemination barrier. In round k every rank signals the one 2^k further on and waits for the one 2^k before; after
// ceil(log2 p) rounds every rank has heard, directly or not, of every other.
//
// Cost: ceil(log2 p) (L + 2o). All receives are posted at the start.
#include "coll/algorithms.h"

namespace lapwing::coll {

void barrier_dissemination(Schedule& schedule) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const Block signal = bytes_block(nullptr, 0);
  StepId sent = kNoStep;
  StepId heard = kNoStep;
  for (int distance = 1; distance < size; distance *= 2) {
    const StepId arrival = schedule.receive(signal, (rank - distance + size) % size);
    // Waiting for our own last signal means having heard everything before it.
    sent = schedule.send(signal, (rank + distance) % size, {heard, sent});
    heard = arrival;
  }
}

}  // namespace lapwing::coll
