// Pairwise exchange: in step d every rank sends to the one d further on and receives from the one d before, so that all
// links are busy and none is flooded. Several steps are under way at a time, but not all (window.h): a thousand ranks must not all
// ask one. Each sends as much as comes to it, so what it sends need not be asked for: between hosts an answer would wait behind other ranks' data,
// and all ports would be idle at the beginning of each call.
//
// Cost: (p - 1) max(g, 2o + n G) + L. No byte is moved twice. Serves the v and w forms too.
#include "coll/algorithms.h"
#include "coll/window.h"

namespace lapwing::coll {

void alltoall_pairwise(Schedule& schedule, const Blocks& out, const Blocks& in) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  schedule.copy(out[static_cast<std::size_t>(rank)], in[static_cast<std::size_t>(rank)]);
  Window sent(schedule), received(schedule);
  for (int distance = 1; distance < size; ++distance) {
    const int destination = (rank + distance) % size;
    const Block& outgoing = out[static_cast<std::size_t>(destination)];
    if (outgoing.bytes() > 0)
      sent.admit(schedule, outgoing.bytes(), [&](StepId gate) { return schedule.send_unasked(outgoing, destination, {gate}); });
  }
  for (int distance = 1; distance < size; ++distance) {
    const int source = (rank - distance + size) % size;
    const Block& incoming = in[static_cast<std::size_t>(source)];
    if (incoming.bytes() > 0)
      received.admit(schedule, incoming.bytes(), [&](StepId gate) { return schedule.receive(incoming, source, {gate}); });
  }
}

// What is sent must get out of the way of what is received, so it is packed first.
void alltoall_in_place(Schedule& schedule, const Blocks& both) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  Blocks away(both.size());
  for (int i = 0; i < size; ++i) {
    const Block& here = both[static_cast<std::size_t>(i)];
    if (i == rank) continue;
    away[static_cast<std::size_t>(i)] = bytes_block(schedule.scratch(here.bytes()), here.bytes());
    schedule.copy(here, away[static_cast<std::size_t>(i)]);
  }
  schedule.fence();
  away[static_cast<std::size_t>(rank)] = bytes_block(nullptr, 0);
  alltoall_pairwise(schedule, away, both);
}

}  // namespace lapwing::coll
