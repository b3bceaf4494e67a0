// Direct copies that the kernel refuses some ranks, or all: their blocks go as messages. (With real system calls: test/mpi/forbidden_copies.c.)
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "coll/movement_for_tests.h"

namespace lapwing::coll {
namespace {

constexpr std::uint64_t kCount = 30;

// What each rank has for each, and gets from each, as far as the collective moves it.
struct AllMemory {
  AllMemory(int ranks, bool sparse) : ranks(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      out.emplace_back(ranks, kCount, false);
      in.emplace_back(ranks, kCount, sparse);
      for (int to = 0; to < ranks; ++to)
        for (std::uint64_t i = 0; i < kCount; ++i) out.back()(to, i) = value(rank, to, i);
    }
  }
  // Block `index` of what `rank` got is block `sent` of `from`.
  void expect(int rank, int index, int from, int sent) {
    for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(in[static_cast<std::size_t>(rank)](index, i), value(from, sent, i)) << from << " to " << rank;
  }

  int ranks;
  std::vector<Memory> out, in;
};

// No rank is refused, each alone, all.
std::vector<std::vector<int>> refused_ranks(int ranks) {
  std::vector<std::vector<int>> sets{{}};
  for (int rank = 0; rank < ranks; ++rank) sets.push_back({rank});
  sets.emplace_back(static_cast<std::size_t>(ranks));
  std::iota(sets.back().begin(), sets.back().end(), 0);
  return sets;
}

using Build = std::function<void(Schedule&, Memory& out, Memory& in, int root)>;
using Expect = std::function<void(AllMemory&, int rank, int root)>;

void check(const Build& build, const Expect& expect, bool sparse = false) {
  for (int ranks = 2; ranks <= 5; ++ranks) {
    for (const std::vector<int>& refused : refused_ranks(ranks)) {
      for (unsigned seed = 1; seed <= 2 * kSeeds; ++seed) {
        const int root = static_cast<int>(seed) % ranks;
        SCOPED_TRACE(std::to_string(ranks) + " ranks, refused: " + (refused.empty() ? "none" : std::to_string(refused.front())) + " of " +
                     std::to_string(refused.size()) + ", seed " + std::to_string(seed));
        AllMemory memory(ranks, sparse);
        Simulation job(ranks);
        for (const int rank : refused) job.refuse_copies_of(rank);
        for (int rank = 0; rank < ranks; ++rank)
          build(job[rank], memory.out[static_cast<std::size_t>(rank)], memory.in[static_cast<std::size_t>(rank)], root);
        ASSERT_TRUE(job.run(seed));
        for (int rank = 0; rank < ranks; ++rank) expect(memory, rank, root);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

void expect_alltoall(AllMemory& memory, int rank, int) {
  for (int from = 0; from < memory.ranks; ++from) memory.expect(rank, from, from, rank);
}
void expect_allgather(AllMemory& memory, int rank, int) {
  for (int from = 0; from < memory.ranks; ++from) memory.expect(rank, from, from, 0);
}
void expect_gather(AllMemory& memory, int rank, int root) {
  if (rank == root) expect_allgather(memory, rank, root);
}
void expect_scatter(AllMemory& memory, int rank, int root) { memory.expect(rank, 0, root, rank); }

// Of blocks that are runs of bytes.
Block run_of(const Block& block) { return bytes_block(block.address, block.bytes()); }
Blocks runs_of(Memory& memory, int ranks) {
  Blocks runs;
  for (const Block& block : memory.all(ranks)) runs.push_back(run_of(block));
  return runs;
}

TEST(RefusedCopies, Alltoall) {
  check([](Schedule& s, Memory& out, Memory& in, int) { alltoall_directly(s, runs_of(out, s.size()), runs_of(in, s.size())); }, &expect_alltoall);
}
TEST(RefusedCopies, Allgather) {
  check([](Schedule& s, Memory& out, Memory& in, int) { allgather_directly(s, run_of(out.at(0)), runs_of(in, s.size())); }, &expect_allgather);
}
TEST(RefusedCopies, Gather) {
  check([](Schedule& s, Memory& out, Memory& in, int root) { gather_directly(s, run_of(out.at(0)), runs_of(in, s.size()), root); }, &expect_gather);
}
TEST(RefusedCopies, Scatter) {
  check([](Schedule& s, Memory& out, Memory& in, int root) { scatter_directly(s, runs_of(out, s.size()), run_of(in.at(0)), root); }, &expect_scatter);
}

// Of the v forms. Ranks with an even number leave their blocks in place, or all do.
UnevenRules rules(int rank, bool all) {
  UnevenRules uneven;
  uneven.rules.longest = kCount * sizeof(int);
  uneven.least_place = sizeof(int);
  if (all || rank % 2 == 0) uneven.rules.least_place = uneven.least_place;
  return uneven;
}

void check_uneven(const std::function<void(Schedule&, Memory& out, Memory& in, int root, const UnevenRules&)>& build, const Expect& expect) {
  for (const bool all : {true, false})
    for (const bool sparse : {false, true})
      check([&](Schedule& schedule, Memory& out, Memory& in, int root) { build(schedule, out, in, root, rules(schedule.rank(), all)); }, expect, sparse);
}

TEST(RefusedCopies, UnevenAlltoall) {
  check_uneven([](Schedule& schedule, Memory& out, Memory& in, int,
                  const UnevenRules& uneven) { alltoallv_on_area(schedule, out.all(schedule.size()), in.all(schedule.size()), uneven); },
               &expect_alltoall);
}
// The root's blocks may be no runs of bytes: then it is the one that copies.
TEST(RefusedCopies, UnevenGather) {
  check_uneven([](Schedule& schedule, Memory& out, Memory& in, int root,
                  const UnevenRules& uneven) { gatherv_on_area(schedule, out.at(0), in.all(schedule.size()), root, uneven); },
               &expect_gather);
}
TEST(RefusedCopies, UnevenScatter) {
  check_uneven([](Schedule& schedule, Memory& out, Memory& in, int root,
                  const UnevenRules& uneven) { scatterv_on_area(schedule, out.all(schedule.size()), in.at(0), root, uneven); },
               &expect_scatter);
}

}  // namespace
}  // namespace lapwing::coll
