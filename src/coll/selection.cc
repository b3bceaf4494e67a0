#include "coll/selection.h"

#include <algorithm>

#include "base/tuning.h"
#include "coll/area_parts.h"
#include "coll/shared_area.h"

namespace lapwing::coll {
namespace {

// What ranks post at once at most. Of two, what is longer goes as messages: copying in and copying out go on at the same time there, and the
// longest are copied once.
std::uint64_t most_posted(const Situation& team) noexcept {
  const Tuning& limit = tuning();
  const std::uint64_t most = std::min<std::uint64_t>(limit.coll_area, SharedArea::kMostBytes);
  return team.ranks > 2 ? most : std::min(most, limit.coll_area_of_two);
}
bool fits_area(const Situation& team, std::uint64_t posted) noexcept {
  return team.area && posted <= most_posted(team);
}

// Longer operands than a rank may post at once go piece by piece: then ranks meet a few times, and the pieces stay in the caches.
bool fits_in_pieces(const Situation& team, std::uint64_t bytes, std::uint64_t pieces) noexcept {
  return team.ranks > 2 ? team.area && bytes <= pieces * tuning().coll_area : fits_area(team, bytes);
}
bool fits_in_pieces(const Situation& team, std::uint64_t bytes) noexcept {
  return fits_in_pieces(team, bytes, tuning().coll_area_pieces);
}
bool fits_in_pieces_reduced(const Situation& team, std::uint64_t bytes) noexcept {
  return fits_in_pieces(team, bytes, tuning().coll_area_pieces_reduced);
}

// An element must fit into a piece.
bool can_be_cut(const Reduced& operands) noexcept {
  return operands.elements == 0 || operands.bytes / operands.elements <= AreaMemory::kPieceBytes;
}
// What wanted_or() is told of an operand that goes piece by piece.
std::uint64_t posted_in_pieces(const Reduced& operands) noexcept {
  return can_be_cut(operands) ? 0 : operands.bytes;
}

// Whether the ranks of each host may combine first.
bool on_two_levels(const Situation& team, bool commutative) noexcept {
  return team.levels != nullptr && (commutative || team.levels->in_order());
}

// What the user asked for, if it can be used, else the caller's choice. `posted`: the most that a rank would post in an area.
Algorithm wanted_or(const Situation& team, CollectiveKind collective, std::uint64_t posted, bool commutative,
                    Algorithm usual) noexcept {
  const Algorithm wanted = team.wanted.of(collective);
  switch (wanted) {
    case Algorithm::kAutomatic:
      return usual;
    case Algorithm::kArea:
    case Algorithm::kAreaShares:
      return team.area && posted <= SharedArea::kMostBytes ? wanted : usual;
    case Algorithm::kRing:
      return commutative ? wanted : usual;
    case Algorithm::kTwoLevels:
      return on_two_levels(team, commutative) ? wanted : usual;
    default:
      return wanted;
  }
}

// Where blocks differ in length: whether those that are short enough go by the area.
bool uneven_on_area(const Situation& team, CollectiveKind collective) noexcept {
  const Algorithm wanted = team.wanted.of(collective);
  return team.area && tuning().coll_area > 0 && (wanted == Algorithm::kAutomatic || wanted == Algorithm::kArea);
}

bool suits_linear(const Situation& team, std::uint64_t bytes) noexcept {
  const Tuning& limit = tuning();
  const auto ranks = static_cast<unsigned>(team.ranks);
  return team.oversubscribed && ranks >= limit.coll_oversubscribed_linear_least &&
         ranks <= limit.coll_oversubscribed_linear_most && bytes <= limit.coll_oversubscribed_linear;
}

// How ranks reduce in an area: each a share for all, or all of them everything.
Algorithm in_area(const Situation& team, std::uint64_t bytes) noexcept {
  const bool shares = bytes * static_cast<std::uint64_t>(team.ranks) > tuning().coll_area_fold;
  return shares ? Algorithm::kAreaShares : Algorithm::kArea;
}

bool has_element_each(const Situation& team, const Reduced& operands) noexcept {
  return operands.elements >= static_cast<std::uint64_t>(team.ranks);
}

Algorithm usual_bcast(const Situation& team, std::uint64_t bytes) noexcept {
  const Tuning& limit = tuning();
  if (on_two_levels(team, true)) return Algorithm::kTwoLevels;
  if (fits_in_pieces(team, bytes)) return Algorithm::kArea;
  if (suits_linear(team, bytes)) return Algorithm::kLinear;
  if (team.ranks <= 2 || bytes <= limit.coll_bcast_binomial) return Algorithm::kBinomial;
  if (bytes <= limit.coll_bcast_scatter_allgather) return Algorithm::kScatterAllgather;
  // The chain pays once there are more segments than ranks to fill.
  const bool fills = bytes / limit.coll_bcast_segment > static_cast<std::uint64_t>(team.ranks);
  return fills ? Algorithm::kChain : Algorithm::kScatterAllgather;
}

Algorithm usual_allgather(const Situation& team, std::uint64_t total_bytes, std::uint64_t block_bytes) noexcept {
  const Tuning& limit = tuning();
  if (on_two_levels(team, true)) return Algorithm::kTwoLevels;
  if (fits_in_pieces(team, block_bytes)) return Algorithm::kArea;
  const bool little = total_bytes <= limit.coll_allgather_bruck;
  const bool little_each = total_bytes <= static_cast<std::uint64_t>(team.ranks) * limit.coll_allgather_bruck_block;
  return team.ranks > 2 && (little || little_each) ? Algorithm::kBruck : Algorithm::kRing;
}

Algorithm usual_alltoall(const Situation& team, std::uint64_t block_bytes) noexcept {
  const Tuning& limit = tuning();
  if (on_two_levels(team, true)) {
    const auto to_a_host =
        static_cast<std::uint64_t>(team.ranks) * static_cast<std::uint64_t>(team.levels->most_members());
    if (block_bytes * to_a_host <= limit.coll_two_levels_alltoall) return Algorithm::kTwoLevels;
  }
  if (fits_area(team, block_bytes * static_cast<std::uint64_t>(team.ranks))) return Algorithm::kArea;
  // Without shared memory: there a message costs next to nothing.
  const bool competing = team.oversubscribed && !team.area;
  const std::uint64_t short_enough = competing ? limit.coll_oversubscribed_alltoall_bruck : limit.coll_alltoall_bruck;
  const bool bruck =
      static_cast<unsigned>(team.ranks) >= limit.coll_alltoall_bruck_ranks && block_bytes <= short_enough;
  return bruck ? Algorithm::kBruck : Algorithm::kPairwise;
}

Algorithm usual_reduce(const Situation& team, const Reduced& operands) noexcept {
  if (on_two_levels(team, operands.commutative)) return Algorithm::kTwoLevels;
  if (fits_in_pieces_reduced(team, operands.bytes) && can_be_cut(operands)) return in_area(team, operands.bytes);
  if (suits_linear(team, operands.bytes)) return Algorithm::kLinear;
  const bool few = team.ranks <= 2 || operands.bytes <= tuning().coll_reduce_binomial;
  return few || !has_element_each(team, operands) ? Algorithm::kBinomial : Algorithm::kScatterGather;
}

// Two ranks post only what the other one combines, where nothing has to be unpacked or handed to an application thread.
bool fits_in_halves(const Situation& team, const Reduced& operands) noexcept {
  const Tuning& limit = tuning();
  return team.ranks == 2 && team.area && operands.combines_in_place &&
         operands.bytes <= limit.coll_area_pieces_of_two * limit.coll_area;
}

Algorithm usual_allreduce(const Situation& team, const Reduced& operands) noexcept {
  const Tuning& limit = tuning();
  if (on_two_levels(team, operands.commutative)) return Algorithm::kTwoLevels;
  const bool area = fits_in_halves(team, operands) || fits_in_pieces_reduced(team, operands.bytes);
  if (area && can_be_cut(operands)) return in_area(team, operands.bytes);
  if (suits_linear(team, operands.bytes)) return Algorithm::kLinear;
  if (operands.bytes <= limit.coll_allreduce_doubling || !has_element_each(team, operands)) return Algorithm::kDoubling;
  const bool power_of_two = (team.ranks & (team.ranks - 1)) == 0;
  const bool halving = power_of_two || !operands.commutative || operands.bytes <= limit.coll_allreduce_halving;
  return halving ? Algorithm::kHalving : Algorithm::kRing;
}

}  // namespace

Algorithm choose_barrier(const Situation& team) noexcept {
  Algorithm usual = suits_linear(team, 0) ? Algorithm::kLinear : Algorithm::kDissemination;
  if (team.area) usual = Algorithm::kArea;
  if (on_two_levels(team, true)) usual = Algorithm::kTwoLevels;
  return wanted_or(team, CollectiveKind::kBarrier, 0, true, usual);
}

Algorithm choose_bcast(const Situation& team, std::uint64_t bytes) noexcept {
  return wanted_or(team, CollectiveKind::kBcast, 0, true, usual_bcast(team, bytes));
}

Algorithm choose_tree(CollectiveKind collective, const Situation& team, std::uint64_t block_bytes, std::uint64_t posted,
                      bool even) noexcept {
  if (!even) return uneven_on_area(team, collective) ? Algorithm::kArea : Algorithm::kLinear;
  Algorithm usual = team.ranks > 4 && block_bytes <= tuning().coll_tree ? Algorithm::kBinomial : Algorithm::kLinear;
  const bool pieces = collective == CollectiveKind::kGather;
  const bool area = pieces ? fits_in_pieces(team, posted) : fits_area(team, posted);
  if (area) usual = Algorithm::kArea;
  if (on_two_levels(team, true) && block_bytes <= tuning().coll_two_levels_tree) usual = Algorithm::kTwoLevels;
  return wanted_or(team, collective, pieces ? 0 : posted, true, usual);
}

Algorithm choose_allgather(const Situation& team, std::uint64_t total_bytes, std::uint64_t block_bytes) noexcept {
  const Algorithm usual = usual_allgather(team, total_bytes, block_bytes);
  return wanted_or(team, CollectiveKind::kAllgather, block_bytes == kNoBlock ? block_bytes : 0, true, usual);
}

Algorithm choose_alltoall(const Situation& team, std::uint64_t block_bytes, bool even) noexcept {
  if (!even) return uneven_on_area(team, CollectiveKind::kAlltoall) ? Algorithm::kArea : Algorithm::kPairwise;
  const std::uint64_t posted = block_bytes * static_cast<std::uint64_t>(team.ranks);
  return wanted_or(team, CollectiveKind::kAlltoall, posted, true, usual_alltoall(team, block_bytes));
}

std::uint64_t longest_on_area(const Situation& team, int blocks) noexcept {
  const std::uint64_t posted = most_posted(team);
  return blocks == 1 ? posted : longest_part(posted, static_cast<std::uint64_t>(blocks));
}

Algorithm choose_reduce(const Situation& team, const Reduced& operands) noexcept {
  return wanted_or(team, CollectiveKind::kReduce, posted_in_pieces(operands), operands.commutative,
                   usual_reduce(team, operands));
}

Algorithm choose_allreduce(const Situation& team, const Reduced& operands) noexcept {
  return wanted_or(team, CollectiveKind::kAllreduce, posted_in_pieces(operands), operands.commutative,
                   usual_allreduce(team, operands));
}

Algorithm choose_reduce_scatter(const Situation& team, std::uint64_t total_bytes) noexcept {
  Algorithm usual = team.ranks > 2 && total_bytes <= tuning().coll_reduce_scatter_doubling ? Algorithm::kDoubling
                                                                                           : Algorithm::kPairwise;
  if (fits_area(team, total_bytes)) usual = Algorithm::kArea;
  return wanted_or(team, CollectiveKind::kReduceScatter, total_bytes, true, usual);
}

Algorithm choose_scan(const Situation& team, const Reduced& operands) noexcept {
  // The last rank combines the operands of all, so long ones of many ranks are combined along the way.
  const bool few = static_cast<unsigned>(team.ranks) <= tuning().coll_area_scan_ranks;
  const bool pieces = few && fits_in_pieces(team, operands.bytes) && can_be_cut(operands);
  const bool area = pieces || fits_area(team, operands.bytes);
  return wanted_or(team, CollectiveKind::kScan, posted_in_pieces(operands), true,
                   area ? Algorithm::kArea : Algorithm::kDoubling);
}

}  // namespace lapwing::coll
