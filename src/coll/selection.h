// Which algorithm, for how many ranks and bytes. Every rank must come to the same answer, so a choice depends only on
// what all ranks know alike: the size of the team, bytes that the standard wants equal everywhere, whether the
// operation commutes. A job is oversubscribed when all of it runs on one host with fewer cores than ranks, as the launcher tells every rank
// alike (comm::Communicator::oversubscribed).
//
// The thresholds are where the formulas of the algorithms cross for a network with L + 2o of some 20 microseconds and G
// of about 1 ns per byte (Ethernet of 10 Gbit/s, TCP). They are data, to be replaced by ones computed from measured L,
// o, g, G. Hierarchy (ranks of one host first) comes in here as well: compile.cc sets the team of a schedule, so an
// algorithm over hosts and one inside a host can follow each other in one schedule.
#pragma once

#include <cstdint>

namespace lapwing::coll {

enum class BcastAlgorithm { kBinomial, kScatterAllgather, kChain };
enum class TreeAlgorithm { kBinomial, kLinear };  // gather, scatter
enum class AllgatherAlgorithm { kBruck, kRing };
enum class AlltoallAlgorithm { kBruck, kPairwise };
enum class ReduceAlgorithm { kBinomial, kScatterGather };
enum class AllreduceAlgorithm { kRecursiveDoubling, kHalving, kRing };
enum class ReduceScatterAlgorithm { kDoubling, kPairwise };

// Bytes; what is longer takes the next algorithm.
struct Thresholds {
  std::uint64_t oversubscribed_linear = 64 * 1024;  // in an oversubscribed job, of a moderate number of ranks
  int oversubscribed_linear_least_ranks = 5, oversubscribed_linear_most_ranks = 128;
  // On an area, where all ranks share memory: what one rank posts,
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

// Whether ranks that have an area use it; `posted`: the most that a rank posts. Comes before the other questions.
bool choose_area(bool area, std::uint64_t posted) noexcept;
// How they reduce there: each rank a share for all, or everybody everything.
bool choose_shares_on_area(int ranks, std::uint64_t bytes) noexcept;
// Whether to let one rank serve all: few bytes in an oversubscribed job. Comes next.
bool choose_linear(bool oversubscribed, int ranks, std::uint64_t bytes) noexcept;
BcastAlgorithm choose_bcast(int ranks, std::uint64_t bytes) noexcept;
TreeAlgorithm choose_tree(int ranks, std::uint64_t block_bytes) noexcept;
AllgatherAlgorithm choose_allgather(int ranks, std::uint64_t total_bytes) noexcept;
// `oversubscribed`: and without shared memory, where a message costs next to nothing.
AlltoallAlgorithm choose_alltoall(bool oversubscribed, int ranks, std::uint64_t block_bytes) noexcept;
ReduceAlgorithm choose_reduce(int ranks, std::uint64_t bytes) noexcept;
AllreduceAlgorithm choose_allreduce(int ranks, std::uint64_t bytes, std::uint64_t elements, bool commutative) noexcept;
ReduceScatterAlgorithm choose_reduce_scatter(int ranks, std::uint64_t total_bytes) noexcept;

}  // namespace lapwing::coll
