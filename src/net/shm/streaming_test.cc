#include "net/shm/streaming.h"

#include <gtest/gtest.h>

namespace lapwing::net::shm {
namespace {

constexpr std::uint64_t kShortest = PathSelection::kSmallestClass;

class StreamingTest : public testing::Test {
 protected:
  unsigned timed(unsigned frames, std::uint64_t payload = kShortest, bool streamed = false) {
    unsigned count = 0;
    for (unsigned i = 0; i < frames; ++i) count += streaming_.times(payload, streamed) ? 1 : 0;
    return count;
  }
  Streaming streaming_;
};

TEST_F(StreamingTest, FramesThatNoPathIsChosenForAreNotTimed) {
  EXPECT_EQ(timed(100, kShortest - 1), 0u);
}

TEST_F(StreamingTest, OfFramesThroughTheCachesAllAreTimedAtFirstAndLaterAQuarter) {
  if (!kCanStream) GTEST_SKIP() << "this processor has no stores past the caches";
  EXPECT_EQ(timed(Streaming::kAtFirst), Streaming::kAtFirst);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(timed(Streaming::kRound / 4), Streaming::kRound / 4) << "in a row";
    EXPECT_EQ(timed(Streaming::kRound * 3 / 4), 0u);
  }
}

TEST_F(StreamingTest, LongOnesAndThosePastTheCachesAreAlwaysTimed) {
  if (!kCanStream) GTEST_SKIP() << "this processor has no stores past the caches";
  timed(Streaming::kAtFirst + Streaming::kRound / 2);
  EXPECT_EQ(timed(100, Streaming::kLong), 100u);
  EXPECT_EQ(timed(100, kShortest, true), 100u);
  EXPECT_EQ(timed(Streaming::kRound / 2), 0u) << "they do not count as rounds";
}

}  // namespace
}  // namespace lapwing::net::shm
