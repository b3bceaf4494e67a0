// Every reduction algorithm, for 1 to 17 ranks, against a naive reference: a product that does not commute (so the
// order of ranks shows), a sum, operands shorter than the number of ranks, in place and not.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "coll/algorithms.h"
#include "coll/simulation_for_tests.h"

namespace lapwing::coll {
namespace {

constexpr int kMaxRanks = 17;
const std::uint64_t kCounts[] = {0, 1, 5, 40};

// The operands and results of all ranks.
class Operands {
 public:
  Operands(int ranks, std::uint64_t count, std::uint64_t output_count, bool in_place, bool commutative)
      : commutative_(commutative), in_place_(in_place), count_(count) {
    for (int rank = 0; rank < ranks; ++rank) {
      inputs_.emplace_back(count * extent() + 1, std::byte{0x77});
      outputs_.emplace_back(output_count * extent() + 1, std::byte{0x55});
      for (std::uint64_t i = 0; i < count; ++i) put(inputs_.back(), i, element(rank, i));
    }
  }

  std::size_t extent() const { return commutative_ ? sizeof(std::uint32_t) : kMatrixExtent; }
  datatype::Datatype* type() const { return commutative_ ? datatype::resolve(MPI_UINT32_T) : matrix_type(); }
  datatype::Op* op() const { return commutative_ ? datatype::resolve_op(MPI_SUM) : matrix_product(); }

  Block input(int rank) { return block(inputs_[at(rank)].data(), count_, type()); }
  Block output(int rank, std::uint64_t count) {
    return block(in_place_ ? inputs_[at(rank)].data() : outputs_[at(rank)].data(), count, type());
  }
  // Element `i` of the reduction over the ranks first to last.
  Matrix expected(int first, int last, std::uint64_t i) const {
    Matrix result = element(first, i);
    for (int rank = first + 1; rank <= last; ++rank) result = combine(result, element(rank, i));
    return result;
  }
  Matrix actual(int rank, std::uint64_t i) const {
    const auto& from = in_place_ ? inputs_[at(rank)] : outputs_[at(rank)];
    Matrix value{};
    std::memcpy(&value, from.data() + i * extent(), bytes());
    return value;
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  std::size_t bytes() const { return commutative_ ? sizeof(std::uint32_t) : sizeof(Matrix); }
  Matrix element(int rank, std::uint64_t i) const {
    Matrix value = matrix(rank, i);
    if (commutative_) value = {{value.e[0], 0, 0, 0}};
    return value;
  }
  Matrix combine(const Matrix& a, const Matrix& b) const {
    return commutative_ ? Matrix{{a.e[0] + b.e[0], 0, 0, 0}} : a * b;
  }
  void put(std::vector<std::byte>& to, std::uint64_t i, const Matrix& value) const {
    std::memcpy(to.data() + i * extent(), &value, bytes());
  }

  bool commutative_;
  bool in_place_;
  std::uint64_t count_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::vector<std::byte>> outputs_;
};

struct Case {
  int ranks;
  std::uint64_t count;
  bool in_place;
  bool commutative;
  unsigned seed;
  std::string text() const {
    return std::to_string(ranks) + " ranks, " + std::to_string(count) + " elements" + (in_place ? ", in place" : "") +
           (commutative ? ", sum" : ", matrix product") + ", seed " + std::to_string(seed);
  }
};

void for_all_cases(bool commutative_only, const std::function<void(const Case&)>& check) {
  for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
    for (const std::uint64_t count : kCounts) {
      for (const bool in_place : {false, true}) {
        for (const bool commutative : {false, true}) {
          if (commutative_only && !commutative) continue;
          for (unsigned seed = 1; seed <= kSeeds; ++seed) {
            const Case made{ranks, count, in_place, commutative, seed};
            SCOPED_TRACE(made.text());
            check(made);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

using Allreduce = void (*)(Schedule&, const Block&, const Block&);

void check_allreduce(Allreduce algorithm, const Case& made) {
  Operands data(made.ranks, made.count, made.count, made.in_place, made.commutative);
  Simulation job(made.ranks);
  for (int rank = 0; rank < made.ranks; ++rank) {
    job[rank].set_op(*data.op());
    algorithm(job[rank], data.input(rank), data.output(rank, made.count));
  }
  ASSERT_TRUE(job.run(made.seed));
  for (int rank = 0; rank < made.ranks; ++rank) {
    for (std::uint64_t i = 0; i < made.count; ++i) {
      ASSERT_EQ(data.actual(rank, i), data.expected(0, made.ranks - 1, i)) << "rank " << rank << ", element " << i;
    }
  }
}

TEST(Allreduce, RecursiveDoubling) {
  for_all_cases(false, [](const Case& made) { check_allreduce(&allreduce_recursive_doubling, made); });
}
TEST(Allreduce, Halving) {
  for_all_cases(false, [](const Case& made) { check_allreduce(&allreduce_halving, made); });
}
void allreduce_by_ring(Schedule& schedule, const Block& input, const Block& output) {
  allreduce_ring(schedule, input, output, kWholeChunks);
}
// Of an element or two.
void allreduce_by_ring_in_segments(Schedule& schedule, const Block& input, const Block& output) {
  allreduce_ring(schedule, input, output, 1);
}
TEST(Allreduce, Ring) {
  for_all_cases(true, [](const Case& made) { check_allreduce(&allreduce_by_ring, made); });
}
TEST(Allreduce, RingInSegments) {
  for_all_cases(true, [](const Case& made) { check_allreduce(&allreduce_by_ring_in_segments, made); });
}
TEST(Allreduce, RingOfMoreSegmentsThanLanes) {
  for (const bool in_place : {false, true}) check_allreduce(&allreduce_by_ring_in_segments, {11, 11 * 16, in_place, true, 1});
}
TEST(Allreduce, SegmentsOfARingAreBounded) {
  EXPECT_EQ(ring_segments(0, 100), 1);
  EXPECT_EQ(ring_segments(100, 100), 1);
  EXPECT_EQ(ring_segments(101, 100), 2);
  EXPECT_EQ(ring_segments(1'000'000, 100), 16);
  EXPECT_EQ(ring_segments(1'000'000, kWholeChunks), 1);
}
TEST(Allreduce, Linear) {
  for_all_cases(false, [](const Case& made) { check_allreduce(&allreduce_linear, made); });
}

TEST(Allreduce, OnArea) {
  for_all_cases(false, [](const Case& made) { check_allreduce(&allreduce_on_area, made); });
}
TEST(Allreduce, InSharesOnArea) {
  for_all_cases(false, [](const Case& made) { check_allreduce(&allreduce_in_shares_on_area, made); });
}

// Between two ranks, with a predefined operation on a type without gaps: each combines what the other one has posted with its own operand where that
// lies. Rank 0 has 100, 101, 102 and so on, rank 1 as many from 200 on.
class BetweenTwo : public testing::Test {
 protected:
  using Algorithm = std::function<void(Schedule&, const Block& input, const Block& output)>;

  // out[rank] holds what the algorithm leaves in the output, which is the input where that is in place.
  void run(std::uint64_t count, bool in_place, const Algorithm& algorithm) {
    Simulation job(2);
    datatype::Datatype* const type = datatype::resolve(MPI_INT);
    for (int rank = 0; rank < 2; ++rank) {
      auto& mine = in_[static_cast<std::size_t>(rank)];
      auto& got = out[static_cast<std::size_t>(rank)];
      mine.clear();
      for (std::uint64_t i = 0; i < count; ++i) mine.push_back((rank + 1) * 100 + static_cast<int>(i));
      got.assign(count, kUntouched);
      if (in_place) got = mine;
      job[rank].set_op(*datatype::resolve_op(MPI_SUM));
      algorithm(job[rank], block(in_place ? got.data() : mine.data(), count, type), block(got.data(), count, type));
    }
    ASSERT_TRUE(job.run(static_cast<unsigned>(count)));
  }
  // For each length, in place and not.
  static void for_all(const std::function<void(std::uint64_t count, bool in_place)>& check) {
    for (const bool in_place : {false, true})
      for (std::uint64_t count = 1; count <= 9; ++count) check(count, in_place);
  }
  static int sum(std::uint64_t i) { return 300 + 2 * static_cast<int>(i); }

  static constexpr int kUntouched = -7;
  std::array<std::vector<int>, 2> out;

 private:
  std::array<std::vector<int>, 2> in_;
};

TEST_F(BetweenTwo, Allreduce) {
  for (const Allreduce algorithm : {&allreduce_on_area, &allreduce_in_shares_on_area}) {
    for_all([&](std::uint64_t count, bool in_place) {
      run(count, in_place, algorithm);
      for (const auto& got : out)
        for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(got[i], sum(i));
    });
  }
}

TEST_F(BetweenTwo, Reduce) {
  for (const int root : {0, 1}) {
    for_all([&](std::uint64_t count, bool in_place) {
      run(count, in_place, [root](Schedule& schedule, const Block& input, const Block& output) {
        reduce_on_area(schedule, input, schedule.rank() == root ? output : Block{}, root);
      });
      for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(out[static_cast<std::size_t>(root)][i], sum(i));
    });
  }
}

// Parts of any lengths, given together and one by one.
TEST_F(BetweenTwo, ReduceScatter) {
  for_all([&](std::uint64_t count, bool in_place) {
    const std::vector<std::uint64_t> starts{0, count / 3, count};
    const auto part = [&](const Block& whole, std::size_t rank) { return whole.part(starts[rank], starts[rank + 1] - starts[rank]); };
    const auto output_of = [&](Schedule& schedule, const Block& output) {
      const auto rank = static_cast<std::size_t>(schedule.rank());
      return output.part(0, starts[rank + 1] - starts[rank]);
    };
    const Algorithm together = [&](Schedule& schedule, const Block& input, const Block& output) {
      reduce_scatter_on_area(schedule, input, output_of(schedule, output), starts);
    };
    const Algorithm one_by_one = [&](Schedule& schedule, const Block& input, const Block& output) {
      reduce_parts_on_area(schedule, {part(input, 0), part(input, 1)}, static_cast<std::size_t>(schedule.rank()), output_of(schedule, output));
    };
    for (const Algorithm& algorithm : {together, one_by_one}) {
      run(count, in_place, algorithm);
      for (std::size_t rank = 0; rank < 2; ++rank)
        for (std::uint64_t i = starts[rank]; i < starts[rank + 1]; ++i) EXPECT_EQ(out[rank][i - starts[rank]], sum(i));
    }
  });
}

TEST_F(BetweenTwo, Scan) {
  for (const bool inclusive : {true, false}) {
    for_all([&](std::uint64_t count, bool in_place) {
      run(count, in_place, [inclusive](Schedule& schedule, const Block& input, const Block& output) { scan_on_area(schedule, input, output, inclusive); });
      const int first = in_place || inclusive ? 100 : kUntouched;
      for (std::uint64_t i = 0; i < count; ++i) {
        EXPECT_EQ(out[0][i], first == kUntouched ? kUntouched : first + static_cast<int>(i));
        EXPECT_EQ(out[1][i], inclusive ? sum(i) : 100 + static_cast<int>(i));
      }
    });
  }
}

using Reduce = void (*)(Schedule&, const Block&, const Block&, int);

void check_reduce(Reduce algorithm, const Case& made) {
  for (const int root : {0, made.ranks / 2, made.ranks - 1}) {
    Operands data(made.ranks, made.count, made.count, made.in_place, made.commutative);
    Simulation job(made.ranks);
    for (int rank = 0; rank < made.ranks; ++rank) {
      job[rank].set_op(*data.op());
      const Block none{};
      algorithm(job[rank], data.input(rank), rank == root ? data.output(rank, made.count) : none, root);
    }
    ASSERT_TRUE(job.run(made.seed));
    for (std::uint64_t i = 0; i < made.count; ++i) {
      ASSERT_EQ(data.actual(root, i), data.expected(0, made.ranks - 1, i)) << "root " << root << ", element " << i;
    }
  }
}

TEST(Reduce, Binomial) {
  for_all_cases(false, [](const Case& made) {
    check_reduce([](Schedule& schedule, const Block& in, const Block& out, int root) { reduce_knomial(schedule, in, out, root); }, made);
  });
}
TEST(Reduce, Knomial) {
  for_all_cases(false, [](const Case& made) {
    check_reduce([](Schedule& schedule, const Block& in, const Block& out, int root) { reduce_knomial(schedule, in, out, root, 3); }, made);
    check_reduce([](Schedule& schedule, const Block& in, const Block& out, int root) { reduce_knomial(schedule, in, out, root, 5); }, made);
  });
}
TEST(Reduce, Linear) {
  for_all_cases(false, [](const Case& made) { check_reduce(&reduce_linear, made); });
}
// Segments of a few elements, so that rooms are used again.
TEST(Reduce, Chain) {
  for_all_cases(false, [](const Case& made) {
    check_reduce([](Schedule& schedule, const Block& in, const Block& out,
                    int root) { reduce_chain(schedule, in, out, root, 12); },
                 made);
  });
}
TEST(Reduce, ChainOfMoreSegmentsThanLanes) {
  for (const bool commutative : {false, true}) {
    check_reduce([](Schedule& schedule, const Block& in, const Block& out,
                    int root) { reduce_chain(schedule, in, out, root, 1); },
                 {4, 2 * kLanes + 1, false, commutative, 1});
  }
}
TEST(Reduce, ScatterGather) {
  for_all_cases(false, [](const Case& made) { check_reduce(&reduce_scatter_gather, made); });
}

TEST(Reduce, OnArea) {
  for_all_cases(false, [](const Case& made) { check_reduce(&reduce_on_area, made); });
}
TEST(Reduce, InSharesOnArea) {
  for_all_cases(false, [](const Case& made) { check_reduce(&reduce_in_shares_on_area, made); });
}

using ReduceScatter = void (*)(Schedule&, const Block&, const Block&, const std::vector<std::uint64_t>&);

// Uneven parts, some of them empty.
void check_reduce_scatter(ReduceScatter algorithm, const Case& made) {
  std::vector<std::uint64_t> starts{0};
  for (int rank = 0; rank < made.ranks; ++rank)
    starts.push_back(starts.back() + (rank % 3 == 1 ? 0 : rank % 4 + made.count));
  Operands data(made.ranks, starts.back(), starts.back(), made.in_place, made.commutative);
  Simulation job(made.ranks);
  for (int rank = 0; rank < made.ranks; ++rank) {
    const std::size_t r = static_cast<std::size_t>(rank);
    job[rank].set_op(*data.op());
    algorithm(job[rank], data.input(rank), data.output(rank, starts[r + 1] - starts[r]), starts);
  }
  ASSERT_TRUE(job.run(made.seed));
  for (int rank = 0; rank < made.ranks; ++rank) {
    const std::size_t r = static_cast<std::size_t>(rank);
    for (std::uint64_t i = starts[r]; i < starts[r + 1]; ++i) {
      ASSERT_EQ(data.actual(rank, i - starts[r]), data.expected(0, made.ranks - 1, i))
          << "rank " << rank << ", element " << i;
    }
  }
}

TEST(ReduceScatter, Doubling) {
  for_all_cases(false, [](const Case& made) {
    if (made.count < 40) check_reduce_scatter(&reduce_scatter_doubling, made);
  });
}
TEST(ReduceScatter, Halving) {
  for_all_cases(true, [](const Case& made) {
    if (made.count < 40) check_reduce_scatter(&reduce_scatter_halving, made);
  });
}
TEST(ReduceScatter, Pairwise) {
  for_all_cases(false, [](const Case& made) {
    if (made.count < 40) check_reduce_scatter(&reduce_scatter_pairwise, made);
  });
}

TEST(ReduceScatter, OnArea) {
  for_all_cases(false, [](const Case& made) {
    if (made.count < 40) check_reduce_scatter(&reduce_scatter_on_area, made);
  });
}

using Scan = void (*)(Schedule&, const Block&, const Block&);

void check_scan(Scan inclusive_scan, Scan exclusive_scan) {
  for_all_cases(false, [=](const Case& made) {
    for (const bool exclusive : {false, true}) {
      Operands data(made.ranks, made.count, made.count, made.in_place, made.commutative);
      Simulation job(made.ranks);
      for (int rank = 0; rank < made.ranks; ++rank) {
        job[rank].set_op(*data.op());
        (exclusive ? exclusive_scan : inclusive_scan)(job[rank], data.input(rank), data.output(rank, made.count));
      }
      ASSERT_TRUE(job.run(made.seed));
      for (int rank = exclusive ? 1 : 0; rank < made.ranks; ++rank) {
        for (std::uint64_t i = 0; i < made.count; ++i) {
          ASSERT_EQ(data.actual(rank, i), data.expected(0, exclusive ? rank - 1 : rank, i)) << "rank " << rank;
        }
      }
    }
  });
}

TEST(Scan, Doubling) {
  check_scan(&scan_doubling, &exscan_doubling);
}
// Segments of three elements, and of one.
TEST(Scan, Chain) {
  check_scan([](Schedule& schedule, const Block& in, const Block& out) { scan_chain(schedule, in, out, true, 12); },
             [](Schedule& schedule, const Block& in, const Block& out) { scan_chain(schedule, in, out, false, 12); });
  check_scan([](Schedule& schedule, const Block& in, const Block& out) { scan_chain(schedule, in, out, true, 1); },
             [](Schedule& schedule, const Block& in, const Block& out) { scan_chain(schedule, in, out, false, 1); });
}
TEST(Scan, OnArea) {
  check_scan([](Schedule& schedule, const Block& in, const Block& out) { scan_on_area(schedule, in, out, true); },
             [](Schedule& schedule, const Block& in, const Block& out) { scan_on_area(schedule, in, out, false); });
}

// Floating point: order matters for the last bits, and all ranks must have the same ones.
TEST(Allreduce, SameBitsEverywhere) {
  for (const Allreduce algorithm : {&allreduce_recursive_doubling, &allreduce_halving, &allreduce_by_ring,
                                    &allreduce_by_ring_in_segments, &allreduce_on_area, &allreduce_in_shares_on_area}) {
    for (int ranks = 1; ranks <= kMaxRanks; ++ranks) {
      constexpr std::uint64_t kElements = 33;
      std::vector<std::vector<double>> in, out;
      std::mt19937 random(static_cast<unsigned>(ranks));
      std::uniform_real_distribution<double> any(-1e6, 1e6);
      Simulation job(ranks);
      in.resize(static_cast<std::size_t>(ranks));
      out.resize(static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        auto& mine = in[static_cast<std::size_t>(rank)];
        for (std::uint64_t i = 0; i < kElements; ++i) mine.push_back(any(random));
        out[static_cast<std::size_t>(rank)].resize(kElements);
        job[rank].set_op(*datatype::resolve_op(MPI_SUM));
        datatype::Datatype* type = datatype::resolve(MPI_DOUBLE);
        algorithm(job[rank], block(mine.data(), kElements, type),
                  block(out[static_cast<std::size_t>(rank)].data(), kElements, type));
      }
      ASSERT_TRUE(job.run(1));
      for (const auto& each : out) ASSERT_EQ(std::memcmp(each.data(), out[0].data(), kElements * sizeof(double)), 0);
    }
  }
}

}  // namespace
}  // namespace lapwing::coll
