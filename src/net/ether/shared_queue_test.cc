#include "net/ether/shared_queue.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <thread>
#include <vector>

namespace lapwing::net::ether {
namespace {

// In memory that a forked child shares.
class SharedQueueTest : public testing::Test {
 protected:
  SharedQueueTest() : memory_(mmap(nullptr, kSharedQueueBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    queue().create(true);
  }
  ~SharedQueueTest() { munmap(memory_, kSharedQueueBytes); }
  SharedQueue& queue() { return *static_cast<SharedQueue*>(memory_); }

  std::vector<std::uint32_t> take_left(std::uint32_t first, std::uint32_t count) {
    std::vector<std::uint32_t> chunks;
    const SharedQueue::Turn turn(queue());
    EXPECT_TRUE(turn.taken());
    queue().take_left(first, count, chunks);
    return chunks;
  }

 private:
  void* const memory_;
};

TEST_F(SharedQueueTest, RanksJoinInTheirOrderUntilItIsFull) {
  EXPECT_EQ(queue().joined(), 1u);
  EXPECT_TRUE(queue().in_pieces());
  for (std::uint32_t place = 1; place < SharedQueue::kMostRanks; ++place) {
    EXPECT_FALSE(queue().join(place + 1));
    ASSERT_TRUE(queue().join(place));
    EXPECT_FALSE(queue().join(place));
  }
  EXPECT_FALSE(queue().join(SharedQueue::kMostRanks));
  EXPECT_EQ(queue().close(), SharedQueue::kMostRanks);
}

TEST_F(SharedQueueTest, NoneJoinsOneThatIsClosed) {
  ASSERT_TRUE(queue().join(1));
  EXPECT_EQ(queue().close(), 2u);
  EXPECT_FALSE(queue().join(2));
  EXPECT_EQ(queue().close(), 2u);
}

TEST_F(SharedQueueTest, PartsOfTheChunksDoNotOverlap) {
  for (std::uint32_t ranks = 1; ranks <= SharedQueue::kMostRanks; ++ranks) {
    EXPECT_EQ(send_chunks_of_each(ranks) % 64, 0u);
    EXPECT_LE(ranks * send_chunks_of_each(ranks), kSendChunks);
  }
}

TEST_F(SharedQueueTest, ChunksThatHaveLeftAreToldToTheirRankOnce) {
  const std::uint32_t each = send_chunks_of_each(2);
  {
    const SharedQueue::Turn turn(queue());
    for (const std::uint32_t chunk : {0u, 63u, 64u, each - 1, each, each + 5}) queue().note_left(chunk);
  }
  EXPECT_EQ(take_left(0, each), (std::vector<std::uint32_t>{0, 63, 64, each - 1}));
  EXPECT_EQ(take_left(0, each), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(take_left(each, each), (std::vector<std::uint32_t>{each, each + 5}));
}

TEST_F(SharedQueueTest, OneTurnAtATime) {
  std::optional<SharedQueue::Turn> turn(queue());
  ASSERT_TRUE(turn->taken());
  std::thread([&] { EXPECT_FALSE(SharedQueue::Turn(queue()).taken()); }).join();
  turn.reset();
  std::thread([&] { EXPECT_TRUE(SharedQueue::Turn(queue()).taken()); }).join();
}

// Threads stand for ranks: each notes chunks for all, and what is told to a rank is its own, and no more than was noted.
TEST_F(SharedQueueTest, ManyRanksTakeTurns) {
  constexpr std::uint32_t kRanks = 4, kRounds = 500;
  const std::uint32_t each = send_chunks_of_each(kRanks);
  std::vector<std::thread> ranks;
  std::vector<std::uint32_t> heard(kRanks, 0);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto in_turn = [&](auto&& work) {
        for (;;) {
          const SharedQueue::Turn turn(queue());
          if (!turn.taken()) continue;
          return work();
        }
      };
      std::vector<std::uint32_t> own;
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        in_turn([&] {
          const std::uint32_t other = (rank + round) % kRanks;
          queue().note_left(other * each + round % each);
        });
        in_turn([&] { queue().take_left(rank * each, each, own); });
      }
      for (const std::uint32_t chunk : own) EXPECT_EQ(chunk / each, rank);
      heard[rank] = static_cast<std::uint32_t>(own.size());
    });
  }
  for (std::thread& rank : ranks) rank.join();
  std::size_t told = 0;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) told += heard[rank] + take_left(rank * each, each).size();
  EXPECT_GT(told, 0u);
  EXPECT_LE(told, std::size_t{kRanks} * kRounds);  // one that was noted twice before it was taken is told once
}

TEST_F(SharedQueueTest, TheTurnOfARankThatIsKilledPassesOn) {
  const pid_t child = fork();
  if (child == 0) {
    const SharedQueue::Turn turn(queue());
    queue().note_left(7);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(take_left(0, kSendChunks), (std::vector<std::uint32_t>{7}));
  EXPECT_TRUE(queue().join(1));
}

}  // namespace
}  // namespace lapwing::net::ether
