// The algorithms: each adds one rank's steps to a schedule, for the team that the schedule is set to (rank(), size()).
//
// Costs are given in LogGP terms (paper 5, section 4): L latency, o CPU overhead per message, g gap between messages, G
// time per byte; p ranks, n bytes (per rank or in all, as said), y the time to reduce one byte, and C to copy one. Each file states
// its own; model/costs.h has them as functions, by which selection.cc chooses, and holds them against the schedules.
//
// Reductions: `input` is read, `output` written; they may be the same memory (MPI_IN_PLACE) or apart, never overlap
// otherwise. Every algorithm but those marked keeps to the order of ranks, so it does for operations that do not
// commute.
#pragma once

#include <vector>

#include "coll/area_parts.h"
#include "coll/knomial.h"
#include "coll/schedule.h"
#include "coll/selection.h"

namespace lapwing::coll {

// barrier_dissemination.cc
void barrier_dissemination(Schedule& schedule, int radix);

// oversubscribed_linear.cc: for more ranks than cores
void barrier_linear(Schedule& schedule);
void bcast_linear(Schedule& schedule, const Block& data, int root);
void reduce_linear(Schedule& schedule, const Block& input, const Block& output, int root);
void allreduce_linear(Schedule& schedule, const Block& input, const Block& output);

// on_area.cc: where all ranks share memory (Situation::area) and posts are no longer than SharedArea::kMostBytes. Blocks are
// of one size everywhere. `together`: the blocks for all ranks, as one. An empty `mine` at a root means MPI_IN_PLACE. What is combined in shares, or
// scattered, keeps to the order of ranks only for operations that do not commute.
void barrier_on_area(Schedule& schedule, const BarrierOrder::Order& order = {});
void bcast_on_area(Schedule& schedule, const Block& data, int root);
void gather_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root);
void scatter_on_area(Schedule& schedule, const Block& together, const Blocks& all, const Block& mine, int root);
void allgather_on_area(Schedule& schedule, const Block& mine, const Blocks& all);
void alltoall_on_area(Schedule& schedule, const Block& together, const Blocks& in);
void reduce_on_area(Schedule& schedule, const Block& input, const Block& output, int root);
void reduce_in_shares_on_area(Schedule& schedule, const Block& input, const Block& output, int root);
void allreduce_on_area(Schedule& schedule, const Block& input, const Block& output);
void allreduce_in_shares_on_area(Schedule& schedule, const Block& input, const Block& output);
void reduce_scatter_on_area(Schedule& schedule, const Block& input, const Block& output,
                            const std::vector<std::uint64_t>& starts);
// The part `own` of what all give, in `output`; each gives `parts`, one for each rank.
void reduce_parts_on_area(Schedule& schedule, Blocks parts, std::size_t own, const Block& output);
void scan_on_area(Schedule& schedule, const Block& input, const Block& output, bool inclusive);
// Target = this rank's share, which begins at `offset` of each post of `round`, of the operands of all; the step after which it is there.
StepId combine_share(Schedule& schedule, std::uint32_t round, std::uint64_t offset, const Block& target, StepId there);
// Whether the ranks are two, and each can combine what the other one has posted with its own operand where that lies: predefined operations commute.
bool combines_where_it_lies(const Schedule& schedule, const Block& operand) noexcept;

// pieces_on_area.cc: the same for operands that are longer than a post, in pieces of at most so many bytes. Data that is only moved is given
// as runs of bytes, because ranks may describe it by different types.
void bcast_in_pieces_on_area(Schedule& schedule, const Block& bytes, int root, std::uint64_t piece);
void gather_in_pieces_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes,
                              std::uint64_t piece);
void allgather_in_pieces_on_area(Schedule& schedule, const Block& mine, const Blocks& all, std::uint64_t piece);
void scatter_in_pieces_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t bytes,
                               std::uint64_t piece);
void alltoall_in_pieces_on_area(Schedule& schedule, const Blocks& out, const Blocks& in, std::uint64_t piece);
void reduce_scatter_in_pieces_on_area(Schedule& schedule, const Block& input, const Block& output,
                                      const std::vector<std::uint64_t>& starts, std::uint64_t piece);
void scan_in_pieces_on_area(Schedule& schedule, const Block& input, const Block& output, bool inclusive,
                            std::uint64_t piece);

// one_way_on_area.cc: between ranks that have a core each, cut into pieces, of which one rank copies one out while another one copies the next one
// in. `bytes`: of a block.
void bcast_one_way_on_area(Schedule& schedule, const Block& data, int root);
void gather_between_two_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes);
void reduce_between_two_on_area(Schedule& schedule, const Block& input, const Block& output, int root);
void scatter_one_way_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t bytes);
std::uint64_t scatter_piece(std::uint64_t bytes, int ranks) noexcept;  // bytes of one of its pieces

// reduce_in_pieces_on_area.cc: likewise, in posts of so many bytes at most.
void reduce_in_pieces_on_area(Schedule& schedule, const Block& input, const Block& output, int root, std::uint64_t longest);
void allreduce_in_pieces_on_area(Schedule& schedule, const Block& input, const Block& output, std::uint64_t longest);

// direct_on_area.cc: the operands lie where they are, and each copy goes to where it belongs at once. Blocks are runs of bytes, `out` and `in` apart.
void allgather_directly(Schedule& schedule, const Block& mine, const Blocks& all);
void alltoall_directly(Schedule& schedule, const Blocks& out, const Blocks& in);
void gather_directly(Schedule& schedule, const Block& mine, const Blocks& all, int root);
void scatter_directly(Schedule& schedule, const Blocks& all, const Block& mine, int root);

// uneven_on_area.cc: the same where blocks differ in length.
struct UnevenRules {
  PartRules rules;  // for the blocks of this rank
  std::uint64_t least_place = PartRules::kNever;  // a rank may leave blocks of so many bytes in place: all ranks know that alike
  // In an all-to-all longer ones than rules.longest may be posted in pieces of that, in so many rounds, the same on all ranks; 0: in one, and what
  // the call would have needed is not asked (uneven_rounds.h).
  std::uint32_t rounds = 0;
  ByteRange as_messages;  // blocks of so many bytes would rather go as messages
};
void gatherv_on_area(Schedule& schedule, const Block& mine, const Blocks& all, int root, const UnevenRules& uneven);
void scatterv_on_area(Schedule& schedule, const Blocks& all, const Block& mine, int root, const UnevenRules& uneven);
void alltoallv_on_area(Schedule& schedule, const Blocks& out, const Blocks& in, const UnevenRules& uneven);

// two_levels_*.cc: where ranks share hosts (Schedule::levels()). The ranks of a host combine first, on the area that they may have
// (Situation::area) or by messages, and one of them speaks for the host. Reductions keep to the order of ranks if Levels::in_order().
void barrier_on_two_levels(Schedule& schedule);
void bcast_on_two_levels(Schedule& schedule, const Block& data, int root);
void reduce_on_two_levels(Schedule& schedule, const Block& input, const Block& output, int root);
void allreduce_on_two_levels(Schedule& schedule, const Block& input, const Block& output);
void gather_on_two_levels(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes);
void scatter_on_two_levels(Schedule& schedule, const Blocks& all, const Block& mine, int root, std::uint64_t bytes);
void allgather_on_two_levels(Schedule& schedule, const Block& mine, const Blocks& all);
void alltoall_on_two_levels(Schedule& schedule, const Block& together, const Blocks& in);

// bcast_*.cc. The data need not be described the same way on all ranks; the last two take one run of bytes.
StepId bcast_knomial(Schedule& schedule, const Block& data, int root,
                     int radix = kBinomial);  // the step after which it is there; kNoStep at the root
void bcast_scatter_allgather(Schedule& schedule, const Block& bytes, int root);
void bcast_chain(Schedule& schedule, const Block& bytes, int root, std::uint64_t segment);

// gather_*.cc, scatter_*.cc. `all` counts at the root only. An empty `mine` at the root means MPI_IN_PLACE. Trees want blocks of the same size everywhere.
void gather_linear(Schedule& schedule, const Block& mine, const Blocks& all, int root);
void gather_knomial(Schedule& schedule, const Block& mine, const Blocks& all, int root, int radix = kBinomial);
void scatter_linear(Schedule& schedule, const Blocks& all, const Block& mine, int root);
void scatter_knomial(Schedule& schedule, const Blocks& all, const Block& mine, int root, int radix = kBinomial);

// allgather_*.cc. `mine`: what this rank contributes; where it lies in place, the block of `all`.
void allgather_bruck(Schedule& schedule, const Block& mine, const Blocks& all);
void allgather_doubling(Schedule& schedule, const Block& mine, const Blocks& all);
void allgather_neighbors(Schedule& schedule, const Block& mine, const Blocks& all);
void allgather_ring(Schedule& schedule, const Block& mine, const Blocks& all);

// alltoall_*.cc
void alltoall_bruck(Schedule& schedule, const Blocks& out, const Blocks& in);  // blocks of one size
void alltoall_pairwise(Schedule& schedule, const Blocks& out, const Blocks& in);
void alltoall_in_place(Schedule& schedule, const Blocks& both);

// reduce_*.cc. `output` counts at the root only.
void reduce_knomial(Schedule& schedule, const Block& input, const Block& output, int root, int radix = kBinomial);
void reduce_chain(Schedule& schedule, const Block& input, const Block& output, int root, std::uint64_t segment);
void reduce_scatter_gather(Schedule& schedule, const Block& input, const Block& output, int root);

// allreduce_*.cc. The same bits on every rank.
void allreduce_recursive_doubling(Schedule& schedule, const Block& input, const Block& output);
void allreduce_halving(Schedule& schedule, const Block& input, const Block& output);
// Commutative only. In segments of at most so many bytes; kWholeChunks: in none.
inline constexpr std::uint64_t kWholeChunks = ~std::uint64_t{0} / 2;
void allreduce_ring(Schedule& schedule, const Block& input, const Block& output, std::uint64_t segment);
int ring_segments(std::uint64_t chunk, std::uint64_t segment) noexcept;  // of a chunk of so many bytes

// reduce_scatter_*.cc. Rank i receives elements starts[i] to starts[i + 1] of the result in `output`.
void reduce_scatter_doubling(Schedule& schedule, const Block& input, const Block& output,
                             const std::vector<std::uint64_t>& starts);
void reduce_scatter_halving(Schedule& schedule, const Block& input, const Block& output,
                            const std::vector<std::uint64_t>& starts);  // commutative only
void reduce_scatter_pairwise(Schedule& schedule, const Block& input, const Block& output,
                             const std::vector<std::uint64_t>& starts);

// scan_chain.cc: or the sum of the ranks before, if it is not inclusive
void scan_chain(Schedule& schedule, const Block& input, const Block& output, bool inclusive, std::uint64_t segment);
// scan_doubling.cc
void scan_doubling(Schedule& schedule, const Block& input, const Block& output);
void exscan_doubling(Schedule& schedule, const Block& input, const Block& output);

// neighbor_direct.cc. One block for each edge, in the order of edges.
struct Neighbors {
  std::vector<int> in;
  std::vector<int> out;
  bool cartesian = false;  // slot 2d meets the neighbour's slot 2d + 1
};
void neighbor_direct(Schedule& schedule, const Neighbors& neighbors, const Blocks& out, const Blocks& in);

// ---- for several algorithms

// `elements` cut into `parts` of about the same size: parts + 1 starts.
std::vector<std::uint64_t> even_starts(std::uint64_t elements, int parts);
// The largest power of two that is not larger than `size`.
inline int power_of_two_below(int size) noexcept {
  int power = 1;
  while (power * 2 <= size) power *= 2;
  return power;
}

}  // namespace lapwing::coll
