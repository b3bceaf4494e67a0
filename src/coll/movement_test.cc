// Every algorithm that only moves data, for 1 to 17 ranks: each rank must end with exactly the bytes that the standard
// says.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "coll/compile.h"
#include "coll/movement_for_tests.h"

namespace lapwing::coll {
namespace {

// No rank leaves before the last one has come: each rank's arrival must reach all through the graph of messages.
TEST(Barrier, HearsFromEverybody) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    for (const int radix : {2, 3, 4, kMaxRanks}) {
      Simulation job(ranks);
      for (int rank = 0; rank < ranks; ++rank) barrier_dissemination(job[rank], radix);
      for (unsigned seed = 1; seed <= kSeeds; ++seed) EXPECT_TRUE(job.run(seed)) << ranks;
      // Sends depend on what was heard: follow them round by round.
      std::vector<std::vector<bool>> heard(static_cast<std::size_t>(ranks),
                                           std::vector<bool>(static_cast<std::size_t>(ranks)));
      for (int rank = 0; rank < ranks; ++rank)
        heard[static_cast<std::size_t>(rank)][static_cast<std::size_t>(rank)] = true;
      for (int distance = 1; distance < ranks; distance *= radix) {
        const auto before = heard;
        for (int rank = 0; rank < ranks; ++rank) {
          for (int away = distance; away < ranks && away < radix * distance; away += distance) {
            const auto& from = before[static_cast<std::size_t>((rank - away + ranks) % ranks)];
            for (std::size_t i = 0; i < from.size(); ++i) {
              if (from[i]) heard[static_cast<std::size_t>(rank)][i] = true;
            }
          }
        }
      }
      for (const auto& each : heard) EXPECT_EQ(std::count(each.begin(), each.end(), true), ranks);
      for (int absent = 0; ranks > 1 && absent < ranks; ++absent) {
        EXPECT_FALSE(job.run_without(absent, 1));
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_FALSE(job.finished(rank)) << ranks << ' ' << radix << ' ' << absent;
      }
    }
  }
}

// The same for the other barrier: without any one rank, another waits for ever.
TEST(Barrier, LinearWaitsForEverybody) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    for (int absent = -1; absent < ranks; ++absent) {
      Simulation job(ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        if (rank != absent) barrier_linear(job[rank]);
      }
      for (unsigned seed = 1; seed <= kSeeds; ++seed) EXPECT_EQ(job.run(seed), absent < 0) << ranks << ' ' << absent;
    }
  }
}

TEST(Barrier, OnAreaWaitsForEverybody) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    for (int absent = 0; absent < ranks; ++absent) {
      Simulation job(ranks);
      for (int rank = 0; rank < ranks; ++rank) barrier_on_area(job[rank]);
      for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        EXPECT_TRUE(job.run(seed)) << ranks;
        EXPECT_FALSE(job.run_without(absent, seed)) << ranks << ' ' << absent;
        for (int rank = 0; rank < ranks; ++rank) EXPECT_FALSE(job.finished(rank)) << ranks << ' ' << absent;
      }
    }
  }
}

// Of ranks that outnumber the cores; all wait for everybody as well. `look` at the ranks in the order in which they left.
template <typename OrderOf, typename Look>
void check_order(OrderOf order_of, Look look) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    Simulation job(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      job[rank].set_oversubscribed(true);
      barrier_on_area(job[rank], order_of(rank, ranks));
    }
    for (unsigned seed = 1; seed <= 10; ++seed) {
      ASSERT_TRUE(job.run(seed)) << ranks;
      look(job.finished());
      EXPECT_FALSE(job.run_without(ranks / 2, seed)) << ranks;
      EXPECT_TRUE(job.finished().empty()) << ranks;
    }
  }
}

TEST(Barrier, OnAreaIsLeftInOrder) {
  using Way = BarrierOrder::Way;
  const auto root = [](std::size_t ranks) { return static_cast<int>(ranks / 3); };
  check_order([&](int, int ranks) { return BarrierOrder::Order{Way::kRootFirst, root(static_cast<std::size_t>(ranks))}; },
              [&](const std::vector<int>& left) { EXPECT_EQ(left.front(), root(left.size())) << left.size(); });
  check_order([&](int, int ranks) { return BarrierOrder::Order{Way::kRootLast, root(static_cast<std::size_t>(ranks))}; },
              [&](const std::vector<int>& left) { EXPECT_EQ(left.back(), root(left.size())) << left.size(); });
}

TEST(Barrier, OnAreaEndsThoughRanksDoNotAgreeOnTheOrder) {
  using Way = BarrierOrder::Way;
  const auto any = [](const std::vector<int>&) {};
  check_order([](int rank, int ranks) { return BarrierOrder::Order{Way::kRootFirst, (rank + 1) % ranks}; }, any);
  check_order([](int rank, int) { return BarrierOrder::Order{Way::kRootLast, rank}; }, any);
  check_order([](int rank, int ranks) { return BarrierOrder::Order{static_cast<Way>(rank % 3), rank / 2 % ranks}; }, any);
}

template <typename Algorithm>
void check_bcast(bool bytes_only, Algorithm algorithm) {
  for_all_cases([&](int ranks, std::uint64_t count, unsigned seed) {
    for (const int root : {0, ranks / 3, ranks - 1}) {
      std::vector<Memory> memory;
      Simulation job(ranks);
      for (int rank = 0; rank < ranks; ++rank) memory.emplace_back(1, count, !bytes_only && rank % 2 == 1);
      for (int rank = 0; rank < ranks; ++rank) {
        auto& mine = memory[static_cast<std::size_t>(rank)];
        for (std::uint64_t i = 0; rank == root && i < count; ++i) mine(0, i) = value(root, 0, i);
        algorithm(job[rank], bytes_only ? bytes_block(mine.ints.data(), count * sizeof(int)) : mine.at(0), root);
      }
      ASSERT_TRUE(job.run(seed));
      for (auto& each : memory) {
        for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(each(0, i), value(root, 0, i));
      }
    }
  });
}

TEST(Bcast, Binomial) {
  check_bcast(false, [](auto&&... call) { bcast_knomial(call...); });
}
TEST(Bcast, Knomial) {
  for (const int radix : {3, 5}) check_bcast(false, [=](auto&&... call) { bcast_knomial(call..., radix); });
}
TEST(Bcast, Linear) {
  check_bcast(false, &bcast_linear);
}
TEST(Bcast, OnArea) {
  check_bcast(false, &bcast_on_area);
}
TEST(Bcast, ScatterAllgather) {
  check_bcast(true, &bcast_scatter_allgather);
}
TEST(Bcast, Chain) {
  check_bcast(true, [](Schedule& schedule, const Block& bytes, int root) { bcast_chain(schedule, bytes, root, 7); });
}
TEST(Bcast, ChainWithMoreSegmentsThanLanes) {
  Simulation job(3);
  std::vector<std::vector<std::byte>> data(3, std::vector<std::byte>(1000));
  for (std::size_t i = 0; i < 1000; ++i) data[0][i] = static_cast<std::byte>(i * 7);
  for (int rank = 0; rank < 3; ++rank)
    bcast_chain(job[rank], bytes_block(data[static_cast<std::size_t>(rank)].data(), 1000), 0, 1);
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    ASSERT_TRUE(job.run(seed));
    EXPECT_EQ(data[2], data[0]);
  }
}

// Chosen by name, so that what is not one run of bytes is packed as in a call.
void choose_direct(Schedule& schedule) {
  AlgorithmChoices wanted;
  EXPECT_TRUE(AlgorithmChoices::parse("gather=area_direct,scatter=area_direct,allgather=area_direct", wanted));
  schedule.set_wanted(wanted);
  schedule.set_area(true);
  schedule.set_direct(true);
}

template <typename Algorithm>
void check_gather(Algorithm algorithm) {
  for_all_cases([&](int ranks, std::uint64_t count, unsigned seed) {
    for (const int root : {0, ranks / 3, ranks - 1}) {
      for (const bool in_place : {false, true}) {
        Memory all(ranks, count, true);
        std::vector<Memory> memory(static_cast<std::size_t>(ranks), Memory(1, count, false));
        Simulation job(ranks);
        for (int rank = 0; rank < ranks; ++rank) {
          auto& mine = memory[static_cast<std::size_t>(rank)];
          for (std::uint64_t i = 0; i < count; ++i) mine(0, i) = value(rank, root, i);
          const bool here = rank == root;
          for (std::uint64_t i = 0; here && in_place && i < count; ++i) all(rank, i) = value(rank, root, i);
          algorithm(job[rank], here && in_place ? Block{} : mine.at(0), here ? all.all(ranks) : Blocks{}, root);
        }
        ASSERT_TRUE(job.run(seed));
        for (int from = 0; from < ranks; ++from) {
          for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(all(from, i), value(from, root, i)) << from;
        }
      }
    }
  });
}
TEST(Gather, Linear) {
  check_gather(&gather_linear);
}
TEST(Gather, Binomial) {
  check_gather([](auto&&... call) { gather_knomial(call...); });
}
TEST(Gather, Knomial) {
  for (const int radix : {3, 5}) check_gather([=](auto&&... call) { gather_knomial(call..., radix); });
}

TEST(Gather, OnArea) {
  check_gather(&gather_on_area);
}

TEST(Gather, Directly) {
  check_gather([](Schedule& schedule, const Block& mine, const Blocks& all, int root) {
    choose_direct(schedule);
    const std::uint64_t bytes = all.empty() ? mine.bytes() : all[static_cast<std::size_t>(root)].bytes();
    compile_gather(schedule, mine, all, root, bytes);
  });
}

template <typename Algorithm>
void check_scatter(Algorithm algorithm) {
  for_all_cases([&](int ranks, std::uint64_t count, unsigned seed) {
    for (const int root : {0, ranks / 3, ranks - 1}) {
      Memory all(ranks, count, true);
      for (int to = 0; to < ranks; ++to) {
        for (std::uint64_t i = 0; i < count; ++i) all(to, i) = value(root, to, i);
      }
      std::vector<Memory> memory(static_cast<std::size_t>(ranks), Memory(1, count, false));
      Simulation job(ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        const bool here = rank == root;
        algorithm(job[rank], here ? all.all(ranks) : Blocks{}, memory[static_cast<std::size_t>(rank)].at(0), root);
      }
      ASSERT_TRUE(job.run(seed));
      for (int to = 0; to < ranks; ++to) {
        for (std::uint64_t i = 0; i < count; ++i)
          ASSERT_EQ(memory[static_cast<std::size_t>(to)](0, i), value(root, to, i));
      }
    }
  });
}
TEST(Scatter, Linear) {
  check_scatter(&scatter_linear);
}
TEST(Scatter, Binomial) {
  check_scatter([](auto&&... call) { scatter_knomial(call...); });
}
TEST(Scatter, Knomial) {
  for (const int radix : {3, 5}) check_scatter([=](auto&&... call) { scatter_knomial(call..., radix); });
}

TEST(Scatter, OnArea) {
  check_scatter([](Schedule& schedule, const Blocks& all, const Block& mine, int root) {
    Block together{};
    if (!all.empty()) together = block(all[0].address, all[0].count * all.size(), all[0].type);
    scatter_on_area(schedule, together, all, mine, root);
  });
}

TEST(Scatter, Directly) {
  check_scatter([](Schedule& schedule, const Blocks& all, const Block& mine, int root) {
    choose_direct(schedule);
    compile_scatter(schedule, {}, all, mine, root, mine.bytes());
  });
}

// Blocks of different lengths, some of them empty: what the v forms have.
struct Uneven {
  explicit Uneven(int ranks, std::uint64_t count) {
    for (int i = 0; i < ranks; ++i) counts.push_back(i % 3 == 2 ? 0 : count + static_cast<std::uint64_t>(i % 5));
    starts.resize(counts.size() + 1, 0);
    for (std::size_t i = 0; i < counts.size(); ++i) starts[i + 1] = starts[i] + counts[i];
  }
  Blocks blocks(std::vector<int>& memory) const {
    Blocks made;
    for (std::size_t i = 0; i < counts.size(); ++i)
      made.push_back(block(memory.data() + starts[i], counts[i], int_type()));
    return made;
  }
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> starts;
};

template <typename Algorithm>
void check_allgather(Algorithm algorithm, bool in_place) {
  for_all_cases([&](int ranks, std::uint64_t count, unsigned seed) {
    const Uneven uneven(ranks, count);
    std::vector<std::vector<int>> memory(static_cast<std::size_t>(ranks),
                                         std::vector<int>(uneven.starts.back() + 1, -7));
    std::vector<std::vector<int>> input(memory.size());
    Simulation job(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      input[r].resize(uneven.counts[r] + 1);
      int* mine = in_place ? memory[r].data() + uneven.starts[r] : input[r].data();
      for (std::uint64_t i = 0; i < uneven.counts[r]; ++i) mine[i] = value(rank, 0, i);
      const Blocks all = uneven.blocks(memory[r]);
      algorithm(job[rank], in_place ? all[r] : bytes_block(mine, uneven.counts[r] * sizeof(int)), all);
    }
    ASSERT_TRUE(job.run(seed));
    for (const auto& each : memory) {
      for (int from = 0; from < ranks; ++from) {
        const auto f = static_cast<std::size_t>(from);
        for (std::uint64_t i = 0; i < uneven.counts[f]; ++i) ASSERT_EQ(each[uneven.starts[f] + i], value(from, 0, i));
      }
    }
  });
}
TEST(Allgather, Bruck) {
  for (const bool in_place : {false, true}) check_allgather(&allgather_bruck, in_place);
}
TEST(Allgather, Doubling) {
  for (const bool in_place : {false, true}) check_allgather(&allgather_doubling, in_place);
}
TEST(Allgather, Neighbors) {
  for (const bool in_place : {false, true}) check_allgather(&allgather_neighbors, in_place);
}
TEST(Allgather, Ring) {
  for (const bool in_place : {false, true}) check_allgather(&allgather_ring, in_place);
}
TEST(Allgather, OnArea) {
  for (const bool in_place : {false, true}) check_allgather(&allgather_on_area, in_place);
}

TEST(Allgather, Directly) {
  for (const bool in_place : {false, true}) {
    check_allgather(
        [](Schedule& schedule, const Block& mine, const Blocks& all) {
          choose_direct(schedule);
          compile_allgather(schedule, mine, all);
        },
        in_place);
  }
}

template <typename Algorithm>
void check_alltoall(Algorithm algorithm) {
  for_all_cases([&](int ranks, std::uint64_t count, unsigned seed) {
    std::vector<Memory> out, in;
    for (int rank = 0; rank < ranks; ++rank) {
      out.emplace_back(ranks, count, rank % 2 == 0);
      in.emplace_back(ranks, count, rank % 3 == 0);
      for (int to = 0; to < ranks; ++to) {
        for (std::uint64_t i = 0; i < count; ++i) out.back()(to, i) = value(rank, to, i);
      }
    }
    Simulation job(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      algorithm(job[rank], out[static_cast<std::size_t>(rank)], in[static_cast<std::size_t>(rank)], ranks);
    }
    ASSERT_TRUE(job.run(seed));
    for (int to = 0; to < ranks; ++to) {
      for (int from = 0; from < ranks; ++from) {
        for (std::uint64_t i = 0; i < count; ++i) {
          ASSERT_EQ(in[static_cast<std::size_t>(to)](from, i), value(from, to, i)) << from << " to " << to;
        }
      }
    }
  });
}
TEST(Alltoall, Bruck) {
  check_alltoall([](Schedule& schedule, Memory& out, Memory& in, int ranks) {
    alltoall_bruck(schedule, out.all(ranks), in.all(ranks));
  });
}
TEST(Alltoall, Pairwise) {
  check_alltoall([](Schedule& schedule, Memory& out, Memory& in, int ranks) {
    alltoall_pairwise(schedule, out.all(ranks), in.all(ranks));
  });
}
TEST(Alltoall, InPlace) {
  check_alltoall([](Schedule& schedule, Memory& out, Memory& in, int ranks) {
    for (int to = 0; to < ranks; ++to) {
      for (std::uint64_t i = 0; i < in.count; ++i) in(to, i) = out(to, i);
    }
    alltoall_in_place(schedule, in.all(ranks));
  });
}
TEST(Alltoall, OnArea) {
  check_alltoall([](Schedule& schedule, Memory& out, Memory& in, int ranks) {
    alltoall_on_area(schedule, out.together(ranks), in.all(ranks));
  });
}
TEST(Alltoall, Directly) {
  check_alltoall([](Schedule& schedule, Memory& out, Memory& in, int ranks) {
    StepId packed = kNoStep;
    Blocks from, to;
    for (const Block& each : out.all(ranks)) from.push_back(schedule.packed(each, &packed));
    for (const Block& each : in.all(ranks)) to.push_back(schedule.unpacked_later(each));
    schedule.fence();
    alltoall_directly(schedule, from, to);
    schedule.fence();
    for (int rank = 0; rank < ranks; ++rank)
      if (to[static_cast<std::size_t>(rank)].address != in.at(rank).address) schedule.copy(to[static_cast<std::size_t>(rank)], in.at(rank));
  });
}
TEST(Alltoall, OnAreaInPlace) {
  check_alltoall([](Schedule& schedule, Memory& out, Memory& in, int ranks) {
    for (int to = 0; to < ranks; ++to) {
      for (std::uint64_t i = 0; i < in.count; ++i) in(to, i) = out(to, i);
    }
    alltoall_on_area(schedule, in.together(ranks), in.all(ranks));
  });
}
TEST(Alltoall, PairwiseWithMoreRanksThanItsWindow) {
  constexpr int kRanks = 70;
  std::vector<Memory> out, in;
  Simulation job(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    out.emplace_back(kRanks, 1, false);
    in.emplace_back(kRanks, 1, false);
    for (int to = 0; to < kRanks; ++to) out.back()(to, 0) = value(rank, to, 0);
    alltoall_pairwise(job[rank], out.back().all(kRanks), in.back().all(kRanks));
  }
  ASSERT_TRUE(job.run(1));
  for (int from = 0; from < kRanks; ++from) EXPECT_EQ(in[5](from, 0), value(from, 5, 0));
}

// A periodic grid of extent `ranks`: for 1 and 2 both neighbours are the same process, and what goes down arrives from
// above.
TEST(Neighbor, CartesianDirections) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (unsigned seed = 1; seed <= 8; ++seed) {
      std::vector<Memory> out, in;
      Simulation job(ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        out.emplace_back(2, 1, false);
        in.emplace_back(2, 1, false);
        out.back()(0, 0) = value(rank, 0, 0);
        out.back()(1, 0) = value(rank, 1, 0);
        const std::vector<int> ring{(rank - 1 + ranks) % ranks, (rank + 1) % ranks};
        neighbor_direct(job[rank], {ring, ring, true}, out.back().all(2), in.back().all(2));
      }
      ASSERT_TRUE(job.run(seed));
      for (int rank = 0; rank < ranks; ++rank) {
        auto& mine = in[static_cast<std::size_t>(rank)];
        EXPECT_EQ(mine(0, 0), value((rank - 1 + ranks) % ranks, 1, 0));
        EXPECT_EQ(mine(1, 0), value((rank + 1) % ranks, 0, 0));
      }
    }
  }
}

TEST(Neighbor, EdgesMayBeMissingOrDouble) {
  Simulation job(2);
  std::vector<Memory> out(2, Memory(3, 1, false)), in(2, Memory(3, 1, false));
  for (int rank = 0; rank < 2; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (int slot = 0; slot < 3; ++slot) out[r](slot, 0) = value(rank, slot, 0);
    const std::vector<int> edges{1 - rank, MPI_PROC_NULL, 1 - rank};
    neighbor_direct(job[rank], {edges, edges, false}, out[r].all(3), in[r].all(3));
  }
  ASSERT_TRUE(job.run(1));
  for (int rank = 0; rank < 2; ++rank) {
    auto& mine = in[static_cast<std::size_t>(rank)];
    EXPECT_EQ(mine(0, 0), value(1 - rank, 0, 0));
    EXPECT_EQ(mine(1, 0), -7);
    EXPECT_EQ(mine(2, 0), value(1 - rank, 2, 0));
  }
}

}  // namespace
}  // namespace lapwing::coll
