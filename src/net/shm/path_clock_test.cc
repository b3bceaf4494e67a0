// What the clock of paths says of messages that follow each other, overlap, or change their path; times are given, none passes.
#include "net/shm/path_clock.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"

namespace lapwing::net::shm {
namespace {

constexpr std::uint64_t kSize = 100'000;

class PathClockTest : public testing::Test {
 protected:
  void end(Path path, std::int64_t began, std::uint64_t unseen = 0) {
    const std::int64_t now = manual_.now();
    const PathClock::Window window = clock_.ended({path, kSize, unseen, began, now}, last_end_);
    last_end_ = now;
    if (window.messages != 0) windows_.push_back(window);
  }
  // One message after the other, with a pause between them.
  void one_by_one(Path path, int messages, std::int64_t ns, std::uint64_t unseen = 0) {
    for (int i = 0; i < messages; ++i) {
      manual_.advance(700'000);
      const std::int64_t began = manual_.now();
      manual_.advance(ns);
      end(path, began, unseen);
    }
  }
  // All begin at once, and most end at the end.
  void burst(Path path, std::int64_t ns) {
    manual_.advance(700'000);
    const std::int64_t began = manual_.now();
    manual_.advance(ns * 8 - 7 * 10);
    for (int i = 0; i < 8; ++i, manual_.advance(i < 8 ? 10 : 0)) end(path, began);
  }
  double last_ns() const { return windows_.back().ns_per_byte * kSize; }
  int warm() const {
    int count = 0;
    for (const PathClock::Window& window : windows_) count += window.cold ? 0 : 1;
    return count;
  }

  ManualClock manual_;
  PathClock clock_;
  std::int64_t last_end_ = 0;
  std::vector<PathClock::Window> windows_;
};

TEST_F(PathClockTest, PausesAreNotCounted) {
  one_by_one(Path::kPull, 41, 10'000);
  ASSERT_EQ(windows_.size(), 40 / tuning().shm_window);
  EXPECT_EQ(windows_.back().path, Path::kPull);
  EXPECT_EQ(windows_.back().messages, tuning().shm_window);
  EXPECT_NEAR(last_ns(), 10'000, 1);
}

TEST_F(PathClockTest, ABurstTakesAsLongAsAllOfItsMessages) {
  for (int i = 0; i < 10; ++i) burst(Path::kRing, 10'000);
  ASSERT_EQ(windows_.size(), 9u);
  for (const PathClock::Window& window : windows_) {
    EXPECT_EQ(window.messages, 8u);
    EXPECT_NEAR(window.ns_per_byte * kSize, 10'000, 10);
  }
}

TEST_F(PathClockTest, MessagesThatNeverStopAreTimedToo) {
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t began = manual_.now() - 5'000;
    manual_.advance(10'000);
    end(Path::kRing, began);
  }
  ASSERT_GE(windows_.size(), 50u);
  EXPECT_NEAR(last_ns(), 10'000, 100);
}

TEST_F(PathClockTest, WhatHadComeBeforeIsNotTimed) {
  one_by_one(Path::kRing, 40, 9'000, kSize / 10);
  EXPECT_NEAR(last_ns(), 10'000, 1);
}

// What comes of a message while another one is under way is copied in that time.
TEST_F(PathClockTest, WhatHasComeMeanwhileIsTimed) {
  for (int i = 0; i < 10; ++i) {
    one_by_one(Path::kRing, 1, 10'000, kSize / 2);
    const std::int64_t began = manual_.now() - 1'000;
    manual_.advance(5'000);
    end(Path::kRing, began, kSize / 2);
  }
  EXPECT_NEAR(last_ns(), 10'000, 1);
}

TEST_F(PathClockTest, WhereRanksShareCoresCopyingAloneCounts) {
  for (int i = 0; i < 100; ++i) {
    const std::int64_t began = manual_.now();
    manual_.advance(i % 2 == 0 ? 10'000 : 5'000'000);  // others have had the core meanwhile
    const PathClock::Window window = clock_.ended({.path = Path::kRing, .bytes = kSize, .unseen = 0, .began = began, .ended = manual_.now(), .copying = 7'000}, last_end_);
    last_end_ = manual_.now();
    if (window.messages != 0) windows_.push_back(window);
  }
  ASSERT_FALSE(windows_.empty());
  for (const PathClock::Window& window : windows_) EXPECT_NEAR(window.ns_per_byte * kSize, 7'000, 1);
}

TEST_F(PathClockTest, TheFirstWindowsAfterAnotherPathAreCold) {
  one_by_one(Path::kRing, 100, 10'000);
  windows_.clear();
  const int cold = static_cast<int>(tuning().shm_cold_windows * tuning().shm_window);
  one_by_one(Path::kPull, cold, 90'000);
  EXPECT_EQ(warm(), 1);  // of the ring
  EXPECT_EQ(windows_.front().path, Path::kRing);
  one_by_one(Path::kPull, 5, 20'000);
  EXPECT_EQ(warm(), 2);
  EXPECT_EQ(windows_.back().path, Path::kPull);
  EXPECT_NEAR(last_ns(), 20'000, 1);
}

TEST_F(PathClockTest, AWindowHasOnePath) {
  for (int i = 0; i < 100; ++i) {
    one_by_one(Path::kRing, 3, 10'000);
    one_by_one(Path::kPull, 1, 20'000);
  }
  EXPECT_TRUE(windows_.empty());
}

}  // namespace
}  // namespace lapwing::net::shm
