// Which algorithm carries out a collective operation, for how many ranks and bytes. Every rank must come to the same answer, so a choice
// depends only on what all ranks know alike: the size of the team, bytes that the standard wants equal everywhere, whether the
// operation commutes, and what the user asked for (LAPWING_ALGORITHM), which is used wherever it can be.
//
// The thresholds are tuning values (base/tuning_list.inc). Hierarchy (ranks of one host first) comes in here as well: compile.cc sets the
// team of a schedule, so an algorithm over hosts and one inside a host can follow each other in one schedule.
#pragma once

#include <cstdint>

#include "base/algorithms.h"
#include "coll/levels.h"

namespace lapwing::coll {

// The team, and what the user wants of it.
struct Situation {
  int ranks = 1;
  const Levels* levels = nullptr;  // which of them share a host; null: it makes no difference (levels.h)
  bool area = false;  // they have a shared area (area_place.h)
  bool oversubscribed =
      false;  // the whole job runs on one host with fewer cores than ranks, as the launcher tells every rank alike
  AlgorithmChoices wanted;
};
// What is reduced.
struct Reduced {
  std::uint64_t bytes = 0;
  std::uint64_t elements = 0;
  bool commutative = true;
  bool combines_in_place = true;  // a predefined operation, on a type without gaps
};

Algorithm choose_barrier(const Situation& team) noexcept;
Algorithm choose_bcast(const Situation& team, std::uint64_t bytes) noexcept;
// Gather or scatter. `posted`: the most that a rank would post in a shared area. `even`: all blocks have one length; if not, only the two
// ranks of a block know it, and those that an area takes go there (longest_on_area()).
Algorithm choose_tree(CollectiveKind collective, const Situation& team, std::uint64_t block_bytes, std::uint64_t posted,
                      bool even) noexcept;
// `block_bytes`: of the longest block where they may be posted; else kNoBlock.
inline constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};
Algorithm choose_allgather(const Situation& team, std::uint64_t total_bytes, std::uint64_t block_bytes) noexcept;
Algorithm choose_alltoall(const Situation& team, std::uint64_t block_bytes, bool even) noexcept;
// Where blocks differ in length: the longest that goes by the area, where `blocks` of them may make up one post.
std::uint64_t longest_on_area(const Situation& team, int blocks) noexcept;
Algorithm choose_reduce(const Situation& team, const Reduced& operands) noexcept;
Algorithm choose_allreduce(const Situation& team, const Reduced& operands) noexcept;
Algorithm choose_reduce_scatter(const Situation& team, std::uint64_t total_bytes) noexcept;
Algorithm choose_scan(const Situation& team, const Reduced& operands) noexcept;

}  // namespace lapwing::coll
