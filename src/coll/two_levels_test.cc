// Collectives on two levels, compiled as a user calls them, for 1 to 17 ranks on hosts of all shapes: every rank must end with what the
// standard says, whichever hosts have an area for their ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/tuning.h"
#include "coll/compile.h"
#include "coll/levels.h"
#include "coll/simulation_for_tests.h"
#include "coll/sparse_data_for_tests.h"

namespace lapwing::coll {
namespace {

constexpr int kMostRanks = 17;

// ---- placements

using Hosts = std::vector<std::uint32_t>;

struct Placement {
  const char* name;
  std::uint32_t (*host_of)(int rank, int ranks);
};
const Placement kPlacements[] = {
    {"pairs", [](int rank, int) { return static_cast<std::uint32_t>(rank / 2); }},
    {"growing", [](int rank, int) { return static_cast<std::uint32_t>(std::sqrt(rank)); }},
    {"one by one", [](int rank, int) { return static_cast<std::uint32_t>(rank % 3); }},
    {"all but the first", [](int rank, int) { return rank == 0 ? 7u : 3u; }},
    {"all but the last", [](int rank, int ranks) { return rank == ranks - 1 ? 3u : 7u; }},
    {"ends together", [](int rank, int ranks) { return rank == 0 || rank == ranks - 1 ? 0u : 1u; }},
};

enum class Areas { kAll, kNone, kSome };

struct Case {
  int ranks;
  const Placement& placement;
  Areas areas;
  std::uint64_t count;
  unsigned seed;

  Hosts hosts() const {
    Hosts made;
    for (int rank = 0; rank < ranks; ++rank) made.push_back(placement.host_of(rank, ranks));
    return made;
  }
  std::string text() const {
    return std::to_string(ranks) + " ranks, " + placement.name + ", areas " + std::to_string(static_cast<int>(areas)) +
           ", " + std::to_string(count) + " elements, seed " + std::to_string(seed);
  }
};

// Segments so short that operands of tens of numbers have several.
class TwoLevelsTest : public testing::Test {
 protected:
  void SetUp() override {
    Tuning values;
    values.coll_two_levels_segment = 64;
    values.coll_two_levels_whole = 48;
    put_in_force(values);
  }
  void TearDown() override { put_in_force(Tuning()); }
};

void for_all_cases(const std::vector<std::uint64_t>& counts, const std::function<void(const Case&)>& check) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (const Placement& placement : kPlacements) {
      for (const Areas areas : {Areas::kAll, Areas::kNone, Areas::kSome}) {
        for (const std::uint64_t count : counts) {
          const Case made{ranks, placement, areas, count, static_cast<unsigned>(ranks) + 1};
          SCOPED_TRACE(made.text());
          check(made);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

// ---- a job whose ranks make one call

class Job {
 public:
  Job(const Case& made, Collective what) : simulation(made.ranks), made_(made) {
    call.what = what;
    simulation.set_hosts(made.hosts());
    for (int rank = 0; rank < made.ranks; ++rank) levels_.push_back(Levels::make(made.hosts(), rank));
  }
  bool has_levels() const { return levels_[0] != nullptr; }
  const Levels& levels() const { return *levels_[0]; }

  // `call` as it is now is what this rank says.
  void compile(int rank) {
    Schedule& schedule = simulation[rank];
    const Levels* levels = levels_[static_cast<std::size_t>(rank)].get();
    AlgorithmChoices wanted;
    EXPECT_TRUE(
        AlgorithmChoices::parse("allgather=two_levels,allreduce=two_levels,alltoall=two_levels,barrier=two_levels,"
                                "bcast=two_levels,gather=two_levels,reduce=two_levels,scatter=two_levels",
                                wanted));
    schedule.set_wanted(wanted);
    schedule.set_levels(levels);
    schedule.set_area(levels != nullptr && levels->neighbors().size() > 1 && has_area(levels->host()));
    if (call.op != nullptr) schedule.set_op(*call.op);
    compile_intra(call, schedule);
  }
  [[nodiscard]] bool run() { return simulation.run(made_.seed); }

  Call call;
  Simulation simulation;

 private:
  bool has_area(int host) const { return made_.areas == Areas::kAll || (made_.areas == Areas::kSome && host % 2 == 0); }
  const Case& made_;
  std::vector<std::unique_ptr<const Levels>> levels_;
};

// ---- what they hold

int value(int from, int to, std::uint64_t i) {
  return from * 1'000'003 + to * 1'009 + static_cast<int>(i);
}

void fill(Data& data, std::uint64_t block, std::uint64_t count, int from, int to) {
  for (std::uint64_t i = 0; i < count; ++i) data[block * count + i] = value(from, to, i);
}
void expect(Data& data, std::uint64_t block, std::uint64_t count, int from, int to) {
  for (std::uint64_t i = 0; i < count; ++i)
    ASSERT_EQ(data[block * count + i], value(from, to, i)) << from << " to " << to;
}

std::vector<Data> data_of(const Case& made, std::uint64_t elements, int dense_every) {
  std::vector<Data> all;
  for (int rank = 0; rank < made.ranks; ++rank) all.emplace_back(rank % dense_every != 0, elements);
  return all;
}

std::size_t at(int rank) {
  return static_cast<std::size_t>(rank);
}

// ---- which ranks share a host

TEST(Levels, HostsAreNumberedByTheirLowestRanks) {
  const auto levels = Levels::make({9, 4, 9, 4, 1}, 2);
  ASSERT_NE(levels, nullptr);
  EXPECT_EQ(levels->hosts(), 3);
  EXPECT_EQ(levels->members(0), (std::vector<int>{0, 2}));
  EXPECT_EQ(levels->members(1), (std::vector<int>{1, 3}));
  EXPECT_EQ(levels->members(2), (std::vector<int>{4}));
  EXPECT_EQ(levels->host(), 0);
  EXPECT_EQ(levels->place(), 1);
  EXPECT_EQ(levels->most_members(), 2);
  EXPECT_EQ(levels->speakers(0), (std::vector<int>{0, 1, 4}));
  EXPECT_EQ(levels->speakers(3), (std::vector<int>{0, 3, 4}));
}

TEST(Levels, ThereAreNoneWhereNothingCanBeCombined) {
  EXPECT_EQ(Levels::make({3, 3, 3}, 0), nullptr);
  EXPECT_EQ(Levels::make({1, 2, 3}, 0), nullptr);
  EXPECT_EQ(Levels::make({5}, 0), nullptr);
}

TEST(Levels, OrderIsKeptWhereRanksOfAHostFollowEachOther) {
  EXPECT_TRUE(Levels::make({0, 0, 1}, 0)->in_order());
  EXPECT_TRUE(Levels::make({5, 2, 2, 2, 0}, 0)->in_order());
  EXPECT_FALSE(Levels::make({0, 1, 0}, 0)->in_order());
}

// ---- collectives

TEST_F(TwoLevelsTest, BarrierWaitsForEveryRank) {
  for_all_cases({0}, [](const Case& made) {
    Job job(made, Collective::kBarrier);
    if (!job.has_levels()) return;
    for (int rank = 0; rank < made.ranks; ++rank) job.compile(rank);
    ASSERT_TRUE(job.run());
    for (int absent = 0; absent < made.ranks; ++absent) {
      EXPECT_FALSE(job.simulation.run_without(absent, made.seed));
      for (int rank = 0; rank < made.ranks; ++rank) ASSERT_FALSE(job.simulation.finished(rank)) << absent;
    }
  });
}

TEST_F(TwoLevelsTest, Bcast) {
  for_all_cases({0, 5, 50}, [](const Case& made) {
    for (const int root : {0, made.ranks / 3, made.ranks - 1}) {
      Job job(made, Collective::kBcast);
      std::vector<Data> data = data_of(made, made.count, 2);
      fill(data[at(root)], 0, made.count, root, 0);
      job.call.root = root;
      for (int rank = 0; rank < made.ranks; ++rank) {
        job.call.receive = data[at(rank)].side(made.count);
        job.compile(rank);
      }
      ASSERT_TRUE(job.run());
      for (Data& each : data) expect(each, 0, made.count, root, 0);
    }
  });
}

TEST_F(TwoLevelsTest, BcastOfMoreSegmentsThanLanes) {
  const Case made{5, kPlacements[0], Areas::kAll, 20 * kLanes, 3};
  Job job(made, Collective::kBcast);
  std::vector<Data> data = data_of(made, made.count, 1);
  fill(data[0], 0, made.count, 0, 0);
  for (int rank = 0; rank < made.ranks; ++rank) {
    job.call.receive = data[at(rank)].side(made.count);
    job.compile(rank);
  }
  ASSERT_TRUE(job.run());
  for (Data& each : data) expect(each, 0, made.count, 0, 0);
}

TEST_F(TwoLevelsTest, Gather) {
  for_all_cases({0, 5}, [](const Case& made) {
    for (const int root : {0, made.ranks / 3, made.ranks - 1}) {
      for (const bool in_place : {false, true}) {
        Job job(made, Collective::kGather);
        std::vector<Data> own = data_of(made, made.count, 2);
        Data all(root % 2 == 0, at(made.ranks) * made.count);
        job.call.root = root;
        for (int rank = 0; rank < made.ranks; ++rank) {
          fill(own[at(rank)], 0, made.count, rank, root);
          job.call.send = own[at(rank)].side(made.count);
          job.call.receive = all.side(made.count);
          if (rank == root && in_place) {
            fill(all, at(rank), made.count, rank, root);
            job.call.send.buffer = MPI_IN_PLACE;
          }
          job.compile(rank);
        }
        ASSERT_TRUE(job.run());
        for (int from = 0; from < made.ranks; ++from) expect(all, at(from), made.count, from, root);
      }
    }
  });
}

TEST_F(TwoLevelsTest, Scatter) {
  for_all_cases({0, 5}, [](const Case& made) {
    for (const int root : {0, made.ranks / 3, made.ranks - 1}) {
      for (const bool in_place : {false, true}) {
        Job job(made, Collective::kScatter);
        std::vector<Data> own = data_of(made, made.count, 2);
        Data all(root % 2 == 0, at(made.ranks) * made.count);
        job.call.root = root;
        for (int rank = 0; rank < made.ranks; ++rank) fill(all, at(rank), made.count, root, rank);
        for (int rank = 0; rank < made.ranks; ++rank) {
          job.call.send = all.side(made.count);
          job.call.receive = own[at(rank)].side(made.count);
          if (rank == root && in_place) job.call.receive.buffer = MPI_IN_PLACE;
          job.compile(rank);
        }
        ASSERT_TRUE(job.run());
        for (int to = 0; to < made.ranks; ++to) {
          if (to != root || !in_place) expect(own[at(to)], 0, made.count, root, to);
        }
      }
    }
  });
}

void check_allgather(const Case& made, bool in_place) {
  Job job(made, Collective::kAllgather);
  std::vector<Data> own = data_of(made, made.count, 3), all = data_of(made, at(made.ranks) * made.count, 2);
  for (int rank = 0; rank < made.ranks; ++rank) {
    fill(own[at(rank)], 0, made.count, rank, 0);
    job.call.send = own[at(rank)].side(made.count);
    job.call.receive = all[at(rank)].side(made.count);
    if (in_place) {
      fill(all[at(rank)], at(rank), made.count, rank, 0);
      job.call.send.buffer = MPI_IN_PLACE;
    }
    job.compile(rank);
  }
  ASSERT_TRUE(job.run());
  for (Data& each : all)
    for (int from = 0; from < made.ranks; ++from) expect(each, at(from), made.count, from, 0);
}
TEST_F(TwoLevelsTest, Allgather) {
  for_all_cases({0, 1, 7}, [](const Case& made) {
    for (const bool in_place : {false, true}) check_allgather(made, in_place);
  });
}

// Around the ring of hosts: with segments of which some are shorter, and of which there are more than lanes.
TEST_F(TwoLevelsTest, AllgatherOfLongBlocks) {
  constexpr std::uint64_t kCount = 4'000;
  static_assert(5 * kCount * sizeof(int) > AreaMemory::kPieceBytes);
  Tuning values;
  values.coll_two_levels_segment = 100;
  put_in_force(values);
  for (const Placement& placement : kPlacements) {
    const Case made{5, placement, Areas::kSome, kCount, 1};
    SCOPED_TRACE(made.text());
    check_allgather(made, false);
    check_allgather(made, true);
  }
}

// Some blocks are empty.
TEST_F(TwoLevelsTest, Allgatherv) {
  for_all_cases({0, 8}, [](const Case& made) {
    Job job(made, Collective::kAllgatherv);
    std::vector<int> counts, starts;
    int total = 0;
    for (int rank = 0; rank < made.ranks; ++rank) {
      counts.push_back(rank % 3 == 1 ? 0 : static_cast<int>(made.count) + rank % 2);
      starts.push_back(total);
      total += counts.back();
    }
    std::vector<Data> own = data_of(made, made.count + 1, 3), all = data_of(made, static_cast<std::uint64_t>(total), 2);
    for (int rank = 0; rank < made.ranks; ++rank) {
      fill(own[at(rank)], 0, static_cast<std::uint64_t>(counts[at(rank)]), rank, 0);
      job.call.send = own[at(rank)].side(static_cast<std::uint64_t>(counts[at(rank)]));
      job.call.receive = all[at(rank)].side(0);
      job.call.receive.counts = counts.data();
      job.call.receive.displacements = starts.data();
      job.compile(rank);
    }
    ASSERT_TRUE(job.run());
    for (Data& each : all) {
      for (int from = 0; from < made.ranks; ++from) {
        for (int i = 0; i < counts[at(from)]; ++i)
          ASSERT_EQ(each[static_cast<std::uint64_t>(starts[at(from)] + i)],
                    value(from, 0, static_cast<std::uint64_t>(i)));
      }
    }
  });
}

TEST_F(TwoLevelsTest, Alltoall) {
  for_all_cases({0, 3}, [](const Case& made) {
    for (const bool in_place : {false, true}) {
      Job job(made, Collective::kAlltoall);
      const std::uint64_t elements = at(made.ranks) * made.count;
      std::vector<Data> out = data_of(made, elements, 3), in = data_of(made, elements, 2);
      for (int rank = 0; rank < made.ranks; ++rank) {
        Data& given = in_place ? in[at(rank)] : out[at(rank)];
        for (int to = 0; to < made.ranks; ++to) fill(given, at(to), made.count, rank, to);
        job.call.send = out[at(rank)].side(made.count);
        job.call.receive = in[at(rank)].side(made.count);
        if (in_place) job.call.send.buffer = MPI_IN_PLACE;
        job.compile(rank);
      }
      ASSERT_TRUE(job.run());
      for (int to = 0; to < made.ranks; ++to)
        for (int from = 0; from < made.ranks; ++from) expect(in[at(to)], at(from), made.count, from, to);
    }
  });
}

// ---- reductions: of matrices, whose product does not commute and which lie in memory with gaps; and of numbers

struct Operands {
  Operands(const Case& made, bool commutative) : commutative(commutative) {
    extent = commutative ? sizeof(std::uint32_t) : kMatrixExtent;
    bytes.assign(at(made.ranks), std::vector<std::byte>(made.count * extent + 1, std::byte{0x77}));
    for (int rank = 0; rank < made.ranks; ++rank)
      for (std::uint64_t i = 0; i < made.count; ++i) put(rank, i, element(rank, i));
  }
  Matrix element(int rank, std::uint64_t i) const {
    const Matrix whole = matrix(rank, i);
    return commutative ? Matrix{{whole.e[0], 0, 0, 0}} : whole;
  }
  std::size_t size() const { return commutative ? sizeof(std::uint32_t) : sizeof(Matrix); }
  void put(int rank, std::uint64_t i, const Matrix& one) { std::memcpy(&bytes[at(rank)][i * extent], &one, size()); }
  Matrix get(int rank, std::uint64_t i) const {
    Matrix one{};
    std::memcpy(&one, &bytes[at(rank)][i * extent], size());
    return one;
  }
  Matrix expected(int ranks, std::uint64_t i) const {
    Matrix result = element(0, i);
    for (int rank = 1; rank < ranks; ++rank) {
      const Matrix next = element(rank, i);
      result = commutative ? Matrix{{result.e[0] + next.e[0], 0, 0, 0}} : result * next;
    }
    return result;
  }
  Side side(int rank, std::uint64_t count) {
    Side made;
    made.buffer = bytes[at(rank)].data();
    made.count = count;
    made.type = commutative ? MPI_UINT32_T : matrix_type()->handle();
    return made;
  }
  bool commutative;
  std::size_t extent;
  std::vector<std::vector<std::byte>> bytes;
};

void check_reduction(const Case& made, Collective what, int root, bool commutative, bool in_place) {
  Job job(made, what);
  Operands in(made, commutative), out = in;
  job.call.root = root;
  job.call.op = commutative ? datatype::resolve_op(MPI_SUM) : matrix_product();
  for (int rank = 0; rank < made.ranks; ++rank) {
    job.call.send = in.side(rank, made.count);
    job.call.receive = out.side(rank, made.count);
    if (in_place && (what == Collective::kAllreduce || rank == root)) job.call.send.buffer = MPI_IN_PLACE;
    job.compile(rank);
  }
  ASSERT_TRUE(job.run());
  for (int rank = 0; rank < made.ranks; ++rank) {
    if (what == Collective::kReduce && rank != root) continue;
    for (std::uint64_t i = 0; i < made.count; ++i)
      ASSERT_EQ(out.get(rank, i), in.expected(made.ranks, i)) << rank << ' ' << i;
  }
}

TEST_F(TwoLevelsTest, Reduce) {
  for_all_cases({0, 1, 40}, [](const Case& made) {
    for (const int root : {0, made.ranks / 3, made.ranks - 1})
      for (const bool commutative : {false, true})
        for (const bool in_place : {false, true})
          check_reduction(made, Collective::kReduce, root, commutative, in_place);
  });
}
TEST_F(TwoLevelsTest, Allreduce) {
  for_all_cases({0, 1, 40}, [](const Case& made) {
    for (const bool commutative : {false, true})
      for (const bool in_place : {false, true}) check_reduction(made, Collective::kAllreduce, 0, commutative, in_place);
  });
}

// What does not commute may go on two levels only where that keeps the order.
TEST_F(TwoLevelsTest, OrderDecidesWhetherMatricesGoOnTwoLevels) {
  Reduced matrices{16, 1, false, false};
  for (const Hosts& hosts : {Hosts{0, 0, 1, 1}, Hosts{0, 1, 0, 1}}) {
    const auto levels = Levels::make(hosts, 0);
    Situation team;
    team.ranks = 4;
    team.levels = levels.get();
    EXPECT_EQ(choose_allreduce(team, matrices) == Algorithm::kTwoLevels, levels->in_order());
    EXPECT_EQ(choose_reduce(team, matrices) == Algorithm::kTwoLevels, levels->in_order());
    matrices.commutative = true;
    EXPECT_EQ(choose_allreduce(team, matrices), Algorithm::kTwoLevels);
    matrices.commutative = false;
  }
}

}  // namespace
}  // namespace lapwing::coll
