// Which algorithm carries out a collective operation, for how many ranks and bytes. Every rank must come to the same answer, so a choice
// depends only on what all ranks know alike: the size of the team, bytes that the standard wants equal everywhere, whether the
// operation commutes, and what the user asked for (LAPWING_ALGORITHM), which is used wherever it can be.
//
// The thresholds are where the formulas of the algorithms cross for a network with L + 2o of some 20 microseconds and G
// of about 1 ns per byte (Ethernet of 10 Gbit/s, TCP). They are data, to be replaced by ones computed from measured L,
// o, g, G. Hierarchy (ranks of one host first) comes in here as well: compile.cc sets the team of a schedule, so an
// algorithm over hosts and one inside a host can follow each other in one schedule.
#pragma once

#include <cstdint>

#include "base/algorithms.h"

namespace lapwing::coll {

// Bytes; what is longer takes the next algorithm.
struct Thresholds {
  std::uint64_t oversubscribed_linear = 64 * 1024;  // in an oversubscribed job, of a moderate number of ranks
  int oversubscribed_linear_least_ranks = 5, oversubscribed_linear_most_ranks = 128;
  // In a shared area: what one rank posts,
  std::uint64_t area = 64 * 1024;
  // and what all post together, up to which every rank combines all of it: beyond, it costs more than waiting once more.
  std::uint64_t area_fold = 32 * 1024;
  std::uint64_t bcast_binomial = 32 * 1024;
  std::uint64_t bcast_scatter_allgather = 1024 * 1024;
  std::uint64_t bcast_segment = 128 * 1024;
  std::uint64_t tree = 2 * 1024;              // per block
  std::uint64_t allgather_bruck = 16 * 1024;  // in all
  std::uint64_t allgather_bruck_block = 256;  // or per block: with thousands of ranks a ring's many steps cost most
  std::uint64_t alltoall_bruck = 256;         // per block
  // Where ranks compete for cores and each message costs system calls, fewer messages count for more (measured: 8 to 32 ranks on two
  // cores take half the time with 1 KiB, as long with 6 KiB, twice as long with 16 KiB).
  std::uint64_t oversubscribed_alltoall_bruck = 4096;
  int alltoall_bruck_ranks = 8;  // fewer ranks exchange pairwise at once
  std::uint64_t reduce_binomial = 16 * 1024;
  std::uint64_t allreduce_doubling = 8 * 1024;
  std::uint64_t allreduce_halving = 512 * 1024;
  std::uint64_t reduce_scatter_doubling = 4 * 1024;  // in all
};

const Thresholds& thresholds() noexcept;

// The team, and what the user wants of it.
struct Situation {
  int ranks = 1;
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
};

Algorithm choose_barrier(const Situation& team) noexcept;
Algorithm choose_bcast(const Situation& team, std::uint64_t bytes) noexcept;
// Gather or scatter. `posted`: the most that a rank would post in a shared area. `even`: all blocks have one length.
Algorithm choose_tree(CollectiveKind collective, const Situation& team, std::uint64_t block_bytes, std::uint64_t posted,
                      bool even) noexcept;
// `block_bytes`: of one block where all have one length, and may be posted; else more than an area takes.
Algorithm choose_allgather(const Situation& team, std::uint64_t total_bytes, std::uint64_t block_bytes) noexcept;
Algorithm choose_alltoall(const Situation& team, std::uint64_t block_bytes, bool even) noexcept;
Algorithm choose_reduce(const Situation& team, const Reduced& operands) noexcept;
Algorithm choose_allreduce(const Situation& team, const Reduced& operands) noexcept;
Algorithm choose_reduce_scatter(const Situation& team, std::uint64_t total_bytes) noexcept;
Algorithm choose_scan(const Situation& team, std::uint64_t bytes) noexcept;

}  // namespace lapwing::coll
