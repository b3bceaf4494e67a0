// Reductions of what does not commute for each bit, though the operation does: of NaNs and numbers, of zeros with either sign, and of pairs of them. All
// ranks get the same bits, and on an area two ranks those of rank 0's operand on the left, whichever of them combines.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "coll/algorithms.h"
#include "coll/collective_job_for_tests.h"
#include "coll/simulation_for_tests.h"

namespace lapwing::coll {
namespace {

constexpr int kMaxRanks = 5;
using Bytes = std::vector<std::byte>;

struct Operation {
  MPI_Datatype type;
  MPI_Op op;
  std::string text() const { return datatype::resolve(type)->name() + ", operation " + std::to_string(reinterpret_cast<std::uintptr_t>(op)); }
  std::size_t size() const { return static_cast<std::size_t>(datatype::resolve(type)->size()); }
};
const Operation kOperations[] = {{MPI_DOUBLE, MPI_MAX}, {MPI_DOUBLE, MPI_MIN}, {MPI_DOUBLE, MPI_SUM},       {MPI_DOUBLE, MPI_PROD},
                                 {MPI_FLOAT, MPI_MAX},  {MPI_FLOAT, MPI_SUM},  {MPI_FLOAT_INT, MPI_MAXLOC}, {MPI_FLOAT_INT, MPI_MINLOC}};

// A NaN that tells the rank, a zero with either sign, a number.
template <typename T>
T element(int rank, std::uint64_t i) {
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr Word kQuietNan = sizeof(T) == 8 ? Word(0x7ff8) << (sizeof(T) * 8 - 16) : Word(0x7fc0'0000);
  switch ((i / 4 * static_cast<std::uint64_t>(2 * rank + 1) + i + static_cast<std::uint64_t>(rank)) % 4) {
    case 0:
      return std::bit_cast<T>(kQuietNan | static_cast<Word>(rank + 1));
    case 1:
      return T{0};
    case 2:
      return -T{0};
    default:
      return static_cast<T>(rank + 1);
  }
}

Bytes operand(const Operation& operation, int rank, std::uint64_t count) {
  Bytes bytes(count * operation.size());
  for (std::uint64_t i = 0; i < count; ++i) {
    std::byte* const to = bytes.data() + i * operation.size();
    const double wide = element<double>(rank, i);
    const float narrow = element<float>(rank, i);
    if (operation.type == MPI_DOUBLE) {
      std::memcpy(to, &wide, sizeof wide);
    } else {
      std::memcpy(to, &narrow, sizeof narrow);
      if (operation.type == MPI_FLOAT_INT) std::memcpy(to + sizeof narrow, &rank, sizeof rank);
    }
  }
  return bytes;
}

// Of two ranks.
Bytes in_order(const Operation& operation, std::uint64_t count) {
  const Bytes left = operand(operation, 0, count);
  Bytes result = operand(operation, 1, count);
  datatype::apply(*datatype::resolve_op(operation.op), left.data(), result.data(), count, *datatype::resolve(operation.type));
  return result;
}

using Allreduce = std::function<void(Schedule&, const Block& input, const Block& output)>;

// `ordered`: of two ranks the result is that of rank 0's operand on the left.
void check_simulated(const Allreduce& algorithm, bool ordered, const Operation& operation, int ranks, std::uint64_t count, bool in_place) {
  Simulation job(ranks);
  std::vector<Bytes> in, out;
  for (int rank = 0; rank < ranks; ++rank) in.push_back(operand(operation, rank, count));
  out = in;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    datatype::Datatype* const type = datatype::resolve(operation.type);
    job[rank].set_op(*datatype::resolve_op(operation.op));
    algorithm(job[rank], block(in_place ? out[at].data() : in[at].data(), count, type), block(out[at].data(), count, type));
  }
  ASSERT_TRUE(job.run(1));
  for (const Bytes& each : out) ASSERT_EQ(each, out[0]);
  if (ordered && ranks == 2) {
    ASSERT_EQ(out[0], in_order(operation, count));
  }
}

void check_simulated(const Allreduce& algorithm, bool ordered) {
  for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
    for (const Operation& operation : kOperations) {
      for (const std::uint64_t count : {1u, 5u, 40u}) {
        for (const bool in_place : {false, true}) {
          SCOPED_TRACE(operation.text() + ", " + std::to_string(ranks) + " ranks, " + std::to_string(count) + " elements" + (in_place ? ", in place" : ""));
          check_simulated(algorithm, ordered, operation, ranks, count, in_place);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(SameBits, EachAlgorithm) {
  struct Named {
    const char* name;
    Allreduce algorithm;
    bool ordered;
  };
  const auto in_pieces = [](Schedule& schedule, const Block& input, const Block& output) { allreduce_in_pieces_on_area(schedule, input, output, 1024); };
  const Named algorithms[] = {
      {"recursive doubling", &allreduce_recursive_doubling, true},
      {"halving", &allreduce_halving, false},
      {"linear", &allreduce_linear, false},
      {"area", &allreduce_on_area, true},
      {"area, in shares", &allreduce_in_shares_on_area, true},
      {"area, in pieces", in_pieces, true},
  };
  for (const Named& each : algorithms) {
    SCOPED_TRACE(each.name);
    check_simulated(each.algorithm, each.ordered);
  }
}

// A chunk is reduced in the order in which the ring passes it on, which of two ranks may be either.
TEST(SameBits, Ring) {
  for (const std::uint64_t segment : {std::uint64_t{1}, kWholeChunks}) {
    for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
      for (const Operation& operation : kOperations) {
        Simulation job(ranks);
        std::vector<Bytes> out;
        constexpr std::uint64_t kCount = 40;
        for (int rank = 0; rank < ranks; ++rank) out.push_back(operand(operation, rank, kCount));
        for (int rank = 0; rank < ranks; ++rank) {
          const Block both = block(out[static_cast<std::size_t>(rank)].data(), kCount, datatype::resolve(operation.type));
          job[rank].set_op(*datatype::resolve_op(operation.op));
          allreduce_ring(job[rank], both, both, segment);
        }
        ASSERT_TRUE(job.run(1));
        for (const Bytes& each : out) ASSERT_EQ(each, out[0]) << operation.text() << ", " << ranks << " ranks";
      }
    }
  }
}

// ---- requests

class SameBitsOfRequests : public testing::Test {
 protected:
  // What each rank gets of a collective.
  static std::vector<Bytes> results(With with, Collective what, const Operation& operation, int ranks, std::uint64_t count, bool in_place, int root = 0) {
    Job job(static_cast<std::uint32_t>(ranks), 1, with);
    std::vector<Bytes> in, out;
    std::vector<request::Request*> requests;
    for (int rank = 0; rank < ranks; ++rank) in.push_back(operand(operation, rank, count));
    out = in;
    Call call;
    call.what = what;
    call.root = root;
    call.op = datatype::resolve_op(operation.op);
    for (Side* side : {&call.send, &call.receive}) {
      side->count = call.what == Collective::kReduceScatterBlock ? count / static_cast<std::uint64_t>(ranks) : count;
      side->type = operation.type;
    }
    for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(ranks); ++rank) {
      const bool gets_it = call.what != Collective::kReduce || rank == static_cast<std::uint32_t>(root);
      call.send.buffer = in_place && gets_it ? MPI_IN_PLACE : in[rank].data();
      call.receive.buffer = out[rank].data();
      requests.push_back(job.start(rank, call));
    }
    job.run();
    for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(ranks); ++rank) EXPECT_TRUE(job.take(rank, requests[rank]).ok());
    return out;
  }
  // One length for each algorithm.
  static void for_all(std::uint64_t longest, const std::function<void(const Operation&, std::uint64_t count, bool in_place)>& check) {
    for (const Operation& operation : kOperations) {
      for (const std::uint64_t count : {2u, 14u, 1000u, 8000u, 30'000u, 100'000u}) {
        if (count > longest) break;
        for (const bool in_place : {false, true}) {
          SCOPED_TRACE(operation.text() + ", " + std::to_string(count) + " elements" + (in_place ? ", in place" : ""));
          check(operation, count, in_place);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
};

TEST_F(SameBitsOfRequests, Allreduce) {
  for_all(100'000, [&](const Operation& operation, std::uint64_t count, bool in_place) {
    for (int ranks = 2; ranks <= kMaxRanks; ++ranks) {
      for (const With with : {With::kMessages, With::kSharedAreas}) {
        const std::vector<Bytes> out = results(with, Collective::kAllreduce, operation, ranks, count, in_place);
        for (const Bytes& each : out) EXPECT_TRUE(each == out[0]) << ranks << " ranks";
      }
    }
  });
}

TEST_F(SameBitsOfRequests, TwoRanksCombineInTheirOrderOnAnArea) {
  for_all(8000, [&](const Operation& operation, std::uint64_t count, bool in_place) {  // longer ones go as messages
    const Bytes expected = in_order(operation, count);
    EXPECT_TRUE(results(With::kSharedAreas, Collective::kAllreduce, operation, 2, count, in_place)[0] == expected);
    EXPECT_TRUE(results(With::kSharedAreas, Collective::kScan, operation, 2, count, in_place)[1] == expected);
    for (const int root : {0, 1})
      EXPECT_TRUE(results(With::kSharedAreas, Collective::kReduce, operation, 2, count, in_place, root)[static_cast<std::size_t>(root)] == expected) << root;
    const std::vector<Bytes> parts = results(With::kSharedAreas, Collective::kReduceScatterBlock, operation, 2, count, in_place);
    const auto half = static_cast<std::ptrdiff_t>(expected.size() / 2);
    EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + half, parts[0].begin()));
    EXPECT_TRUE(std::equal(expected.begin() + half, expected.end(), parts[1].begin()));
  });
}

}  // namespace
}  // namespace lapwing::coll
