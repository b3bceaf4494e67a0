// Bruck: in round k every rank sends all it has, up to 2^k blocks, to the rank 2^k before it. Blocks are kept packed
// and rotated, own block first, so each round is one message; blocks may differ in size.
//
// Cost: ceil(log2 p)(L + 2o) + (p - 1) n G + (p + 1) n C: for short data, any p.
#include <algorithm>

#include "coll/algorithms.h"

namespace lapwing::coll {

void allgather_bruck(Schedule& schedule, const Block& mine, const Blocks& all) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const auto owner = [&](int i) { return static_cast<std::size_t>((rank + i) % size); };
  std::vector<std::uint64_t> starts(static_cast<std::size_t>(size) + 1, 0);
  for (int i = 0; i < size; ++i) {
    starts[static_cast<std::size_t>(i) + 1] = starts[static_cast<std::size_t>(i)] + all[owner(i)].bytes();
  }
  if (starts.back() == 0) return;
  std::byte* packed = schedule.scratch(starts.back());
  const auto part = [&](int first, int end) {
    const std::uint64_t start = starts[static_cast<std::size_t>(first)];
    return bytes_block(packed + start, starts[static_cast<std::size_t>(end)] - start);
  };

  schedule.copy(mine, part(0, 1));
  for (int held = 1; held < size; held *= 2) {
    const int moved = std::min(held, size - held);
    schedule.fence();
    schedule.send(part(0, moved), (rank - held + size) % size);
    schedule.receive(part(held, held + moved), (rank + held) % size);
  }
  schedule.fence();
  const int first = mine == all[owner(0)] ? 1 : 0;
  for (int i = first; i < size; ++i) schedule.copy(part(i, i + 1), all[owner(i)]);
}

}  // namespace lapwing::coll
