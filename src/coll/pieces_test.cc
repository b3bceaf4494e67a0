// Operands that are longer than a post: each collective is compiled as a user calls it, and goes through the area piece by piece.
#include <gtest/gtest.h>

#include <vector>

#include "coll/algorithms.h"
#include "coll/compile.h"
#include "coll/simulation_for_tests.h"
#include "coll/sparse_data_for_tests.h"

namespace lapwing::coll {
namespace {

constexpr int kMostRanks = 4;               // that scan in pieces, too
constexpr std::uint64_t kElements = 180000; // ints: one post and a part of the next
static_assert(kElements * sizeof(int) > SharedArea::kMostBytes);

int value(int rank, std::uint64_t i) {
  return rank * 1000003 + static_cast<int>(i);
}

void fill(Data& data, int rank, std::uint64_t first = 0) {
  for (std::uint64_t i = 0; i < kElements; ++i) data[first + i] = value(rank, i);
}

void expect(Data& data, int rank, std::uint64_t first = 0) {
  for (std::uint64_t i = 0; i < kElements; ++i) ASSERT_EQ(data[first + i], value(rank, i)) << i;
}

// With odd seeds each rank has a core; with even ones they wait for cores.
struct Job {
  Job(int ranks, Collective what, unsigned seed) : ranks(ranks), oversubscribed(seed % 2 == 0), simulation(ranks) { call.what = what; }
  void compile(int rank) {
    Schedule& schedule = simulation[rank];
    AlgorithmChoices wanted;
    EXPECT_TRUE(AlgorithmChoices::parse(
        "bcast=area,gather=area,allgather=area,reduce=area,allreduce=area,scan=area,"
        "scatter=area,alltoall=area,reduce_scatter=area", wanted));
    schedule.set_area(true);
    schedule.set_oversubscribed(oversubscribed);
    schedule.set_wanted(wanted);
    if (call.op != nullptr) schedule.set_op(*call.op);
    compile_intra(call, schedule);
    EXPECT_GT(schedule.rounds(), 1u);
  }
  int ranks;
  bool oversubscribed;
  Simulation simulation;
  Call call;
};

template <typename Check>
void for_ranks(Check check) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    for (unsigned seed = 1; seed <= 2; ++seed) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, seed " + std::to_string(seed));
      check(ranks, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(InPieces, Bcast) {
  for_ranks([](int ranks, unsigned seed) {
    Job job(ranks, Collective::kBcast, seed);
    std::vector<Data> data;
    for (int rank = 0; rank < ranks; ++rank) data.emplace_back(rank % 2 == 0, kElements);
    job.call.root = ranks - 1;
    fill(data.back(), 5);
    for (int rank = 0; rank < ranks; ++rank) {
      job.call.receive = data[static_cast<std::size_t>(rank)].side(kElements);
      job.compile(rank);
    }
    ASSERT_TRUE(job.simulation.run(seed));
    for (Data& each : data) expect(each, 5);
  });
}

// Rounds run ahead as far as pieces are kept, and no further.
TEST(InPieces, BcastOfManyPieces) {
  constexpr std::uint64_t kBytes = 30'000, kPiece = 150;
  static_assert(kPiece > AreaSlot::kBytes && kBytes / kPiece > 2 * AreaMemory::kSlotRounds);
  for_ranks([](int ranks, unsigned seed) {
    std::vector<std::vector<std::byte>> data(static_cast<std::size_t>(ranks), std::vector<std::byte>(kBytes));
    for (std::size_t i = 0; i < kBytes; ++i) data[0][i] = static_cast<std::byte>(i * 7);
    Simulation job(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      bcast_in_pieces_on_area(job[rank], bytes_block(data[static_cast<std::size_t>(rank)].data(), kBytes), 0, kPiece);
    ASSERT_TRUE(job.run(seed));
    for (const auto& each : data) EXPECT_EQ(each, data[0]);
  });
}

void check_gathering(Collective what, bool in_place) {
  for_ranks([&](int ranks, unsigned seed) {
    Job job(ranks, what, seed);
    const bool to_root = what == Collective::kGather;
    const auto all_elements = static_cast<std::uint64_t>(ranks) * kElements;
    std::vector<Data> own, all;
    job.call.root = ranks / 2;
    for (int rank = 0; rank < ranks; ++rank) {
      own.emplace_back(rank % 2 == 0, kElements);
      all.emplace_back(rank % 2 == 1, all_elements);
      fill(own.back(), rank);
      job.call.send = own.back().side(kElements);
      job.call.receive = all.back().side(kElements);
      if (in_place && (!to_root || rank == job.call.root)) {
        fill(all.back(), rank, static_cast<std::uint64_t>(rank) * kElements);
        job.call.send.buffer = MPI_IN_PLACE;
      }
      job.compile(rank);
    }
    ASSERT_TRUE(job.simulation.run(seed));
    for (int rank = 0; rank < ranks; ++rank) {
      if (to_root && rank != job.call.root) continue;
      for (int from = 0; from < ranks; ++from)
        expect(all[static_cast<std::size_t>(rank)], from, static_cast<std::uint64_t>(from) * kElements);
    }
  });
}
TEST(InPieces, Gather) {
  check_gathering(Collective::kGather, false);
  check_gathering(Collective::kGather, true);
}
TEST(InPieces, Allgather) {
  check_gathering(Collective::kAllgather, false);
  check_gathering(Collective::kAllgather, true);
}

void check_scattering(bool in_place) {
  for_ranks([&](int ranks, unsigned seed) {
    Job job(ranks, Collective::kScatter, seed);
    job.call.root = ranks / 2;
    Data all(true, static_cast<std::uint64_t>(ranks) * kElements);
    for (int to = 0; to < ranks; ++to) fill(all, to, static_cast<std::uint64_t>(to) * kElements);
    std::vector<Data> own;
    for (int rank = 0; rank < ranks; ++rank) {
      own.emplace_back(rank % 2 == 0, kElements);
      job.call.send = all.side(kElements);
      job.call.receive = own.back().side(kElements);
      if (in_place && rank == job.call.root) job.call.receive.buffer = MPI_IN_PLACE;
      job.compile(rank);
    }
    ASSERT_TRUE(job.simulation.run(seed));
    for (int rank = 0; rank < ranks; ++rank)
      if (!in_place || rank != job.call.root) expect(own[static_cast<std::size_t>(rank)], rank);
  });
}
TEST(InPieces, Scatter) {
  check_scattering(false);
  check_scattering(true);
}

void check_exchange(bool in_place, bool sparse) {
  for_ranks([&](int ranks, unsigned seed) {
    Job job(ranks, Collective::kAlltoall, seed);
    const auto all = static_cast<std::uint64_t>(ranks) * kElements;
    std::vector<Data> out, in;
    for (int rank = 0; rank < ranks; ++rank) {
      out.emplace_back(rank % 2 == 0, all);
      in.emplace_back(sparse, all);
      Data& from = in_place ? in.back() : out.back();
      for (int to = 0; to < ranks; ++to) fill(from, 16 * rank + to, static_cast<std::uint64_t>(to) * kElements);
      job.call.send = out.back().side(kElements);
      job.call.receive = in.back().side(kElements);
      if (in_place) job.call.send.buffer = MPI_IN_PLACE;
      job.compile(rank);
    }
    ASSERT_TRUE(job.simulation.run(seed));
    for (int rank = 0; rank < ranks; ++rank) {
      for (int from = 0; from < ranks; ++from)
        expect(in[static_cast<std::size_t>(rank)], 16 * from + rank, static_cast<std::uint64_t>(from) * kElements);
    }
  });
}
TEST(InPieces, Alltoall) {
  for (const bool sparse : {false, true}) {
    check_exchange(false, sparse);
    check_exchange(true, sparse);
  }
}

// Blocks of which one is long, one empty, and the others are short.
TEST(InPieces, Allgatherv) {
  for_ranks([](int ranks, unsigned seed) {
    Job job(ranks, Collective::kAllgatherv, seed);
    std::vector<int> counts, starts;
    for (int rank = 0; rank < ranks; ++rank) {
      starts.push_back(rank * static_cast<int>(kElements));
      counts.push_back(rank == 0 ? static_cast<int>(kElements) : rank == 1 ? 0 : 100);
    }
    std::vector<Data> own, all;
    for (int rank = 0; rank < ranks; ++rank) {
      own.emplace_back(false, kElements);
      all.emplace_back(false, static_cast<std::uint64_t>(ranks) * kElements);
      fill(own.back(), rank);
      job.call.send = own.back().side(static_cast<std::uint64_t>(counts[static_cast<std::size_t>(rank)]));
      job.call.receive = all.back().side(0);
      job.call.receive.counts = counts.data();
      job.call.receive.displacements = starts.data();
      job.compile(rank);
    }
    ASSERT_TRUE(job.simulation.run(seed));
    for (Data& each : all) {
      for (int from = 0; from < ranks; ++from) {
        for (int i = 0; i < counts[static_cast<std::size_t>(from)]; ++i)
          ASSERT_EQ(each[static_cast<std::uint64_t>(starts[static_cast<std::size_t>(from)] + i)],
                    value(from, static_cast<std::uint64_t>(i)));
      }
    }
  });
}

// Matrices, whose product does not commute, in memory with gaps.
struct Matrices {
  static constexpr std::uint64_t kCount = 45000;
  static_assert(kCount * sizeof(Matrix) > SharedArea::kMostBytes);
  Matrices() : bytes(kCount * kMatrixExtent) {}
  void set(std::uint64_t i, const Matrix& matrix) { std::memcpy(&bytes[i * kMatrixExtent], &matrix, sizeof matrix); }
  Matrix get(std::uint64_t i) const {
    Matrix matrix;
    std::memcpy(&matrix, &bytes[i * kMatrixExtent], sizeof matrix);
    return matrix;
  }
  Side side() {
    Side made;
    made.buffer = bytes.data();
    made.count = kCount;
    made.type = matrix_type()->handle();
    return made;
  }
  std::vector<std::byte> bytes;
};

Matrix product(int first, int last, std::uint64_t i) {
  Matrix result = matrix(first, i);
  for (int rank = first + 1; rank <= last; ++rank) result = result * matrix(rank, i);
  return result;
}

// What rank `rank` must have: the product of the operands of ranks 0 to last_of(rank); -1: nothing.
template <typename LastOf>
void check_products(Collective what, bool in_place, LastOf last_of) {
  for_ranks([&](int ranks, unsigned seed) {
    Job job(ranks, what, seed);
    std::vector<Matrices> in(static_cast<std::size_t>(ranks)), out(static_cast<std::size_t>(ranks));
    job.call.op = matrix_product();
    job.call.root = ranks - 1;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      for (std::uint64_t i = 0; i < Matrices::kCount; ++i) in[r].set(i, matrix(rank, i));
      job.call.send = in[r].side();
      job.call.receive = out[r].side();
      if (in_place) {
        out[r] = in[r];
        job.call.receive = out[r].side();
        if (what != Collective::kReduce || rank == job.call.root) job.call.send.buffer = MPI_IN_PLACE;
      }
      job.compile(rank);
    }
    ASSERT_TRUE(job.simulation.run(seed));
    for (int rank = 0; rank < ranks; ++rank) {
      const int last = last_of(rank, ranks);
      for (std::uint64_t i = 0; last >= 0 && i < Matrices::kCount; ++i)
        ASSERT_EQ(out[static_cast<std::size_t>(rank)].get(i), product(0, last, i)) << rank << ' ' << i;
    }
  });
}
TEST(InPieces, Reductions) {
  for (const bool in_place : {false, true}) {
    check_products(Collective::kAllreduce, in_place, [](int, int ranks) { return ranks - 1; });
    check_products(Collective::kReduce, in_place, [](int rank, int ranks) { return rank == ranks - 1 ? rank : -1; });
    check_products(Collective::kScan, in_place, [](int rank, int) { return rank; });
    check_products(Collective::kExscan, in_place, [](int rank, int) { return rank - 1; });
  }
}

// The operand of a piece and a share of the result of another are one post, and elements are not cut.
TEST(InPieces, NoPostOfAReductionIsTooLongHoweverLongItsElementsAre) {
  for (const int size : {1000, 5000, 19 * 1024, 20 * 1024, 33'000, 65'536}) {
    datatype::Datatype* type = nullptr;
    ASSERT_TRUE(datatype::make_contiguous(size, *datatype::resolve(MPI_BYTE), &type).ok());
    constexpr std::uint64_t kCount = 64;
    std::vector<std::byte> in(kCount * static_cast<std::size_t>(size)), out(in.size());
    for (const int ranks : {2, 3, 5, 16, 17, 32}) {
      for (const int rank : {0, ranks - 1}) {
        Schedule schedule;
        schedule.set_team(comm::Plane::kCollective, rank, ranks);
        schedule.set_op(*matrix_product());
        allreduce_in_pieces_on_area(schedule, block(in.data(), kCount, type), block(out.data(), kCount, type), SharedArea::kMostBytes);
        std::uint64_t posted = 0;
        for (const Step& step : schedule.steps()) {
          if (!step.is<PostStep>()) continue;
          EXPECT_LE(step.as<PostStep>().bytes(), SharedArea::kMostBytes) << size << " bytes, " << ranks << " ranks";
          posted += step.as<PostStep>().bytes();
        }
        EXPECT_GE(posted, in.size());
      }
    }
    datatype::free(type);
  }
}

// Shares differ by one; and rank 0 gets one as well, so that pieces are as long as they may be, or nothing.
void check_reduce_scatter(bool in_place, int first) {
  for_ranks([&](int ranks, unsigned seed) {
    Job job(ranks, Collective::kReduceScatter, seed);
    const std::vector<std::uint64_t> starts = even_starts(Matrices::kCount, ranks - first);
    std::vector<int> counts(static_cast<std::size_t>(first), 0);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) counts.push_back(static_cast<int>(starts[i + 1] - starts[i]));
    std::vector<Matrices> in(static_cast<std::size_t>(ranks)), out(static_cast<std::size_t>(ranks));
    job.call.op = matrix_product();
    for (int rank = 0; rank < ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      for (std::uint64_t i = 0; i < Matrices::kCount; ++i) in[r].set(i, matrix(rank, i));
      if (in_place) out[r] = in[r];
      job.call.send = in[r].side();
      job.call.receive = out[r].side();
      job.call.receive.counts = counts.data();
      if (in_place) job.call.send.buffer = MPI_IN_PLACE;
      job.compile(rank);
    }
    ASSERT_TRUE(job.simulation.run(seed));
    for (std::size_t share = 0; share + 1 < starts.size(); ++share) {
      const Matrices& result = out[share + static_cast<std::size_t>(first)];
      for (std::uint64_t i = 0; i < starts[share + 1] - starts[share]; ++i)
        ASSERT_EQ(result.get(i), product(0, ranks - 1, starts[share] + i)) << share << ' ' << i;
    }
  });
}
TEST(InPieces, ReduceScatterOfUnevenShares) {
  for (const bool in_place : {false, true}) {
    check_reduce_scatter(in_place, 0);
    check_reduce_scatter(in_place, 1);
  }
}

}  // namespace
}  // namespace lapwing::coll
