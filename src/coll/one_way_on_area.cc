// What goes one way between ranks that have a core each: cut (one_way_piece.h), so that one of them copies a piece out while another one copies the
// next one in. Each piece is a slice of what is packed, taken from where the data lie and put to where they belong at once, of whatever type
// either rank describes them by.
//
// bcast     All take each piece. A root does not wait for them.
// gather    Of two ranks. The root copies its own block before it takes the first piece, which is being copied then.
// reduce    Of two ranks, to one of them, as a gather.
// scatter   The ranks have their turns, beginning with the one after the root, which is the next root where roots go around: in its turns each takes
//           its own block, and in those of the others it posts that it is there. So it can leave when it has its block, on average in the middle of
//           what the root takes. A block for one of several ranks goes whole, up to what a post may have, because all others have posts to make
//           for each piece. The root copies its own block at last, when no rank waits for what it does.
//
// Costs, n bytes in pieces of s, p ranks:
//
//   bcast             2 n/s l + (n + s) C
//   gather            2 n/s l + (2 n + s) C, which the model counts as a single post
//   reduce            2 n/s l + (n + s) C + n y
//   scatter           2 l + (p + 1) n C at the root, which the model counts for all
//
//     Why not always: a post costs what copying some kilobytes does. Why not a gather of more ranks: there the root has to read for all, and has
//     no time left for short pieces. Why not the v forms: only the two ranks of a block know how long it is, and the others not how many turns there are.
#include <algorithm>

#include "coll/algorithms.h"
#include "coll/one_way_piece.h"

namespace lapwing::coll {
namespace {

using Wakes = Schedule::Wakes;

std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }

// Calls step(first, length) for each piece of so much, in bytes or elements, each in a round of its own.
template <typename Step>
void for_pieces(Schedule& schedule, std::uint64_t all, std::uint64_t piece, Step step) {
  for (std::uint64_t first = 0; first < all; first += piece) {
    if (first != 0) schedule.next_piece();
    step(first, std::min(piece, all - first));
  }
}

StepId post_nothing(Schedule& schedule) { return schedule.post(bytes_block(nullptr, 0), 0, {}, Wakes::kEach); }

// The step after which the piece that `from` has for this rank is there.
StepId await_piece(Schedule& schedule, int from) { return schedule.await(from, 0, {post_nothing(schedule)}); }

void take_piece(Schedule& schedule, int from, const Block& target, std::uint64_t first) {
  schedule.take_slice(from, 0, target, first, {await_piece(schedule, from)});
}

}  // namespace

void bcast_one_way_on_area(Schedule& schedule, const Block& data, int root) {
  const bool is_root = schedule.rank() == root;
  for_pieces(schedule, data.bytes(), one_way_piece(data.bytes(), schedule.size()), [&](std::uint64_t first, std::uint64_t bytes) {
    if (!is_root) return take_piece(schedule, root, data, first);
    schedule.post_slice(data, first, bytes, 0, {}, Wakes::kEach);
  });
}

void gather_between_two_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes) {
  const bool is_root = schedule.rank() == root;
  if (is_root && mine.bytes() != 0) schedule.copy(mine, all[index(root)]);
  for_pieces(schedule, bytes, one_way_piece(bytes, 2), [&](std::uint64_t first, std::uint64_t count) {
    if (is_root) return take_piece(schedule, 1 - root, all[index(1 - root)], first);
    schedule.post_slice(mine, first, count, 0, {}, Wakes::kEach);
  });
}

// The root combines each piece where it lies, with its own.
void reduce_between_two_on_area(Schedule& schedule, const Block& input, const Block& output, int root) {
  const auto size = static_cast<std::uint64_t>(input.type->size());
  const std::uint64_t piece = std::max(one_way_piece(input.bytes(), 2) / size, std::uint64_t{1});  // elements
  for_pieces(schedule, input.count, piece, [&](std::uint64_t first, std::uint64_t count) {
    const Block operand = input.part(first, count);
    if (schedule.rank() != root) return static_cast<void>(schedule.post(operand, 0, {}, Wakes::kEach));
    schedule.fold_onto(1 - root, 0, 0, operand, output.part(first, count), {await_piece(schedule, 1 - root)});
  });
}

std::uint64_t scatter_piece(std::uint64_t bytes, int ranks) noexcept {
  return ranks == 2 ? one_way_piece(bytes, ranks) : std::min(bytes, PostRing::kPiece);
}

void scatter_one_way_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t bytes) {
  const int me = schedule.rank(), ranks = schedule.size();
  StepId posted = kNoStep;
  for (int distance = 1; distance < ranks; ++distance) {
    const int to = (root + distance) % ranks;
    if (distance != 1) schedule.next_piece();
    for_pieces(schedule, bytes, scatter_piece(bytes, ranks), [&](std::uint64_t first, std::uint64_t count) {
      if (me == to) return take_piece(schedule, root, mine, first);
      if (me != root) return static_cast<void>(post_nothing(schedule));
      posted = schedule.post_slice(all[index(to)], first, count, 0, {}, Wakes::kEach);
    });
  }
  if (me == root && mine.bytes() != 0) schedule.copy(all[index(root)], mine, {posted});
}

}  // namespace lapwing::coll
