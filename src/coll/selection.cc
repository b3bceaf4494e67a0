#include "coll/selection.h"

#include <algorithm>

#include "base/internal_error.h"
#include "base/tuning.h"
#include "coll/area_memory.h"
#include "coll/area_parts.h"

namespace lapwing::coll {
namespace {

// ---- what an area takes

// What ranks post at once at most.
std::uint64_t most_posted(const Situation& team) noexcept {
  const Tuning& limit = tuning();
  const std::uint64_t most = std::min<std::uint64_t>(limit.coll_area, AreaMemory::kPieceBytes);
  return team.ranks > 2 ? most : std::min(most, limit.coll_area_of_two);
}
bool fits_area(const Situation& team, std::uint64_t posted) noexcept { return posted <= most_posted(team); }

// What of two ranks may go piece by piece: where one does not wait, or both have as much to copy. Where one has all the work, or only contributes,
// messages do, which it copies while the other one does; and so do messages of many megabytes, which are copied once, by both.
bool goes_in_pieces_of_two(CollectiveKind collective, const Amount& amount) noexcept {
  switch (collective) {
    case CollectiveKind::kBcast:
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAlltoall:
      return true;
    case CollectiveKind::kReduce:     // cut
    case CollectiveKind::kAllreduce:  // by halves
      return amount.combines_in_place;
    default:
      return false;
  }
}

// Longer operands than a rank may post at once go piece by piece.
bool fits_in_pieces(CollectiveKind collective, const Situation& team, const Amount& amount, std::uint64_t bytes) noexcept {
  const Tuning& limit = tuning();
  if (team.ranks > 2) return limit.coll_area > 0;
  return fits_area(team, bytes) ||
         (goes_in_pieces_of_two(collective, amount) && bytes <= limit.coll_area_pieces_of_two * limit.coll_area && limit.coll_area_of_two > 0);
}

// An element must fit into a piece; where a piece has a part for each rank, one for each.
bool can_be_cut(CollectiveKind collective, const Situation& team, const Amount& operands) noexcept {
  if (operands.elements == 0) return true;
  const std::uint64_t element = operands.bytes / operands.elements;
  if (collective != CollectiveKind::kReduceScatter) return element <= AreaMemory::kPieceBytes;
  return element * static_cast<std::uint64_t>(team.ranks) <= AreaMemory::kPieceBytes;
}

bool suits_area(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept {
  if (!team.area || !can_be_cut(collective, team, amount)) return false;
  switch (collective) {
    case CollectiveKind::kBarrier:
      return true;
    case CollectiveKind::kBcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kScan:
    case CollectiveKind::kAllreduce:
      return fits_in_pieces(collective, team, amount, amount.bytes);
    default:
      return amount.posted != kNoBlock && fits_in_pieces(collective, team, amount, amount.posted);
  }
}

// What only goes from one memory to another may be copied once.
bool suits_direct(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept {
  switch (collective) {
    case CollectiveKind::kAllgather:
    case CollectiveKind::kAlltoall:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return team.area && team.direct && amount.posted != kNoBlock && amount.bytes > 0 && tuning().coll_area > 0;
    default:
      return false;
  }
}

// ---- what can be used

bool is_on_area(Algorithm algorithm) noexcept {
  return algorithm == Algorithm::kArea || algorithm == Algorithm::kAreaShares;
}

// Whether the ranks of each host may combine first.
bool on_two_levels(const Situation& team, bool commutative) noexcept {
  return team.levels != nullptr && (commutative || team.levels->in_order());
}

// Whether they do: always, where there is much to combine, and else where it was measured to pay.
bool prefers_two_levels(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept {
  if (!on_two_levels(team, amount.commutative)) return false;
  switch (collective) {
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return amount.bytes <= tuning().coll_two_levels_tree;
    case CollectiveKind::kAlltoall:
      return amount.bytes * static_cast<std::uint64_t>(team.ranks) *
                 static_cast<std::uint64_t>(team.levels->most_members()) <=
             tuning().coll_two_levels_alltoall;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kScan:
      return false;
    default:
      return true;
  }
}

// In a reduction to a root the others may go on once they have posted, where they need not combine; so of little data the root combines all.
bool combines_in_shares(CollectiveKind collective, const Situation& team, const Amount& operands) noexcept {
  return collective != CollectiveKind::kReduce ||
         operands.bytes * static_cast<std::uint64_t>(team.ranks - 1) > tuning().coll_reduced_at_root;
}

// Through one rank, which only pays where ranks wait for cores.
bool suits_linear(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept {
  if (collective == CollectiveKind::kGather || collective == CollectiveKind::kScatter) return true;
  const Tuning& limit = tuning();
  const auto ranks = static_cast<unsigned>(team.ranks);
  const std::uint64_t least = collective == CollectiveKind::kReduce ? limit.coll_oversubscribed_linear_reduce : limit.coll_oversubscribed_linear_least;
  return team.oversubscribed && ranks >= least &&
         ranks <= limit.coll_oversubscribed_linear_most && amount.bytes <= limit.coll_oversubscribed_linear;
}

bool suits(CollectiveKind collective, Algorithm algorithm, const Situation& team, const Amount& amount) noexcept {
  const bool element_each = amount.elements >= static_cast<std::uint64_t>(team.ranks);
  const bool reduces = collective == CollectiveKind::kReduce || collective == CollectiveKind::kAllreduce;
  switch (algorithm) {
    case Algorithm::kArea:  // long operands are reduced in shares
      return suits_area(collective, team, amount) && !as_messages(collective, team).has(amount.bytes) &&
             (!reduces || amount.bytes <= AreaMemory::kPieceBytes || !element_each);
    case Algorithm::kAreaShares:
      return suits_area(collective, team, amount) && element_each && combines_in_shares(collective, team, amount);
    case Algorithm::kAreaDirect:
      return team.directly && suits_direct(collective, team, amount);
    case Algorithm::kLinear:
      return suits_linear(collective, team, amount);
    case Algorithm::kChain:  // an element is not cut
      return amount.elements == 0 || amount.bytes / amount.elements <= tuning().coll_bcast_segment;
    case Algorithm::kKnomial:  // or one rank would serve all others
      return static_cast<std::uint64_t>(team.ranks) > tuning().coll_tree_radix;
    case Algorithm::kNeighbors:  // or it would be the ring
      return team.ranks % 2 == 0;
    case Algorithm::kRing:
      if (collective != CollectiveKind::kAllreduce) return true;
      return amount.commutative && element_each && team.ranks > 2;  // two would answer each other late: see schedule.h
    case Algorithm::kPipelinedRing:  // or it would be the ring
      return amount.commutative && element_each && team.ranks > 2 &&
             amount.bytes / static_cast<unsigned>(team.ranks) > tuning().coll_bcast_segment;
    case Algorithm::kHalving:
      return collective == CollectiveKind::kReduceScatter ? amount.commutative : element_each;
    case Algorithm::kScatterGather:
      return element_each;
    default:
      return true;
  }
}

model::Machine machine_of(const Situation& team) noexcept {
  model::Machine machine;
  machine.link = team.parameters->link(team.link);
  machine.memory = team.parameters->memory;
  machine.segment = static_cast<double>(tuning().coll_bcast_segment);
  machine.direct_at_once = static_cast<double>(tuning().coll_direct_at_once);
  machine.call_bytes = static_cast<double>(tuning().shm_pull_call);
  machine.barrier_radix = static_cast<int>(tuning().coll_barrier_radix);
  machine.tree_radix = static_cast<int>(tuning().coll_tree_radix);
  machine.cores = team.oversubscribed ? team.cores : 0;
  machine.longest_post = static_cast<double>(PostRing::piece(team.oversubscribed));
  return machine;
}

// ---- what the user wants

// The most that a rank would post at once, where the user asks for an area: what goes piece by piece always fits.
std::uint64_t posted_if_wanted(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept {
  switch (collective) {
    case CollectiveKind::kBarrier:
    case CollectiveKind::kBcast:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kAlltoall:
      return 0;
    case CollectiveKind::kAllgather:
      return amount.posted == kNoBlock ? kNoBlock : 0;
    default:
      return can_be_cut(collective, team, amount) ? 0 : amount.bytes;
  }
}

// kAutomatic: nothing that can be used.
Algorithm wanted(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept {
  const Algorithm algorithm = team.wanted.of(collective, amount.bytes, team.ranks);
  bool possible = true;
  if (is_on_area(algorithm))
    possible = team.area && posted_if_wanted(collective, team, amount) <= AreaMemory::kPieceBytes;
  if (algorithm == Algorithm::kAreaDirect) possible = suits_direct(collective, team, amount);
  if (algorithm == Algorithm::kRing || algorithm == Algorithm::kPipelinedRing) possible = amount.commutative;
  if (algorithm == Algorithm::kHalving && collective == CollectiveKind::kReduceScatter) possible = amount.commutative;
  if (algorithm == Algorithm::kTwoLevels) possible = on_two_levels(team, amount.commutative);
  return possible ? algorithm : Algorithm::kAutomatic;
}

// Where blocks differ in length: whether those that are short enough go by the area.
bool uneven_on_area(const Situation& team, CollectiveKind collective) noexcept {
  const Algorithm algorithm = team.wanted.of(collective, AlgorithmChoices::kUnknownBytes, team.ranks);
  if (team.uneven_by_messages && algorithm == Algorithm::kAutomatic) return false;
  return team.area && tuning().coll_area > 0 &&
         (algorithm == Algorithm::kAutomatic || algorithm == Algorithm::kArea || algorithm == Algorithm::kAreaDirect);
}

Amount moved(std::uint64_t bytes, std::uint64_t posted) noexcept {
  Amount amount;
  amount.bytes = bytes;
  amount.posted = posted;
  return amount;
}

Amount reduced(const Reduced& operands) noexcept {
  return {operands.bytes, operands.bytes, operands.elements, operands.commutative, operands.combines_in_place};
}

}  // namespace

Candidates::Candidates(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept {
  const model::Machine machine = machine_of(team);
  for (const model::Entry& entry : model::entries()) {
    if (entry.collective != collective || !suits(collective, entry.algorithm, team, amount)) continue;
    LAPWING_CHECK(count_ < all_.size());
    all_[count_++] = {&entry, predict(entry, machine, team.ranks, static_cast<double>(amount.bytes))};
  }
}

const Candidates::Candidate& Candidates::fastest() const noexcept {
  const Candidate* best = nullptr;
  for (const Candidate& each : *this)
    if (best == nullptr || each.cost.time < best->cost.time) best = &each;
  LAPWING_CHECK(best != nullptr);
  return *best;
}

const Candidates::Candidate& Candidates::gentlest() const noexcept {
  const Candidate* best = &fastest();
  const double most = best->cost.time * (1 + tuning().coll_hidden_slack / 100.0);
  for (const Candidate& each : *this)
    if (each.cost.time <= most && each.cost.processor < best->cost.processor) best = &each;
  return *best;
}

namespace {

ByteRange as_messages_between_two(CollectiveKind collective) noexcept {
  const Tuning& limit = tuning();
  switch (collective) {
    case CollectiveKind::kAlltoall:
      return {limit.coll_alltoall_of_two, limit.coll_alltoall_of_two_most};
    case CollectiveKind::kGather:
      return {limit.coll_gather_of_two, ~std::uint64_t{0}};
    default:
      return {};
  }
}

}  // namespace

ByteRange as_messages(CollectiveKind collective, const Situation& team) noexcept {
  const Tuning& limit = tuning();
  const bool crowded = team.ranks > 2 * team.cores;
  if (team.ranks == 2 && !team.oversubscribed) return as_messages_between_two(collective);
  if (!team.oversubscribed || team.ranks <= 2) return {};
  switch (collective) {
    case CollectiveKind::kAlltoall:
      return {crowded ? limit.coll_crowded_alltoall : limit.coll_oversubscribed_alltoall, limit.coll_oversubscribed_alltoall_most};
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return crowded ? ByteRange{} : ByteRange{limit.coll_oversubscribed_rooted, limit.coll_oversubscribed_rooted_most};
    default:
      return {};
  }
}

Algorithm choose(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept {
  const Algorithm asked = wanted(collective, team, amount);
  if (asked != Algorithm::kAutomatic) return asked;
  if (team.directly && suits_direct(collective, team, amount)) return Algorithm::kAreaDirect;
  if (prefers_two_levels(collective, team, amount)) return Algorithm::kTwoLevels;
  return Candidates(collective, team, amount).best(team.blocking).entry->algorithm;
}

bool likely_direct(CollectiveKind collective, const Situation& team, std::uint64_t block_bytes) noexcept {
  constexpr double kDoubt = 1.5, kWaitTogether = 2;  // with a root the others wait half as long, on average
  const Amount amount = plain_amount(collective, team.ranks, block_bytes, 1);
  if (team.oversubscribed || !suits_direct(collective, team, amount)) return false;
  Situation as_model = team;
  as_model.directly = false;
  const model::Entry* direct = model::find_entry(collective, Algorithm::kAreaDirect);
  const double time = predict(*direct, machine_of(team), team.ranks, static_cast<double>(block_bytes)).time;
  const bool has_root = collective == CollectiveKind::kGather || collective == CollectiveKind::kScatter;
  return kDoubt * (has_root ? kWaitTogether : 1) * time <= Candidates(collective, as_model, amount).fastest().cost.time;
}

bool likely_in_place(CollectiveKind collective, const Situation& team, std::uint64_t block_bytes, bool even) noexcept {
  if (!team.direct || !team.oversubscribed || collective == CollectiveKind::kAllgather) return false;
  const bool is_gather = collective == CollectiveKind::kGather;
  return !(is_gather && even) && (collective == CollectiveKind::kScatter ? 2 : 1) * block_bytes > longest_on_area(team, is_gather ? 1 : team.ranks);
}

bool is_forced(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept {
  return wanted(collective, team, amount) != Algorithm::kAutomatic;
}

Amount plain_amount(CollectiveKind collective, int ranks, std::uint64_t bytes, std::uint64_t element) noexcept {
  const bool of_all = collective == CollectiveKind::kAlltoall || collective == CollectiveKind::kScatter;
  const std::uint64_t posted = of_all ? posted_for_all(bytes, ranks) : bytes;
  return {bytes, posted, bytes / element, true, true};
}

Algorithm choose_barrier(const Situation& team) noexcept {
  return choose(CollectiveKind::kBarrier, team, moved(0, 0));
}

Algorithm choose_bcast(const Situation& team, std::uint64_t bytes) noexcept {
  return choose(CollectiveKind::kBcast, team, moved(bytes, bytes));
}

Algorithm choose_tree(CollectiveKind collective, const Situation& team, std::uint64_t block_bytes, std::uint64_t posted,
                      bool even) noexcept {
  if (!even) return uneven_on_area(team, collective) ? Algorithm::kArea : Algorithm::kLinear;
  return choose(collective, team, moved(block_bytes, posted));
}

Algorithm choose_allgather(const Situation& team, std::uint64_t total_bytes, std::uint64_t block_bytes) noexcept {
  return choose(CollectiveKind::kAllgather, team, moved(total_bytes / static_cast<unsigned>(team.ranks), block_bytes));
}

Algorithm choose_alltoall(const Situation& team, std::uint64_t block_bytes, bool even) noexcept {
  if (!even) return uneven_on_area(team, CollectiveKind::kAlltoall) ? Algorithm::kArea : Algorithm::kPairwise;
  return choose(CollectiveKind::kAlltoall, team, moved(block_bytes, posted_for_all(block_bytes, team.ranks)));
}

bool leaves_in_place(const Situation& team, CollectiveKind collective) noexcept {
  const Algorithm algorithm = team.wanted.of(collective, AlgorithmChoices::kUnknownBytes, team.ranks);
  return team.direct && (algorithm == Algorithm::kAreaDirect || (algorithm == Algorithm::kAutomatic && team.directly));
}

std::uint64_t longest_on_area(const Situation& team, int blocks) noexcept {
  const std::uint64_t longest = team.oversubscribed ? PostRing::kLongest : 2 * AreaMemory::kPieceBytes;
  const std::uint64_t posted = most_posted(team) < AreaMemory::kPieceBytes ? most_posted(team) : longest;
  return blocks == 1 ? posted : longest_part(posted, static_cast<std::uint64_t>(blocks));
}

Algorithm choose_reduce(const Situation& team, const Reduced& operands) noexcept {
  return choose(CollectiveKind::kReduce, team, reduced(operands));
}

Algorithm choose_allreduce(const Situation& team, const Reduced& operands) noexcept {
  return choose(CollectiveKind::kAllreduce, team, reduced(operands));
}

Algorithm choose_reduce_scatter(const Situation& team, const Reduced& operands) noexcept {
  return choose(CollectiveKind::kReduceScatter, team, reduced(operands));
}

Algorithm choose_scan(const Situation& team, const Reduced& operands) noexcept {
  return choose(CollectiveKind::kScan, team, reduced(operands));
}

}  // namespace lapwing::coll
