#include "net/reliable/round_trip.h"

#include <gtest/gtest.h>

namespace lapwing::net::reliable {
namespace {

constexpr std::int64_t kUs = 1'000, kMs = 1'000'000, kS = 1'000'000'000;

TEST(RoundTrip, TheFirstSampleCounts) {
  RoundTrip round_trip;
  EXPECT_FALSE(round_trip.known());
  round_trip.sample(40 * kUs, 0);
  EXPECT_EQ(round_trip.smoothed(), 40 * kUs);
  EXPECT_EQ(round_trip.shortest(), 40 * kUs);
  EXPECT_EQ(round_trip.timeout(), RoundTrip::kLeastTimeout);
}

// The peer had one packet, and every answer was lost for ten seconds.
TEST(RoundTrip, AnOutageIsForgotten) {
  RoundTrip round_trip;
  std::int64_t now = kS;
  for (int i = 0; i < 20; ++i) round_trip.sample(40 * kUs, now += 40 * kUs);
  round_trip.sample(10 * kS, now += 10 * kS);
  EXPECT_LE(round_trip.timeout(), 5 * kMs);
  EXPECT_LE(round_trip.reordering(), 5 * kMs);
  for (int i = 0; i < 20; ++i) round_trip.sample(40 * kUs, now += 40 * kUs);
  EXPECT_LT(round_trip.smoothed(), 100 * kUs);
}

TEST(RoundTrip, AWayThatBecomesSlowerIsLearned) {
  RoundTrip round_trip;
  std::int64_t now = kS;
  for (int i = 0; i < 20; ++i) round_trip.sample(40 * kUs, now += 40 * kUs);
  for (int i = 0; i < 8; ++i) round_trip.sample(100 * kMs, now += 100 * kMs);
  EXPECT_GT(round_trip.timeout(), 100 * kMs);
}

}  // namespace
}  // namespace lapwing::net::reliable
