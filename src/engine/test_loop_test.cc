#include "engine/test_loop.h"

#include <gtest/gtest.h>

namespace lapwing::engine {
namespace {

// When the clock is looked at, tests that follow each other after `pause` have lasted for so long.
std::int64_t lasts_after(TestLoop& loop, unsigned tests, std::int64_t pause, std::int64_t& now, bool contended) {
  std::int64_t lasts = 0;
  for (unsigned i = 0; i < tests; ++i, now += pause)
    if (loop.counts(contended)) lasts = loop.lasts(now);
  return lasts;
}

TEST(TestLoop, LooksAtTheClockOnceInSoManyTests) {
  TestLoop loop;
  const unsigned per_look = tuning().engine_tests_per_clock;
  for (unsigned i = 1; i < per_look; ++i) EXPECT_FALSE(loop.counts(false));
  EXPECT_TRUE(loop.counts(false));
  EXPECT_EQ(loop.lasts(1), 0) << "it begins";
  EXPECT_EQ(loop.counts(false), per_look == 1);
  EXPECT_TRUE(loop.counts(true)) << "others want the cores";
}

TEST(TestLoop, LastsWhileTestsFollowEachOther) {
  for (const bool contended : {false, true}) {
    TestLoop loop;
    std::int64_t now = 1'000'000;
    const unsigned tests = 4 * tuning().engine_tests_per_clock;
    EXPECT_GT(lasts_after(loop, tests, tuning().engine_test_pause / 2, now, contended), tuning().engine_test_pause);
  }
}

TEST(TestLoop, EndsWhereTheProgramComputes) {
  for (const bool contended : {false, true}) {
    TestLoop loop;
    std::int64_t now = 1'000'000;
    const unsigned tests = 4 * tuning().engine_tests_per_clock;
    EXPECT_EQ(lasts_after(loop, tests, tuning().engine_test_pause + 1, now, contended), 0);
    EXPECT_GT(lasts_after(loop, tests, 1, now, contended), 0);
    now += 100 * tuning().engine_tests_per_clock * tuning().engine_test_pause;
    EXPECT_EQ(lasts_after(loop, tuning().engine_tests_per_clock, 1, now, contended), contended ? tuning().engine_tests_per_clock - 1 : 0);
  }
}

TEST(TestLoop, EndsWhereSomethingMoves) {
  TestLoop loop;
  std::int64_t now = 1'000'000;
  EXPECT_GT(lasts_after(loop, 3, 1, now, true), 0);
  loop.ends();
  EXPECT_EQ(lasts_after(loop, 1, 1, now, true), 0);
  EXPECT_GT(lasts_after(loop, 1, 1, now, true), 0);
}

}  // namespace
}  // namespace lapwing::engine
