#include "net/tcp/drain_meter.h"

#include <gtest/gtest.h>

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

// A connection that takes so many bytes a millisecond, and is never without.
void run(DrainMeter& meter, std::int64_t& now, std::uint64_t& backlog, std::uint64_t per_millisecond, int milliseconds) {
  for (int i = 0; i < milliseconds; ++i) {
    meter.look(now, backlog);
    const std::uint64_t fresh = 2 * per_millisecond + 500'000 - std::min<std::uint64_t>(backlog, 500'000);
    meter.give(fresh);
    now += kMillisecond;
    backlog += fresh - per_millisecond;
  }
  meter.look(now, backlog);
}

TEST(DrainMeter, FindsTheRate) {
  DrainMeter meter;
  std::int64_t now = 5;
  std::uint64_t backlog = 0;
  meter.begin(now);
  run(meter, now, backlog, 125'000, 5);
  EXPECT_EQ(meter.rate(), 0) << "too early to say";
  run(meter, now, backlog, 125'000, 100);
  EXPECT_NEAR(meter.rate(), 125e6, 1e6);
}

TEST(DrainMeter, OneThatStallsGetsHardlyAnything) {
  DrainMeter meter;
  std::int64_t now = 0;
  std::uint64_t backlog = 0;
  meter.begin(now);
  run(meter, now, backlog, 125'000, 50);
  run(meter, now, backlog, 0, 1000);
  EXPECT_LT(meter.rate(), 1);
  EXPECT_GT(meter.rate(), 0);
}

// What is not asked for says nothing about the connection.
TEST(DrainMeter, IdlenessIsNotSlowness) {
  DrainMeter meter;
  std::int64_t now = 0;
  std::uint64_t backlog = 0;
  meter.begin(now);
  run(meter, now, backlog, 125'000, 50);
  const double before = meter.rate();
  for (int i = 0; i < 100; ++i) {
    meter.look(now, 0);
    meter.give(1000);
    now += 100 * kMillisecond;
    meter.look(now, 0);
  }
  EXPECT_EQ(meter.rate(), before);
}

TEST(DrainMeter, OneThatHasRecoveredGetsAnotherChance) {
  DrainMeter meter;
  std::int64_t now = 0;
  std::uint64_t backlog = 0;
  meter.begin(now);
  run(meter, now, backlog, 0, 500);
  meter.look(now, 0);
  now += 500 * kMillisecond;
  meter.look(now, 0);
  EXPECT_GT(meter.rate(), 0);
  now += 501 * kMillisecond;
  meter.look(now, 0);
  EXPECT_EQ(meter.rate(), 0) << "not known any more";
}

}  // namespace
}  // namespace lapwing::net::tcp
