// What goes one way between two ranks that have a core each: cut (one_way_piece.h), so that one of them copies a piece out while the other one copies
// the next one in. Each piece is a slice of what is packed, taken from where the data lie and put to where they belong at once, of whatever type
// either rank describes them by. The root copies its own block when the other rank does not wait for what it does: before it takes the first piece
// of a gather, which is being copied then, and after it has posted the last of a scatter.
//
// Costs, n bytes in pieces of s:
//
//   bcast             2 n/s l + (n + s) C
//   gather, scatter   2 n/s l + (2 n + s) C, which the model counts as a single post
//
//     Why not always: a post costs what copying some kilobytes does. Why not for more ranks: there the root has to read or to write for all, and has
//     no time left for short pieces.
#include <algorithm>

#include "coll/algorithms.h"
#include "coll/one_way_piece.h"

namespace lapwing::coll {
namespace {

using Wakes = Schedule::Wakes;

std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }

// Calls step(first, bytes) for each piece of `bytes`, each in a round of its own.
template <typename Step>
void for_pieces(Schedule& schedule, std::uint64_t bytes, Step step) {
  const std::uint64_t piece = one_way_piece(bytes);
  for (std::uint64_t first = 0; first < bytes; first += piece) {
    if (first != 0) schedule.next_piece();
    step(first, std::min(piece, bytes - first));
  }
}

void take_piece(Schedule& schedule, int from, const Block& target, std::uint64_t first) {
  const StepId posted = schedule.post(bytes_block(nullptr, 0), 0);
  schedule.take_slice(from, 0, target, first, {schedule.await(from, 0, {posted})});
}

}  // namespace

void bcast_between_two_on_area(Schedule& schedule, const Block& data, int root) {
  const bool is_root = schedule.rank() == root;
  for_pieces(schedule, data.bytes(), [&](std::uint64_t first, std::uint64_t bytes) {
    if (!is_root) return take_piece(schedule, root, data, first);
    schedule.post_slice(data, first, bytes, 0, {}, Wakes::kEach);
  });
}

void gather_between_two_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes) {
  const bool is_root = schedule.rank() == root;
  if (is_root && mine.bytes() != 0) schedule.copy(mine, all[index(root)]);
  for_pieces(schedule, bytes, [&](std::uint64_t first, std::uint64_t count) {
    if (is_root) return take_piece(schedule, 1 - root, all[index(1 - root)], first);
    schedule.post_slice(mine, first, count, 0, {}, Wakes::kEach);
  });
}

void scatter_between_two_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t bytes) {
  const bool is_root = schedule.rank() == root;
  StepId posted = kNoStep;
  for_pieces(schedule, bytes, [&](std::uint64_t first, std::uint64_t count) {
    if (!is_root) return take_piece(schedule, root, mine, first);
    posted = schedule.post_slice(all[index(1 - root)], first, count, 0, {}, Wakes::kEach);
  });
  if (is_root && mine.bytes() != 0) schedule.copy(all[index(root)], mine, {posted});
}

}  // namespace lapwing::coll
