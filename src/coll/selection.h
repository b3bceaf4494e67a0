// Which algorithm carries out a collective operation, for how many ranks and bytes: the one that the model says takes least time
// (model/costs.h). A non-blocking form hides its time behind the application's computing, so among those that take little longer it
// is the one that takes least from the processor (coll.hidden_slack).
//
// Every rank must come to the same answer, so a choice depends only on what all ranks know alike: the size of the team, bytes that the
// standard wants equal everywhere, whether the operation commutes, what lies between the ranks; the parameters are those of rank 0 of the
// job, and what the user asked for (LAPWING_ALGORITHM) is used wherever it can be.
//
// What an area has room for, and where it was found to lose beyond what the model knows, are tuning values (base/tuning_list.inc); else an area is
// one way among others. Where the ranks of a host can combine first, they do (Levels).
// Hierarchy (ranks of one host first) comes in here as well: compile.cc sets the team of a schedule, so an algorithm over hosts and one
// inside a host can follow each other in one schedule.
#pragma once

#include <array>
#include <cstdint>

#include "base/algorithms.h"
#include "coll/barrier_order.h"
#include "coll/levels.h"
#include "coll/model/costs.h"

namespace lapwing::coll {

// What the machine and the user have to say about it: the same on all ranks of a job.
struct SelectionRules {
  AlgorithmChoices wanted;
  model::Parameters parameters = model::Parameters::defaults();
  bool measures_link = false;  // what a byte costs between hosts is found out at run time (link_rate.h)
  int cores = 2;             // of the job's one host, where it has more ranks (Situation::oversubscribed)
  bool single_host = false;  // the launcher promised that all ranks of the job are on one
};

// The team, and what the user wants of it.
struct Situation {
  int ranks = 1;
  const Levels* levels = nullptr;  // which of them share a host; null: it makes no difference (levels.h)
  bool area = false;            // they have a shared area (area_place.h)
  bool direct = false;          // and may copy from each other's memory and to it
  bool directly = false;        // and are to, as a trial has it (direct_trials.h)
  std::uint32_t uneven_rounds = 0;  // of an all-to-all of unequal blocks (uneven_rounds.h); 0: it does not learn them
  bool uneven_by_messages = false;  // or how it goes
  BarrierOrder::Order barrier_order;  // of a barrier, how it is left
  bool oversubscribed = false;  // the whole job runs on one host with fewer cores than ranks, as the launcher tells every
                                // rank alike
  bool blocking = true;         // the caller waits
  model::LinkKind link = model::LinkKind::kHosts;
  int cores = 2;
  AlgorithmChoices wanted;
  const model::Parameters* parameters = &model::Parameters::defaults();
};

struct ByteRange {
  std::uint64_t least = 1, most = 0;

  bool has(std::uint64_t bytes) const noexcept { return bytes >= least && bytes <= most; }
};
// Blocks of so many bytes are sooner where they belong by way of messages, whose memory changes hands among all ranks (base/handed_cells.h), than by
// that of an area, which each rank fills anew: of ranks that share cores, and where two have much to move.
ByteRange as_messages(CollectiveKind collective, const Situation& team) noexcept;

inline constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};

// What is moved or combined.
struct Amount {
  std::uint64_t bytes = 0;          // as the formulas count them (model/costs.h)
  std::uint64_t posted = kNoBlock;  // the most that a rank would post in an area, or of a block; kNoBlock: it may not be
  std::uint64_t elements = 0;       // of operands
  bool commutative = true;
  bool combines_in_place = true;  // a predefined operation, on a type without gaps
};

// The algorithms that can be used, with what the model predicts.
class Candidates {
 public:
  struct Candidate {
    const model::Entry* entry = nullptr;
    model::Cost cost;
  };
  Candidates(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept;

  const Candidate* begin() const noexcept { return all_.data(); }
  const Candidate* end() const noexcept { return all_.data() + count_; }
  // The one to use, unless the user wants another.
  const Candidate& best(bool blocking) const noexcept { return blocking ? fastest() : gentlest(); }
  const Candidate& fastest() const noexcept;

 private:
  const Candidate& gentlest() const noexcept;

  std::array<Candidate, 16> all_{};
  std::size_t count_ = 0;
};

// What a rank posts of blocks for all ranks: between two ranks only that of the other one.
constexpr std::uint64_t posted_for_all(std::uint64_t block_bytes, int ranks) noexcept {
  return ranks == 2 ? block_bytes : block_bytes * static_cast<std::uint64_t>(ranks);
}

// What the user asked for, where it can be used, or the best of the candidates.
Algorithm choose(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept;
// Whether the ranks should wait half as long again any other way as for direct copies of blocks of so many bytes, where each rank has a core. Then
// calls go so until the trial (direct_trials.h): where one rank would have to copy for all, each of them copies instead.
bool likely_direct(CollectiveKind collective, const Situation& team, std::uint64_t block_bytes) noexcept;
// The same where ranks share cores: of blocks that no post has room for, which go in pieces otherwise or, where they differ in length (`even` is false), as
// messages. Both ranks of such a block need a core several times, each time after the others have had it; one that is left in place needs each rank
// once. In a scatter, whose root would copy for all while they wait, of blocks of half that length. Not where each block is read by all, so that little
// is saved, nor in a gather in pieces, whose ranks need not wait for the root.
bool likely_in_place(CollectiveKind collective, const Situation& team, std::uint64_t block_bytes, bool even) noexcept;
// Whether what the user asked for decides.
bool is_forced(CollectiveKind collective, const Situation& team, const Amount& amount) noexcept;
// What a call of the plain form amounts to: `bytes` as the formulas count them, of elements of so many bytes.
Amount plain_amount(CollectiveKind collective, int ranks, std::uint64_t bytes, std::uint64_t element) noexcept;

// What is reduced.
struct Reduced {
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  bool commutative = true;
  bool combines_in_place = true;
};

Algorithm choose_barrier(const Situation& team) noexcept;
Algorithm choose_bcast(const Situation& team, std::uint64_t bytes) noexcept;
// Gather or scatter. `posted`: the most that a rank would post in a shared area. `even`: all blocks have one length; if not, only the two
// ranks of a block know it, and those that an area takes go there (longest_on_area()).
Algorithm choose_tree(CollectiveKind collective, const Situation& team, std::uint64_t block_bytes, std::uint64_t posted,
                      bool even) noexcept;
// `block_bytes`: of the longest block where they may be posted; else kNoBlock.
Algorithm choose_allgather(const Situation& team, std::uint64_t total_bytes, std::uint64_t block_bytes) noexcept;
Algorithm choose_alltoall(const Situation& team, std::uint64_t block_bytes, bool even) noexcept;
// Where blocks differ in length: whether this rank leaves its own in place, as far as they suit that.
bool leaves_in_place(const Situation& team, CollectiveKind collective) noexcept;
// The longest that goes by the area, where `blocks` of them may make up one post.
std::uint64_t longest_on_area(const Situation& team, int blocks) noexcept;
Algorithm choose_reduce(const Situation& team, const Reduced& operands) noexcept;
Algorithm choose_allreduce(const Situation& team, const Reduced& operands) noexcept;
Algorithm choose_reduce_scatter(const Situation& team, const Reduced& operands) noexcept;
Algorithm choose_scan(const Situation& team, const Reduced& operands) noexcept;

}  // namespace lapwing::coll
