// Binomial tree: every rank collects the packed blocks of its subtree and passes them on.
//
// Cost: ceil(log2 p)(L + 2o) + (p - 1) n G + (p + 1) n C: few messages at the root, for short blocks.
#include <algorithm>

#include "coll/algorithms.h"

namespace lapwing::coll {

void gather_binomial(Schedule& schedule, const Block& mine, const Blocks& all, int root) {
  const int size = schedule.size();
  const int place = (schedule.rank() - root + size) % size;
  const std::uint64_t bytes = place == 0 ? all[static_cast<std::size_t>(root)].bytes() : mine.bytes();
  if (bytes == 0) return;

  int reach = 1;  // the subtree is place .. place + reach - 1
  while (reach < size && (place & reach) == 0) reach *= 2;
  const int width = std::min(reach, size - place);
  if (width == 1 && place != 0) {
    schedule.send(mine, (place - reach + root) % size);
    return;
  }
  std::byte* collected = schedule.scratch(bytes * static_cast<std::uint64_t>(width));
  const auto part = [&](int first, int count) {
    return bytes_block(collected + bytes * static_cast<std::uint64_t>(first),
                       bytes * static_cast<std::uint64_t>(count));
  };
  if (place != 0) schedule.copy(mine, part(0, 1));
  for (int mask = 1; mask < reach && place + mask < size; mask *= 2) {
    schedule.receive(part(mask, std::min(mask, size - place - mask)), (place + mask + root) % size);
  }
  schedule.fence();
  if (place != 0) {
    schedule.send(part(0, width), (place - reach + root) % size);
    return;
  }
  if (mine.type != nullptr) schedule.copy(mine, all[static_cast<std::size_t>(root)]);
  for (int i = 1; i < size; ++i) schedule.copy(part(i, 1), all[static_cast<std::size_t>((i + root) % size)]);
}

}  // namespace lapwing::coll
