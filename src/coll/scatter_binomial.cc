// Binomial tree: every rank receives the packed blocks of its subtree and hands on its children's.
//
// Cost: ceil(log2 p)(L + 2o) + (p - 1) n G + (p + 1) n C: for short blocks.
#include <algorithm>

#include "coll/algorithms.h"

namespace lapwing::coll {

void scatter_binomial(Schedule& schedule, const Blocks& all, const Block& mine, int root) {
  const int size = schedule.size();
  const int place = (schedule.rank() - root + size) % size;
  const std::uint64_t bytes = place == 0 ? all[static_cast<std::size_t>(root)].bytes() : mine.bytes();
  if (bytes == 0) return;

  int reach = 1;  // the subtree is place .. place + reach - 1
  while (reach < size && (place & reach) == 0) reach *= 2;
  const int width = std::min(reach, size - place);
  if (width == 1 && place != 0) {
    schedule.receive(mine, (place - reach + root) % size);
    return;
  }
  std::byte* held = schedule.scratch(bytes * static_cast<std::uint64_t>(width));
  const auto part = [&](int first, int count) {
    return bytes_block(held + bytes * static_cast<std::uint64_t>(first), bytes * static_cast<std::uint64_t>(count));
  };
  if (place == 0) {
    if (mine.type != nullptr) schedule.copy(all[static_cast<std::size_t>(root)], mine);
    for (int i = 1; i < size; ++i) schedule.copy(all[static_cast<std::size_t>((i + root) % size)], part(i, 1));
  } else {
    schedule.receive(part(0, width), (place - reach + root) % size);
  }
  schedule.fence();
  // The deepest subtree first.
  for (int mask = reach / 2; mask > 0; mask /= 2) {
    if (place + mask >= size) continue;
    schedule.send(part(mask, std::min(mask, size - place - mask)), (place + mask + root) % size);
  }
  if (place != 0) schedule.copy(part(0, 1), mine);
}

}  // namespace lapwing::coll
