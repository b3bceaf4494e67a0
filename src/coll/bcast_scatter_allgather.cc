// Scatter, then allgather (van de Geijn): the data is cut into p pieces, a binomial tree scatters them, a ring collects
// them.
//
// Cost: (ceil(log2 p) + p - 1)(L + 2o) + 2 n G (p - 1) / p. No rank sends the data more than about twice, so it beats
// the binomial tree once n G log2 p outweighs the latency of the ring.
#include <algorithm>

#include "coll/algorithms.h"

namespace lapwing::coll {

void bcast_scatter_allgather(Schedule& schedule, const Block& bytes, int root) {
  const int size = schedule.size();
  const int place = (schedule.rank() - root + size) % size;
  const std::vector<std::uint64_t> starts = even_starts(bytes.count, size);
  const auto pieces = [&](int first, int end) {
    const std::uint64_t start = starts[static_cast<std::size_t>(first)];
    return bytes.part(start, starts[static_cast<std::size_t>(end)] - start);
  };
  const auto rank_at = [&](int at) { return (at + root) % size; };

  // Place i of the tree gets the pieces of the places i to i + mask - 1, its subtree's.
  StepId have = kNoStep;
  int mask = 1;
  while (mask < size && (place & mask) == 0) mask *= 2;
  if (place != 0) have = schedule.receive(pieces(place, std::min(place + mask, size)), rank_at(place - mask));
  for (mask /= 2; mask > 0; mask /= 2) {
    const int child = place + mask;
    if (child < size) schedule.send(pieces(child, std::min(child + mask, size)), rank_at(child), {have});
  }

  // Ring: pass on to the right what came from the left. Pieces that the tree brought are received once more only where
  // the tree did not bring them, so both sides skip what the receiver has.
  const auto subtree_end = [&](int at) {
    int width = 1;
    while (width < size && (at & width) == 0) width *= 2;
    return std::min(at + width, size);
  };
  const int right = (place + 1) % size;
  const int left = (place - 1 + size) % size;
  const auto has = [&](int at, int piece) { return piece >= at && piece < subtree_end(at); };
  StepId newest = have;
  for (int step = 0; step < size - 1; ++step) {
    if (step > 0 && step % kLanes == 0) schedule.fence();  // lanes are used again
    const int outgoing = (place - step + size) % size;
    const int incoming = (place - step - 1 + size) % size;
    const StepId ready = has(place, outgoing) ? have : newest;
    if (!has(right, outgoing)) schedule.send(pieces(outgoing, outgoing + 1), rank_at(right), {ready}, step % kLanes);
    if (!has(place, incoming)) {
      newest = schedule.receive(pieces(incoming, incoming + 1), rank_at(left), {}, step % kLanes);
    }
  }
}

}  // namespace lapwing::coll
