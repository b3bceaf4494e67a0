#include "net/ether/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lapwing::net::ether {
namespace {

using Order = Liveness::Order;

constexpr std::int64_t kSecond = 1'000'000'000, kPatience = 60 * kSecond;

// Asked whenever it wants to be called, until it says something else than to ask.
Order ask_all_the_time(Liveness& liveness, std::int64_t& now) {
  for (;;) {
    now = std::max(now, liveness.deadline(true));
    const Order order = liveness.judge(now, true);
    if (order != Order::kAsk) return order;
  }
}

TEST(Liveness, OneThatIsAskedAllTheTimeInVainIsGone) {
  Liveness liveness(kPatience, Liveness::kPause);
  std::int64_t now = kSecond;
  EXPECT_EQ(ask_all_the_time(liveness, now), Order::kGone);
  EXPECT_EQ(now, kSecond + kPatience);
}

TEST(Liveness, AnAnswerBeginsAnew) {
  Liveness liveness(kPatience, Liveness::kPause);
  EXPECT_EQ(liveness.judge(kSecond, true), Order::kAsk);
  liveness.heard();
  std::int64_t now = kPatience;
  EXPECT_EQ(ask_all_the_time(liveness, now), Order::kGone);
  EXPECT_EQ(now, 2 * kPatience);
}

// A process that computes without progress asks once, and looks again after more than the peer's patience.
TEST(Liveness, OneQuestionInVainIsNotEnough) {
  Liveness liveness(kPatience, Liveness::kPause);
  EXPECT_EQ(liveness.judge(kSecond, true), Order::kAsk);
  std::int64_t now = 2 * kPatience;
  EXPECT_EQ(liveness.judge(now, true), Order::kAsk);
  EXPECT_EQ(ask_all_the_time(liveness, now), Order::kGone);
  EXPECT_EQ(now, 3 * kPatience);
}

// With the shortest patience as well, of which a pause is a quarter.
TEST(Liveness, PausesFitIntoAnyPatience) {
  for (const std::int64_t patience : {kSecond / 1000, kSecond / 10, kSecond}) {
    Liveness liveness(patience, Liveness::kPause);
    std::int64_t now = kSecond;
    EXPECT_EQ(ask_all_the_time(liveness, now), Order::kGone);
    EXPECT_EQ(now, kSecond + patience);
  }
}

}  // namespace
}  // namespace lapwing::net::ether
