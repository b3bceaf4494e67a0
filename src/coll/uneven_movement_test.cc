// Blocks of different lengths on an area: some empty, some too long for it.
#include <gtest/gtest.h>

#include <vector>

#include "coll/movement_for_tests.h"

namespace lapwing::coll {
namespace {

constexpr std::uint64_t kLongest = 24;  // bytes, so that blocks of 6 ints still go by the area

// Every pair has its own length.
struct Pairs {
  explicit Pairs(int ranks, std::uint64_t count) : ranks(ranks), count(count) {}
  std::uint64_t of(int from, int to) const {
    return (static_cast<std::uint64_t>(from) * 5 + static_cast<std::uint64_t>(to) * 3) % (count + 4);
  }
  // The blocks that `rank` sends, or receives, one after the other.
  Blocks blocks(std::vector<int>& memory, int rank, bool sends) const {
    Blocks made;
    std::uint64_t at = 0;
    for (int other = 0; other < ranks; ++other) {
      const std::uint64_t length = sends ? of(rank, other) : of(other, rank);
      made.push_back(block(memory.data() + at, length, int_type()));
      at += length;
    }
    return made;
  }
  std::vector<int> memory() const { return std::vector<int>(static_cast<std::size_t>(ranks) * (count + 4), -7); }
  static int& at(const Block& block, std::uint64_t i) { return static_cast<int*>(block.address)[i]; }
  int ranks;
  std::uint64_t count;
};

void fill_block(const Block& to_fill, int from, int to) {
  for (std::uint64_t i = 0; i < to_fill.count; ++i) Pairs::at(to_fill, i) = value(from, to, i);
}
void expect_block(const Block& received, int from, int to) {
  for (std::uint64_t i = 0; i < received.count; ++i) ASSERT_EQ(Pairs::at(received, i), value(from, to, i));
}

// Whether ranks may leave blocks in place; and then whether all do.
enum class How { kPosted, kMixed, kInPlace };
constexpr How kHows[] = {How::kPosted, How::kMixed, How::kInPlace};

UnevenRules rules(How how, int rank) {
  UnevenRules uneven;
  uneven.rules.longest = kLongest;
  if (how != How::kPosted) uneven.least_place = 2 * sizeof(int);
  if (how == How::kInPlace || (how == How::kMixed && rank % 2 == 0)) uneven.rules.least_place = uneven.least_place;
  return uneven;
}

void check_uneven_alltoall(How how, std::uint32_t rounds) {
  for_all_cases([how, rounds](int ranks, std::uint64_t count, unsigned seed) {
    const Pairs pairs(ranks, count);
    std::vector<std::vector<int>> out(static_cast<std::size_t>(ranks), pairs.memory()), in = out;
    Simulation job(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const Blocks sent = pairs.blocks(out[r], rank, true);
      for (int to = 0; to < ranks; ++to) fill_block(sent[static_cast<std::size_t>(to)], rank, to);
      UnevenRules uneven = rules(how, rank);
      uneven.rounds = rounds;
      alltoallv_on_area(job[rank], sent, pairs.blocks(in[r], rank, false), uneven);
    }
    ASSERT_TRUE(job.run(seed));
    for (int rank = 0; rank < ranks; ++rank) {
      const Blocks received = pairs.blocks(in[static_cast<std::size_t>(rank)], rank, false);
      for (int from = 0; from < ranks; ++from) expect_block(received[static_cast<std::size_t>(from)], from, rank);
    }
  });
}
TEST(Alltoall, UnevenOnArea) {
  for (const How how : kHows) {
    for (const std::uint32_t rounds : {0, 1, 2, 3, 40}) check_uneven_alltoall(how, rounds);
  }
}

// A block that is no run of bytes goes as a message where it is sent, and may come in pieces.
TEST(Alltoall, UnevenOnAreaInRoundsOfWhatIsNoRunOfBytes) {
  constexpr int kRanks = 4;
  const std::uint64_t counts[] = {0, 3, 6, 9, 12, 15, 18, 21, 42};
  for (const std::uint64_t count : counts) {
    for (const bool sends_sparse : {false, true}) {
      std::vector<Memory> out, in;
      Simulation job(kRanks);
      for (int rank = 0; rank < kRanks; ++rank) {
        out.emplace_back(kRanks, count, sends_sparse);
        in.emplace_back(kRanks, count, rank % 2 == 0);
        for (int to = 0; to < kRanks; ++to) {
          for (std::uint64_t i = 0; i < count; ++i) out.back()(to, i) = value(rank, to, i);
        }
      }
      for (int rank = 0; rank < kRanks; ++rank) {
        UnevenRules uneven = rules(How::kPosted, rank);
        uneven.rounds = 3;
        alltoallv_on_area(job[rank], out[static_cast<std::size_t>(rank)].all(kRanks), in[static_cast<std::size_t>(rank)].all(kRanks), uneven);
      }
      ASSERT_TRUE(job.run(1));
      for (int to = 0; to < kRanks; ++to) {
        for (int from = 0; from < kRanks; ++from) {
          for (std::uint64_t i = 0; i < count; ++i)
            ASSERT_EQ(in[static_cast<std::size_t>(to)](from, i), value(from, to, i)) << count << ", " << from << " to " << to;
        }
      }
    }
  }
}

// Root's blocks, and each rank's own; what is scattered goes from the root, what is gathered to it.
template <typename Algorithm>
void check_uneven(bool scatters, bool in_place, Algorithm algorithm) {
  for_all_cases([&](int ranks, std::uint64_t count, unsigned seed) {
    const Pairs pairs(ranks, count);
    const int root = ranks / 2;
    std::vector<int> at_root = pairs.memory();
    std::vector<std::vector<int>> own(static_cast<std::size_t>(ranks), pairs.memory());
    const Blocks all = pairs.blocks(at_root, root, true);
    Simulation job(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      Block mine = pairs.blocks(own[static_cast<std::size_t>(rank)], rank, false)[0];
      mine.count = pairs.of(root, rank);
      fill_block(scatters ? all[static_cast<std::size_t>(rank)] : mine, root, rank);
      if (in_place && rank == root) {
        fill_block(all[static_cast<std::size_t>(rank)], root, rank);
        mine = {};
      }
      algorithm(job[rank], rank == root ? all : Blocks{}, mine, root);
    }
    ASSERT_TRUE(job.run(seed));
    for (int rank = 0; rank < ranks; ++rank) {
      Block mine = pairs.blocks(own[static_cast<std::size_t>(rank)], rank, false)[0];
      mine.count = pairs.of(root, rank);
      expect_block(all[static_cast<std::size_t>(rank)], root, rank);
      if (!in_place || rank != root) expect_block(mine, root, rank);
    }
  });
}
TEST(Scatter, UnevenOnArea) {
  for (const How how : kHows) {
    for (const bool in_place : {false, true}) {
      check_uneven(true, in_place, [how](Schedule& schedule, const Blocks& all, const Block& mine, int root) {
        scatterv_on_area(schedule, all, mine, root, rules(how, schedule.rank()));
      });
    }
  }
}
TEST(Gather, UnevenOnArea) {
  for (const How how : kHows) {
    for (const bool in_place : {false, true}) {
      check_uneven(false, in_place, [how](Schedule& schedule, const Blocks& all, const Block& mine, int root) {
        gatherv_on_area(schedule, mine, all, root, rules(how, schedule.rank()));
      });
    }
  }
}

}  // namespace
}  // namespace lapwing::coll
