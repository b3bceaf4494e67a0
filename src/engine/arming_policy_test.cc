// The policy with a clock of its own. That no wake-up is lost whatever happens is for the model checker (test/model/engine_test.cc).
#include "engine/arming_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.h"

namespace lapwing::engine {
namespace {

using Order = ArmingPolicy::Order;
using SinceTimer = ArmingPolicy::SinceTimer;

class Arming : public ::testing::Test {
 protected:
  static constexpr bool kInFlight = true, kTurnWanted = true, kWork = true, kDriven = true, kHelped = true;

  Arming() { policy.begin(true); }

  Order leave(bool in_flight) {
    left_in_flight = in_flight;
    return policy.leave(in_flight, !kTurnWanted, clock.now());
  }
  // The timer fires; what the event thread is told to do.
  Order fire(bool in_flight, SinceTimer since, bool driven = !kDriven) {
    policy.heard_timer(driven);
    return policy.woken(!kWork, driven, in_flight, !kTurnWanted, since);
  }
  Order drove(bool in_flight, SinceTimer since) {
    since.left_in_flight = left_in_flight;
    return policy.drove({}, in_flight, since, clock.now());
  }
  void disarm() {
    policy.sources_disarmed();
    policy.unwatched();
  }
  // Leaves with operations in flight, computes, and is armed.
  void arm() {
    EXPECT_EQ(leave(kInFlight), Order::kSetTimer);
    EXPECT_EQ(fire(kInFlight, {}), Order::kDrive);
    EXPECT_EQ(drove(kInFlight, {}), Order::kArm);
    EXPECT_EQ(policy.armed(true), Order::kWatch);
    EXPECT_EQ(policy.watched(true, clock.now()), Order::kNothing);
    EXPECT_TRUE(policy.listens());
  }
  void rest() {
    EXPECT_EQ(leave(!kInFlight), Order::kRest);
    EXPECT_EQ(policy.rested(true, clock.now()), Order::kWatch);
    EXPECT_EQ(policy.watched(true, clock.now()), Order::kNothing);
    EXPECT_TRUE(policy.at_rest());
  }

  ManualClock clock;
  const ArmingPolicy::Tuning tuning;
  ArmingPolicy policy;
  bool left_in_flight = false;
};

TEST_F(Arming, OneTimerServesManyCalls) {
  EXPECT_EQ(leave(kInFlight), Order::kSetTimer);
  EXPECT_EQ(policy.delay(), tuning.arm_delay);
  EXPECT_TRUE(policy.leaves_as_it_is(kInFlight));
  EXPECT_TRUE(policy.leaves_as_it_is(!kInFlight));
}

TEST_F(Arming, ComputesWithOperationsInFlightAndIsArmed) {
  arm();
  EXPECT_FALSE(policy.leaves_as_it_is(kInFlight))
      << "a notification heard by another thread would have disarmed a source";
}

TEST_F(Arming, WorkThatIsFoundWhileArmingIsForTheEventThread) {
  leave(kInFlight);
  fire(kInFlight, {});
  drove(kInFlight, {});
  EXPECT_EQ(policy.armed(false), Order::kNotify);
  EXPECT_TRUE(policy.disarmed());
  policy.sources_arm();
  EXPECT_EQ(policy.armed(false), Order::kNothing) << "control is notified once";
  policy.heard_control();
  EXPECT_EQ(policy.woken(kWork, !kDriven, kInFlight, !kTurnWanted, {}), Order::kDrive);
}

TEST_F(Arming, AnApplicationThatKeepsCallingIsAskedLessAndLess) {
  EXPECT_EQ(leave(kInFlight), Order::kSetTimer);
  std::int64_t longest = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(fire(kInFlight, {.visited = true}), Order::kDrive) << "it only sends, and does not look";
    EXPECT_EQ(drove(kInFlight, {.visited = true}), Order::kSetTimer);
    longest = std::max(longest, policy.delay());
  }
  EXPECT_EQ(longest, tuning.arm_delay << (tuning.most_backoff - 1));
  EXPECT_EQ(fire(kInFlight, {}), Order::kDrive);
  EXPECT_EQ(drove(kInFlight, {}), Order::kArm);
}

TEST_F(Arming, WithNothingInFlightTheTimerGrowsRarer) {
  rest();
  EXPECT_TRUE(policy.rest_ends());
  disarm();
  ASSERT_EQ(leave(!kInFlight), Order::kSetTimer);
  std::int64_t longest = 0;
  EXPECT_EQ(policy.delay(), tuning.idle_delay);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(fire(!kInFlight, {.visited = true, .looked = true}), Order::kLeaveThere);
    EXPECT_EQ(drove(!kInFlight, {.visited = true, .looked = true}), Order::kSetTimer);
    longest = std::max(longest, policy.delay());
  }
  EXPECT_EQ(longest, tuning.idle_delay << tuning.most_idle_backoff);
  fire(!kInFlight, {});
  drove(!kInFlight, {});
  EXPECT_EQ(policy.delay(), tuning.idle_delay) << "it has been outside";
}

TEST_F(Arming, AnApplicationThatHelpsItselfIsLeftAloneButForATurnNowAndThen) {
  leave(kInFlight);
  int once = 0, left = 0;
  for (unsigned i = 0; i < 3 * tuning.backoffs_per_turn; ++i) {
    const Order order = fire(kInFlight, {.visited = true, .looked = true});
    once += order == Order::kDriveOnce;
    left += order == Order::kLeaveThere;
    EXPECT_EQ(drove(kInFlight, {.visited = true, .looked = true}), Order::kSetTimer);
  }
  EXPECT_GE(once, 2);
  EXPECT_GT(left, 10 * once);
}

TEST_F(Arming, QuickVisitsEndIt) {
  arm();
  for (unsigned visit = 0; visit < tuning.quick_returns; ++visit) {
    clock.advance(tuning.arm_delay);
    EXPECT_EQ(leave(kInFlight), Order::kMoveAndArm) << "visits far from each other leave it armed";
    EXPECT_EQ(policy.armed(true), Order::kNothing);
  }
  for (unsigned visit = 1; visit < tuning.quick_returns; ++visit) {
    EXPECT_EQ(leave(kInFlight), Order::kMoveAndArm);
    EXPECT_EQ(policy.armed(true), Order::kNothing);
  }
  EXPECT_EQ(leave(kInFlight), Order::kStandDown);
  EXPECT_EQ(policy.stood_down(kInFlight, clock.now()), Order::kSetTimer);
  EXPECT_TRUE(policy.disarmed());
}

TEST_F(Arming, AtRestTheApplicationComesAndGoesFreely) {
  rest();
  EXPECT_TRUE(policy.leaves_as_it_is(!kInFlight));
  EXPECT_FALSE(policy.driver_disarms());
  EXPECT_FALSE(policy.leaves_as_it_is(kInFlight)) << "what is in flight needs to be armed";
}

TEST_F(Arming, WhereThePortIsWatchedAnApplicationThatStaysOutsideIsArmedAtOnce) {
  rest();
  for (int step = 0; step < 3; ++step) {
    clock.advance(tuning.arm_delay);
    for (unsigned call = 1; call < tuning.quick_returns; ++call) {
      EXPECT_EQ(leave(kInFlight), Order::kMoveAndArm);
      policy.sources_arm();
      EXPECT_EQ(policy.armed(true), Order::kNothing);
      EXPECT_TRUE(policy.listens());
    }
    clock.advance(tuning.arm_delay);
    policy.comes_back(clock.now());
    EXPECT_TRUE(policy.driver_disarms());
    policy.sources_disarmed();
    EXPECT_EQ(leave(!kInFlight), Order::kRest);
    EXPECT_EQ(policy.rested(true, clock.now()), Order::kNothing);
  }
}

TEST_F(Arming, WakesInVainDelayTheNextAndOneThatHelpsEndsThat) {
  arm();
  const auto wake = [&](bool helped) {
    policy.heard_port();
    EXPECT_EQ(policy.woken(kWork, !kDriven, kInFlight, !kTurnWanted, {}), Order::kDrive);
    policy.sources_disarmed();
    const Order order = policy.drove({.work = true, .announced = true, .helped = helped}, kInFlight, {}, clock.now());
    if (order == Order::kArm) policy.armed(true), policy.watched(true, clock.now());
    return order;
  };
  for (unsigned i = 1; i < tuning.vain_wakes; ++i) EXPECT_EQ(wake(!kHelped), Order::kArm);
  EXPECT_EQ(wake(!kHelped), Order::kSetTimer);
  std::int64_t longest = 0;
  for (int i = 0; i < 10; ++i) {
    longest = std::max(longest, policy.delay());
    EXPECT_EQ(fire(kInFlight, {}), Order::kDrive);
    EXPECT_EQ(drove(kInFlight, {}), Order::kArm) << "it computes for long";
    policy.armed(true), policy.watched(true, clock.now());
    EXPECT_EQ(wake(!kHelped), Order::kSetTimer);
  }
  EXPECT_GE(longest, tuning.arm_delay << (tuning.most_backoff - 1));
  fire(kInFlight, {});
  drove(kInFlight, {});
  policy.armed(true), policy.watched(true, clock.now());
  EXPECT_EQ(wake(kHelped), Order::kArm);
  EXPECT_EQ(wake(!kHelped), Order::kArm) << "it may help again";
}

TEST_F(Arming, WakesInVainGoOnDelayingTheNextWhateverWakes) {
  arm();
  const SinceTimer visited{.visited = true, .left_in_flight = true};
  for (unsigned i = 0; i < tuning.vain_wakes; ++i) {
    policy.heard_port();
    policy.woken(kWork, !kDriven, kInFlight, !kTurnWanted, {});
    policy.drove({.work = true, .announced = true}, kInFlight, {}, clock.now());
  }
  std::int64_t before = policy.delay();
  for (int i = 0; policy.delay() < tuning.vain_delay; ++i) {
    ASSERT_LT(i, 200);
    fire(kInFlight, visited);
    EXPECT_EQ(drove(kInFlight, visited), Order::kSetTimer);
    EXPECT_GE(policy.delay(), before) << "no short one in between";
    before = policy.delay();
  }
  EXPECT_EQ(policy.delay(), tuning.vain_delay);
  fire(kInFlight, visited);
  policy.drove({.helped = true}, kInFlight, visited, clock.now());
  EXPECT_LT(policy.delay(), tuning.vain_delay);
}

TEST_F(Arming, AWaitThatFindsWhatAWakeWouldHaveHelpedWithEndsTheDelay) {
  arm();
  for (unsigned i = 0; i < tuning.vain_wakes; ++i) {
    policy.heard_port();
    policy.woken(kWork, !kDriven, kInFlight, !kTurnWanted, {});
    policy.sources_disarmed();
    EXPECT_FALSE(policy.put_off(clock.now())) << "no timer is set";
    policy.drove({.work = true, .announced = true}, kInFlight, {}, clock.now());
  }
  ASSERT_TRUE(policy.in_vain());
  policy.timer_cancelled();
  ASSERT_EQ(leave(kInFlight), Order::kSetTimer);
  EXPECT_GT(policy.delay(), tuning.arm_delay);
  EXPECT_FALSE(policy.put_off(clock.now())) << "it is back before a thread could have been armed";
  clock.advance(tuning.arm_delay);
  EXPECT_TRUE(policy.put_off(clock.now()));
  policy.missed();
  EXPECT_FALSE(policy.in_vain());
  EXPECT_FALSE(policy.put_off(clock.now()));
}

TEST_F(Arming, WhereNothingNeedsAThreadItIsPutOffFromTheFirst) {
  policy.is_calm(true);
  ASSERT_EQ(leave(kInFlight), Order::kSetTimer);
  EXPECT_EQ(policy.delay(), tuning.vain_delay);
  EXPECT_TRUE(policy.leaves_as_it_is(kInFlight));
  EXPECT_FALSE(policy.put_off(clock.now()));
  clock.advance(tuning.arm_delay);
  EXPECT_TRUE(policy.put_off(clock.now()));
  EXPECT_EQ(fire(kInFlight, {.visited = true, .left_in_flight = true}), Order::kDrive);
  EXPECT_EQ(drove(kInFlight, {.visited = true, .left_in_flight = true}), Order::kSetTimer);
  EXPECT_EQ(policy.delay(), tuning.vain_delay) << "the next one as well";
}

TEST_F(Arming, WhatNeedsAThreadDoesNotWaitForTheTimerOfWhatDoesNot) {
  policy.is_calm(true);
  ASSERT_EQ(leave(kInFlight), Order::kSetTimer);
  policy.is_calm(false);
  EXPECT_FALSE(policy.leaves_as_it_is(kInFlight));
  EXPECT_EQ(leave(kInFlight), Order::kSetTimer);
  EXPECT_EQ(policy.delay(), tuning.arm_delay);
  EXPECT_TRUE(policy.leaves_as_it_is(kInFlight)) << "that one is soon enough";
  policy.is_calm(true);
  EXPECT_TRUE(policy.leaves_as_it_is(kInFlight)) << "and need not be put off";
}

TEST_F(Arming, OneThatComputesOnlyWithNothingInFlightRestsAndIsNotArmed) {
  rest();
  int armed = 0;
  for (int iteration = 0; iteration < 100; ++iteration) {
    if (leave(kInFlight) == Order::kMoveAndArm) {  // MPI_Irecv, and then MPI_Wait
      ++armed;
      policy.sources_arm();
      policy.armed(true);
      policy.comes_back(clock.now());
      policy.sources_disarmed();
    } else if (policy.state().sources == ArmingPolicy::Sources::kArmed) {
      policy.stood_down(kInFlight, clock.now());
    }
    EXPECT_NE(leave(!kInFlight), Order::kSetTimer) << "it rests";
    policy.rested(true, clock.now());
    policy.watched(true, clock.now());
    clock.advance(100 * tuning.arm_delay);
    if (policy.state().timer_set) {
      EXPECT_EQ(fire(!kInFlight, {.visited = true, .looked = true}), Order::kNothing);
    }
  }
  EXPECT_EQ(armed, tuning.quick_returns);
  EXPECT_EQ(policy.state().backoff_level, tuning.most_backoff) << "nor does the timer come often";
}

TEST_F(Arming, OneThatKeepsCallingIsArmedByTheTimerAgain) {
  rest();
  clock.advance(tuning.arm_delay);
  while (leave(kInFlight) != Order::kStandDown) {
    policy.sources_arm();
    policy.armed(true);
  }
  policy.stood_down(kInFlight, clock.now());
  fire(kInFlight, {.visited = true}, kDriven);
  EXPECT_TRUE(policy.listed());
  EXPECT_EQ(leave(kInFlight), Order::kSetTimer);
}

TEST_F(Arming, AShortRestWasNotWorthBeginningAtOnce) {
  rest();
  clock.advance(tuning.short_rest - 1);
  policy.driver_sleeps(clock.now());
  disarm();
  EXPECT_EQ(leave(!kInFlight), Order::kSetTimer);
  EXPECT_EQ(policy.delay(), tuning.idle_delay);
  EXPECT_EQ(fire(!kInFlight, {}), Order::kDrive);
  EXPECT_EQ(drove(!kInFlight, {}), Order::kRestOrArm) << "by the event thread, once the application stays outside";
  EXPECT_EQ(policy.rested_or_not(true), Order::kWatch);
}

TEST_F(Arming, WhatPressesEndsTheRestOfAnApplicationThatComesByItself) {
  rest();
  policy.heard_port();
  EXPECT_EQ(policy.woken(kWork, !kDriven, !kInFlight, !kTurnWanted, {}), Order::kDrive);
  policy.sources_disarmed();
  EXPECT_EQ(policy.drove({.work = true, .announced = true, .called = true}, !kInFlight, {.visited = true}, clock.now()),
            Order::kNothing);
  EXPECT_EQ(leave(!kInFlight), Order::kSetTimer)
      << "and not to rest, where the next half of a ring would wake the thread";
}

TEST_F(Arming, ALongRestIsBegunAtOnceAgain) {
  rest();
  clock.advance(tuning.short_rest);
  policy.driver_sleeps(clock.now());
  disarm();
  rest();
}

TEST_F(Arming, ASourceThatCannotRestIsArmedByTheEventThread) {
  EXPECT_EQ(leave(!kInFlight), Order::kRest);
  EXPECT_EQ(policy.rested(false, clock.now()), Order::kSetTimer);
  EXPECT_EQ(fire(!kInFlight, {}), Order::kDrive);
  EXPECT_EQ(drove(!kInFlight, {}), Order::kRestOrArm);
  EXPECT_EQ(policy.rested_or_not(false), Order::kArm);
}

TEST_F(Arming, ADriverCancelsTheTimerInTime) {
  leave(kInFlight);
  constexpr std::int64_t kMargin = 25'000;
  EXPECT_FALSE(policy.timer_is_near(clock.now(), kMargin));
  clock.advance(tuning.arm_delay - kMargin);
  EXPECT_TRUE(policy.timer_is_near(clock.now(), kMargin));
  policy.timer_cancelled();
  EXPECT_FALSE(policy.timer_is_near(clock.now(), kMargin));
  EXPECT_EQ(leave(kInFlight), Order::kSetTimer);
}

TEST_F(Arming, ATimerThatFiresWhileAThreadDrivesIsForNothing) {
  leave(kInFlight);
  EXPECT_EQ(fire(kInFlight, {.visited = true}, kDriven), Order::kNothing);
  EXPECT_EQ(leave(kInFlight), Order::kSetTimer) << "the driver that leaves sets it again";
}

TEST_F(Arming, WhereTheKernelRefusesTheWatchTheThreadLooksNowAndThen) {
  leave(kInFlight);
  fire(kInFlight, {});
  drove(kInFlight, {});
  EXPECT_EQ(policy.armed(true), Order::kWatch);
  EXPECT_EQ(policy.watched(false, clock.now()), Order::kSetTimer);
  EXPECT_EQ(policy.delay(), tuning.idle_delay);
  EXPECT_TRUE(policy.disarmed());
}

}  // namespace
}  // namespace lapwing::engine
