// Algorithms on an area for operands that are longer than one post: piece by piece, each as a short operand goes
// (on_area.cc), in rounds of its own.
//
// Costs, beside the rounds of each piece: those of short operands, where p ranks copy and combine at the same time. A root, or a rank that
// only contributes, does not wait for the others and is some pieces ahead (PostRing), so that copying in and copying
// out go on at the same time:
//
//   bcast, gather          n/s l + n G                 s: a piece; gather: (p - 1) n G at the root
//   allgather              n/s p l + (p + 1) n G
//   scatter                p n/s l + (p + 1) n G       n: one block; a piece has a part for each rank
//   alltoall               p n/s p l + 2 p n G         likewise
//   reduce_scatter         n/s p l + n G (p + 1)/p + n y (p - 1)/p     likewise: of each share
//   scan                   n/s p l + n G + p n y
//
// Reductions to one rank or to all: reduce_in_pieces_on_area.cc.
//
//     Why not always as messages, of which a long one is copied once: rounds of messages follow each other, and each rank waits in each of
//     them for its partner; pieces stay in the caches, so the second copy costs little. Where one rank has all the work (gather), or each
//     byte passes each rank once (chains), messages take less; the model decides (selection.cc).
#include <algorithm>

#include "coll/algorithms.h"

namespace lapwing::coll {
namespace {

// Calls add(first, count) for each piece of `elements`, of which each has `size` bytes; once at least.
template <typename Add>
void for_pieces(Schedule& schedule, std::uint64_t elements, std::uint64_t size, std::uint64_t piece, Add add) {
  const std::uint64_t each = std::max<std::uint64_t>(1, piece / std::max<std::uint64_t>(1, size));
  for (std::uint64_t first = 0; first == 0 || first < elements; first += each) {
    if (first != 0) schedule.next_piece();
    add(first, std::min(each, elements - first));
  }
}

std::uint64_t size_of(const Block& block) noexcept {
  return static_cast<std::uint64_t>(block.type->size());
}

// What `whole` has between the elements `first` and `first + count`.
Block clip(const Block& whole, std::uint64_t first, std::uint64_t count) noexcept {
  if (first >= whole.count) return bytes_block(nullptr, 0);
  return whole.part(first, std::min(count, whole.count - first));
}

// All blocks are posted, which have so much at most.
UnevenRules posted(std::uint64_t longest) noexcept {
  UnevenRules uneven;
  uneven.rules.longest = longest;
  return uneven;
}

Blocks clip(const Blocks& runs, std::uint64_t first, std::uint64_t bytes) {
  Blocks clipped;
  clipped.reserve(runs.size());
  for (const Block& run : runs) clipped.push_back(clip(run, first, bytes));
  return clipped;
}

}  // namespace

void bcast_in_pieces_on_area(Schedule& schedule, const Block& bytes, int root, std::uint64_t piece) {
  for_pieces(schedule, bytes.count, 1, piece, [&](std::uint64_t first, std::uint64_t count) {
    bcast_on_area(schedule, bytes.part(first, count), root);
  });
}

void gather_in_pieces_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes,
                              std::uint64_t piece) {
  for_pieces(schedule, bytes, 1, piece, [&](std::uint64_t first, std::uint64_t count) {
    gather_on_area(schedule, clip(mine, first, count), clip(all, first, count), root);
  });
}

void allgather_in_pieces_on_area(Schedule& schedule, const Block& mine, const Blocks& all, std::uint64_t piece) {
  std::uint64_t longest = 0;
  for (const Block& each : all) longest = std::max(longest, each.bytes());
  for_pieces(schedule, longest, 1, piece, [&](std::uint64_t first, std::uint64_t count) {
    allgather_on_area(schedule, clip(mine, first, count), clip(all, first, count));
  });
}

// Each piece has a part of the block of each rank; all blocks have `bytes`.
void scatter_in_pieces_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t bytes,
                               std::uint64_t piece) {
  const std::uint64_t part = piece / static_cast<std::uint64_t>(schedule.size());
  for_pieces(schedule, bytes, 1, part, [&](std::uint64_t first, std::uint64_t count) {
    scatterv_on_area(schedule, clip(all, first, count), clip(mine, first, count), root, posted(count));
  });
}

void alltoall_in_pieces_on_area(Schedule& schedule, const Blocks& out, const Blocks& in, std::uint64_t piece) {
  const std::uint64_t part = piece / static_cast<std::uint64_t>(schedule.size());
  for_pieces(schedule, in[0].bytes(), 1, part, [&](std::uint64_t first, std::uint64_t count) {
    alltoallv_on_area(schedule, clip(out, first, count), clip(in, first, count), posted(count));
  });
}

void reduce_scatter_in_pieces_on_area(Schedule& schedule, const Block& input, const Block& output,
                                      const std::vector<std::uint64_t>& starts, std::uint64_t piece) {
  const auto ranks = static_cast<std::size_t>(schedule.size()), me = static_cast<std::size_t>(schedule.rank());
  std::uint64_t longest = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) longest = std::max(longest, starts[rank + 1] - starts[rank]);
  for_pieces(schedule, longest, size_of(input), piece / ranks, [&](std::uint64_t first, std::uint64_t count) {
    Blocks parts;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      parts.push_back(clip(input.part(starts[rank], starts[rank + 1] - starts[rank]), first, count));
    reduce_parts_on_area(schedule, std::move(parts), me, clip(output, first, count));
  });
}

void scan_in_pieces_on_area(Schedule& schedule, const Block& input, const Block& output, bool inclusive,
                            std::uint64_t piece) {
  for_pieces(schedule, input.count, size_of(input), piece, [&](std::uint64_t first, std::uint64_t count) {
    scan_on_area(schedule, input.part(first, count), output.part(first, count), inclusive);
  });
}

}  // namespace lapwing::coll
