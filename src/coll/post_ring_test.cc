#include "coll/post_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lapwing::coll {
namespace {

TEST(PostRing, APosterAheadHasRoomForTheWholeRing) {
  PostRing ring;
  constexpr std::uint64_t kPosts = 32, kEach = PostRing::kBytes / kPosts;
  for (std::uint64_t round = 0; round < kPosts; ++round) {
    EXPECT_EQ(ring.needed(kEach, 0), PostRing::kNone);
    EXPECT_EQ(ring.take(round, kEach, 0), round * kEach);
  }
  EXPECT_EQ(ring.needed(kEach, 0), 1) << "until the first is over";
  EXPECT_EQ(ring.needed(3 * kEach, 0), 3);
}

TEST(PostRing, PostsThatAreOverAreWrittenOverFirst) {
  PostRing ring;
  EXPECT_EQ(ring.take(0, 1000, 0), 0u);
  EXPECT_EQ(ring.take(1, 1000, 1), 1024u) << "the one before may still be read";
  EXPECT_EQ(ring.needed(1000, 2), 1) << "which all have posted";
  EXPECT_EQ(ring.take(2, 1000, 2), 0u);
  EXPECT_EQ(ring.take(3, 1000, 3), 1024u);
}

TEST(PostRing, WholeLapsLeaveTheFrontAlone) {
  PostRing ring;
  ring.go_whole_laps(true);
  constexpr std::uint64_t kPosts = 32, kEach = PostRing::kBytes / kPosts;
  for (std::uint64_t round = 0; round < 2 * kPosts; ++round) EXPECT_EQ(ring.take(round, kEach, round), round % kPosts * kEach);
  EXPECT_EQ(ring.take(2 * kPosts, kEach, 2 * kPosts), 0u);
  EXPECT_EQ(ring.needed(PostRing::kLong - 1, 2 * kPosts + 2), 2 * kPosts + 1) << "a short one returns as soon as it may";
  ring.go_whole_laps(false);
  EXPECT_EQ(ring.take(2 * kPosts + 1, kEach, 2 * kPosts + 1), kEach);
  EXPECT_EQ(ring.take(2 * kPosts + 2, kEach, 2 * kPosts + 2), 0u);
}

TEST(PostRing, ALapAmongManyRanksIsShorter) {
  EXPECT_EQ(PostRing::lap(2), PostRing::kBytes);
  EXPECT_EQ(PostRing::lap(4), PostRing::kBytes / 2);
  EXPECT_EQ(PostRing::lap(100), 2 * PostRing::kPiece);
  constexpr std::uint64_t kEach = 64 * 1024, kPosts = 16;
  PostRing ring(PostRing::lap(4));
  ring.go_whole_laps(true);
  for (std::uint64_t round = 0; round < 2 * kPosts; ++round) EXPECT_EQ(ring.take(round, kEach, round), round % kPosts * kEach);
  PostRing ahead(PostRing::lap(4));
  ahead.go_whole_laps(true);
  for (std::uint64_t round = 0; round < 2 * kPosts; ++round) EXPECT_EQ(ahead.take(round, kEach, 0), round * kEach) << "the front may still be read";
}

TEST(PostRing, NoPostReachesBeyondTheEnd) {
  PostRing ring;
  constexpr std::uint64_t kPosts = PostRing::kBytes / PostRing::kLongest, kEach = PostRing::kLongest - 128;
  constexpr std::uint64_t kRoom = PostRing::kBytes - kPosts * kEach;
  for (std::uint64_t round = 0; round < kPosts; ++round) EXPECT_EQ(ring.take(round, kEach, 0), round * kEach);
  EXPECT_EQ(ring.needed(kRoom, 0), PostRing::kNone) << "there is just room for it";
  EXPECT_EQ(ring.needed(kRoom + 1, 0), 1);
  EXPECT_EQ(ring.take(kPosts, kRoom + 1, 2), 0u);
}

// At random: no post that may still be read is written over, and what a rank waits for is always a round that others reach without it.
TEST(PostRing, NothingIsWrittenOverThatMayBeRead) {
  struct Post {
    std::uint64_t round, begin, end;
  };
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::minstd_rand random(seed + 1);
    PostRing ring(PostRing::lap(2 + static_cast<int>(seed) % 7));
    std::vector<Post> posts;
    std::uint64_t complete = 0;
    for (std::uint64_t round = 0; round < 2000; ++round) {
      complete = std::max(complete, round < 60 ? 0 : round - 60);
      if (random() % 4 == 0) complete = std::min<std::uint64_t>(round, complete + random() % 70);
      const std::uint64_t bytes = 1 + random() % (random() % 5 == 0 ? PostRing::kLongest : 9000);
      const std::int64_t needed = ring.needed(bytes, complete);
      ASSERT_LT(needed, static_cast<std::int64_t>(round));
      if (needed != PostRing::kNone) complete = std::max(complete, static_cast<std::uint64_t>(needed) + 1);
      const std::uint64_t begin = ring.take(round, bytes, complete);
      if (random() % 50 == 0) ring.go_whole_laps(random() % 2 == 0);
      ASSERT_LE(begin + bytes, PostRing::kBytes);
      for (const Post& post : posts) {
        const bool over = post.round + 1 < complete;
        ASSERT_TRUE(over || post.end <= begin || begin + bytes <= post.begin) << post.round << " in round " << round;
      }
      posts.push_back({round, begin, begin + bytes});
      if (posts.size() > PostRing::kRounds) posts.erase(posts.begin());
    }
  }
}

}  // namespace
}  // namespace lapwing::coll
