// Bruck's index algorithm: block i of the rotated, packed data has to travel i ranks on, and travels 2^k of them in
// round k if bit k of i is set. Each round is one message of about half the blocks.
//
// Cost: ceil(log2 p)(L + 2o + p/2 n (G + 2 C)) + 2 p n C, where n is one block: for blocks so short that latency is everything.
#include <algorithm>

#include "coll/algorithms.h"

namespace lapwing::coll {

void alltoall_bruck(Schedule& schedule, const Blocks& out, const Blocks& in) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const std::uint64_t bytes = in[0].bytes();
  if (bytes == 0) return;
  const auto room = [&](int blocks) { return schedule.scratch(bytes * static_cast<std::uint64_t>(blocks)); };
  const auto run = [&](std::byte* base, int first, int blocks) {
    return bytes_block(base + bytes * static_cast<std::uint64_t>(first), bytes * static_cast<std::uint64_t>(blocks));
  };

  std::byte* rotated = room(size);
  for (int i = 0; i < size; ++i) schedule.copy(out[static_cast<std::size_t>((rank + i) % size)], run(rotated, i, 1));

  std::byte* outgoing = room(size / 2 + 1);
  std::byte* incoming = room(size / 2 + 1);
  for (int distance = 1; distance < size; distance *= 2) {
    // The blocks with this bit lie in runs of `distance`.
    schedule.fence();
    int moved = 0;
    for (int first = distance; first < size; first += 2 * distance) {
      const int count = std::min(distance, size - first);
      schedule.copy(run(rotated, first, count), run(outgoing, moved, count));
      moved += count;
    }
    schedule.fence();
    schedule.send(run(outgoing, 0, moved), (rank + distance) % size);
    schedule.receive(run(incoming, 0, moved), (rank - distance + size) % size);
    schedule.fence();
    moved = 0;
    for (int first = distance; first < size; first += 2 * distance) {
      const int count = std::min(distance, size - first);
      schedule.copy(run(incoming, moved, count), run(rotated, first, count));
      moved += count;
    }
  }
  schedule.fence();
  for (int i = 0; i < size; ++i)
    schedule.copy(run(rotated, i, 1), in[static_cast<std::size_t>((rank - i + size) % size)]);
}

}  // namespace lapwing::coll
