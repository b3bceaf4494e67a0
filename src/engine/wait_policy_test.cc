#include "engine/wait_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace lapwing::engine {
namespace {

constexpr std::int64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;
constexpr int kWorth = 8;  // as the policy has it

// Waits of given lengths, as the engine would report them; time passes when the test says so.
class Waits {
 public:
  explicit Waits(std::int64_t wakeup_cost) : wakeup_cost_(wakeup_cost) { policy.configure(wakeup_cost, 1, -1); }

  // Returns whether polling has caught it.
  bool wait(std::int64_t length) {
    const std::int64_t budget = policy.budget();
    longest_polled = std::max(longest_polled, std::min(length, budget));
    polled += std::min(length, budget);
    waited += length;
    cost += cost_of(length, budget);
    lengths.push_back(length);
    policy.polls_on(now_);
    policy.polls_on(now_ += std::min(length, budget));
    if (length <= budget) {
      policy.ended_spinning();
      return true;
    }
    const std::int64_t slept = length - budget + wakeup_cost_;
    policy.ended_sleeping(now_ += slept, slept);
    return false;
  }
  void wait_often(std::int64_t length, int times = 48) {
    for (int i = 0; i < times; ++i) wait(length);
  }
  void forget() { polled = waited = cost = 0, lengths.clear(); }
  std::int64_t cost_of(std::int64_t length, std::int64_t budget) const {
    return length <= budget ? length : budget + kWorth * wakeup_cost_;
  }
  // What the best single budget would have cost, had all lengths been known.
  std::int64_t cost_of_best_budget() const {
    std::vector<std::int64_t> budgets = lengths;
    budgets.push_back(0);
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t budget : budgets) {
      std::int64_t sum = 0;
      for (const std::int64_t length : lengths) sum += cost_of(length, budget);
      best = std::min(best, sum);
    }
    return best;
  }

  WaitPolicy policy;
  std::int64_t polled = 0, waited = 0, cost = 0, longest_polled = 0;
  std::vector<std::int64_t> lengths;

 private:
  std::int64_t wakeup_cost_;
  std::int64_t now_ = kMillisecond;
};

// A machine with spare cores, and this project's virtual one.
class WaitPolicyTest : public ::testing::TestWithParam<std::int64_t> {
 protected:
  const std::int64_t cost = GetParam();
  Waits waits{cost};
};
INSTANTIATE_TEST_SUITE_P(WakeUp, WaitPolicyTest, ::testing::Values(3 * kMicrosecond, 57 * kMicrosecond),
                         [](const auto& info) { return std::to_string(info.param / kMicrosecond) + "us"; });

TEST_P(WaitPolicyTest, KnowingNothingItPollsForAsLongAsAWakeUpTakes) {
  EXPECT_EQ(waits.policy.budget(), cost);
  waits.wait_often(cost / 3, 100);
  EXPECT_EQ(waits.policy.budget(), cost);
}

TEST_P(WaitPolicyTest, WaitsALittleLongerThanAWakeUpAreCaught) {
  for (const std::int64_t length : {cost * 5 / 4, cost * 3, cost * 6}) {
    waits.wait_often(length);
    EXPECT_TRUE(waits.wait(length)) << length;
  }
}

TEST_P(WaitPolicyTest, LongWaitsCostNextToNothing) {
  for (const std::int64_t length : {2 * kMillisecond, 10 * kMillisecond, 200 * kMillisecond}) {
    waits.wait_often(length);
    waits.forget();
    waits.wait_often(length);
    EXPECT_LT(waits.polled * 400, waits.waited) << length;  // 0.25 %
  }
}

TEST_P(WaitPolicyTest, OfShortAndLongWaitsInTurnsTheShortOnesAreCaught) {
  const std::int64_t little = cost * 3 / 2;
  for (int i = 0; i < 64; ++i) waits.wait(i % 2 == 0 ? little : 100 * cost);
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(waits.wait(little));
    waits.forget();
    EXPECT_FALSE(waits.wait(100 * cost));
    EXPECT_LE(waits.polled, 2 * little);
  }
}

TEST_P(WaitPolicyTest, WhatIsSeldomCaughtIsNotPolledFor) {
  for (int i = 0; i < 64; ++i) waits.wait(i % 4 == 0 ? cost * 6 : 1000 * cost);
  EXPECT_LE(waits.policy.budget(), cost / 16);
}

TEST_P(WaitPolicyTest, ShortWaitsEndItsImpatienceAtOnce) {
  waits.wait_often(1000 * cost);
  ASSERT_LT(waits.policy.budget(), cost / 8);
  for (int i = 0; i < 32; ++i) waits.policy.ended_spinning();  // too short to measure
  EXPECT_EQ(waits.policy.budget(), cost);
}

// The lengths go slowly from much less than a wake-up to much more, and back.
TEST_P(WaitPolicyTest, FollowsWaitsThatDrift) {
  std::int64_t best = 0;
  const auto drift = [&](std::int64_t length) {
    waits.wait(length);
    best += std::min(length, kWorth * cost);
  };
  for (std::int64_t length = cost / 10; length < 100 * cost; length += length / 20 + 1) drift(length);
  for (std::int64_t length = 100 * cost; length > cost / 10; length -= length / 20 + 1) drift(length);
  EXPECT_LE(waits.cost, 2 * best);  // of a policy that knows each wait beforehand
}

TEST_P(WaitPolicyTest, StaysNearTheBestBudgetInHindsight) {
  std::mt19937 random(1);
  for (int mixture = 0; mixture < 200; ++mixture) {
    waits.forget();
    const double centre = std::uniform_real_distribution<>(-3, 5)(random);
    const double spread = std::uniform_real_distribution<>(0, 3)(random);
    std::lognormal_distribution<> lengths(centre, spread);
    for (int i = 0; i < 1000; ++i)
      waits.wait(1 + static_cast<std::int64_t>(lengths(random) * static_cast<double>(cost)));
    EXPECT_LE(waits.cost, 2 * waits.cost_of_best_budget()) << "e^" << centre << " wake-ups, spread " << spread;
  }
}

TEST_P(WaitPolicyTest, AnEnemyWhoKnowsTheBudgetMakesItPollForEightWakeUpsAtMost) {
  for (int i = 0; i < 1000; ++i) waits.wait(waits.policy.budget() + 1);
  EXPECT_LE(waits.longest_polled, kWorth * cost);
  EXPECT_LE(waits.cost, 1000 * 2 * kWorth * cost);
}

// A program that computes and waits in turns, by a manual clock.
class Iterations {
 public:
  explicit Iterations(std::int64_t wakeup_cost) : wakeup_cost_(wakeup_cost) {
    policy_.configure(wakeup_cost, 1, -1);
    policy_.polls_on(now_);
    policy_.ended_spinning();
  }

  // Returns whether polling has caught the wait.
  bool iterate(std::int64_t computing, std::int64_t waiting) {
    const std::int64_t end = (now_ += computing) + waiting;
    const bool polls = policy_.polls_on(now_);
    EXPECT_EQ(polls, policy_.budget() > 0);
    slept_first = std::min(policy_.nap(), waiting);
    if (policy_.nap() != 0) {
      EXPECT_EQ(policy_.budget(), 0);
      if (policy_.nap() >= waiting) return sleep_until(end);
      policy_.napped(now_ += policy_.nap());
      policy_.polls_on(now_);
      EXPECT_EQ(policy_.nap(), 0);
    }
    const std::int64_t spun = std::min(end - now_, policy_.budget());
    polled += spun;
    policy_.polls_on(now_ += spun);
    if (now_ != end) return sleep_until(end);
    policy_.ended_spinning();
    return true;
  }
  std::int64_t polled = 0;       // in all waits
  std::int64_t slept_first = 0;  // in the last one, because it was expected to be long

 private:
  bool sleep_until(std::int64_t end) {
    const std::int64_t began = now_;
    now_ = end + wakeup_cost_;
    policy_.ended_sleeping(now_, now_ - began);
    return false;
  }

  WaitPolicy policy_;
  std::int64_t wakeup_cost_;
  std::int64_t now_ = kMillisecond;
};

TEST_P(WaitPolicyTest, AProgramThatComputesMayPollForATenthOfThatTime) {
  Iterations program(cost);
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> waiting(1, 1600 * kMicrosecond);  // 8 % of computing, in the mean
  int caught = 0;
  for (int i = 0; i < 100; ++i) caught += program.iterate(10 * kMillisecond, waiting(random));
  EXPECT_GE(caught, 90);
}

TEST_P(WaitPolicyTest, ItPollsInVainForNoMoreThanItHasEarned) {
  Iterations program(cost);
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> waiting(5 * kMillisecond, 50 * kMillisecond);  // not to be foreseen
  int caught = 0;
  for (int i = 0; i < 100; ++i) caught += program.iterate(10 * kMillisecond, waiting(random));
  EXPECT_LE(caught, 10);
  EXPECT_LE(program.polled,
            100 * 10 * kMillisecond / 9);  // a tenth earned, and some for the past that it does not know at first
}

TEST_P(WaitPolicyTest, AnHourOfComputingBuysMillisecondsAtMost) {
  Iterations program(cost);
  EXPECT_FALSE(program.iterate(3600 * 1000 * kMillisecond, 1000 * kMillisecond));
  EXPECT_LE(program.polled, 11 * kMillisecond);
}

TEST_P(WaitPolicyTest, WaitingEarnsNothing) {
  Iterations program(cost);
  for (int i = 0; i < 100; ++i) program.iterate(5 * kMicrosecond, 1000 * kMillisecond);
  EXPECT_LE(program.polled, 32 * cost);  // of 100 seconds
}

TEST(WaitPolicy, ARankThatMustGiveItsCoreAwayEarnsAsMuch) {
  WaitPolicy policy;
  policy.configure(20'000, 2, -1);
  const std::int64_t before = policy.budget();
  policy.polls_on(kMillisecond);
  policy.ended_spinning();
  policy.polls_on(51 * kMillisecond);
  EXPECT_EQ(policy.budget(), before + 5 * kMillisecond);
  EXPECT_TRUE(policy.yields());
}

TEST(WaitPolicy, GivesTheCoreAwayWherePollingTakesLongerThanAWakeUp) {
  WaitPolicy policy;
  policy.configure(20'000, 1, -1);
  EXPECT_FALSE(policy.yields());
  policy.polls_on(kMillisecond);
  policy.polls_on(kMillisecond + 19'999);
  EXPECT_FALSE(policy.yields());
  policy.polls_on(kMillisecond + 20'000);
  EXPECT_TRUE(policy.yields());
  policy.polls_on(kMillisecond + 21'000, true);
  EXPECT_FALSE(policy.yields()) << "the next wait begins";
  policy.configure(20'000, 2, -1);
  EXPECT_TRUE(policy.yields());
  EXPECT_GT(policy.budget(), 20'000) << "a thread that gives its core away may do so for longer";
}

TEST(WaitPolicy, AFixedBudgetStays) {
  WaitPolicy policy;
  policy.configure(20'000, 2, 0);
  EXPECT_EQ(policy.budget(), 0);
  for (int i = 0; i < 32; ++i) policy.ended_sleeping(kMillisecond, 25'000);
  EXPECT_EQ(policy.budget(), 0);
}

// ---- what a program repeats ----

constexpr std::int64_t kComputing = 5 * kMillisecond, kLong = 2 * kMillisecond;

TEST_P(WaitPolicyTest, LongWaitsThatComeAgainAreSleptThroughAndCaught) {
  Iterations program(cost);
  for (int i = 0; i < 100; ++i) program.iterate(kComputing, kLong);
  program.polled = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(program.iterate(kComputing, kLong + i % 5 * 10 * kMicrosecond)) << i;
    EXPECT_GT(program.slept_first, kLong / 2);
  }
  EXPECT_LE(program.polled / 100, kComputing / 9);
}

TEST_P(WaitPolicyTest, AWaitThatIsShorterByHalfOfWhatIsSavedIsCaughtToo) {
  Iterations program(cost);
  for (int i = 0; i < 100; ++i) program.iterate(kComputing, kLong);
  ASSERT_GT(program.slept_first, kLong / 2);
  EXPECT_TRUE(program.iterate(kComputing, kLong - kComputing / 50));
  EXPECT_GT(program.slept_first, kLong / 2);
}

TEST_P(WaitPolicyTest, AShorterWaitStopsPredictionForSomeTime) {
  Iterations program(cost);
  for (int i = 0; i < 100; ++i) program.iterate(kComputing, kLong);
  EXPECT_FALSE(program.iterate(kComputing, kLong / 2));  // its sleep was too long
  for (unsigned i = 0; i < WaitPrediction::kRemembered; ++i) {
    program.iterate(kComputing, kLong);
    EXPECT_LT(program.slept_first, kLong / 2);
  }
  program.iterate(kComputing, kLong);
  EXPECT_GT(program.slept_first, kLong * 3 / 4);
}

TEST_P(WaitPolicyTest, StepsOfDifferentLengthHaveTheirOwnPast) {
  Iterations program(cost);
  for (int i = 0; i < 100; ++i) {
    program.iterate(8 * kMillisecond, 3 * kMillisecond);
    program.iterate(kMillisecond, 10 * kMicrosecond);
  }
  program.iterate(8 * kMillisecond, 3 * kMillisecond);
  EXPECT_GT(program.slept_first, 2 * kMillisecond);
  EXPECT_TRUE(program.iterate(kMillisecond, 10 * kMicrosecond));
  EXPECT_EQ(program.slept_first, 0);
}

TEST_P(WaitPolicyTest, WhatIsEarnedCoversNeedsNoSleep) {
  Iterations program(cost);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(program.iterate(20 * kMillisecond, (300 + i * 7 % 5 * 100) * kMicrosecond));
    EXPECT_EQ(program.slept_first, 0);
  }
}

// ---- what else wants the cores ----

TEST(WaitPolicy, EveryTurnGivesTheCoreAwayAfterOneThatTookLong) {
  WaitPolicy policy;
  policy.yielded(tuning().engine_long_yield / 4, 0);
  const auto short_one = tuning().engine_long_yield - 1;
  policy.yielded(short_one, 0);
  EXPECT_FALSE(policy.yields()) << "a system call's time";
  policy.yielded(tuning().engine_long_yield, 0);
  EXPECT_TRUE(policy.yields());
  for (unsigned i = 1; i < tuning().engine_short_yields; ++i) policy.yielded(short_one, 0);
  EXPECT_TRUE(policy.yields());
  policy.yielded(tuning().engine_long_yield, 0);
  for (unsigned i = 1; i < tuning().engine_short_yields; ++i) policy.yielded(short_one, 0);
  EXPECT_TRUE(policy.yields()) << "a long one counts from the beginning";
  policy.yielded(short_one, 0);
  EXPECT_FALSE(policy.yields());
  policy.yielded(short_one, 0);
  EXPECT_FALSE(policy.yields());
}

TEST(WaitPolicy, WhereASystemCallTakesLongAnotherThreadTakesLonger) {
  WaitPolicy policy;
  const auto usual = tuning().engine_long_yield;
  policy.yielded(usual, 0);
  policy.yielded(3 * usual - 1, 0);
  EXPECT_FALSE(policy.yields());
  policy.yielded(3 * usual, 0);
  EXPECT_TRUE(policy.yields());
}

TEST(WaitPolicy, AThreadThatTestsInALoopYieldsAsOneThatWaits) {
  WaitPolicy policy;
  policy.configure(50 * kMicrosecond, 1, -1);
  EXPECT_FALSE(policy.yields_after(50 * kMicrosecond - 1, 0));
  EXPECT_TRUE(policy.yields_after(50 * kMicrosecond, 0));
  policy.yielded(tuning().engine_long_yield / 4, 0);
  policy.yielded(tuning().engine_long_yield, 0);
  EXPECT_TRUE(policy.yields_after(1, 0)) << "another thread wants the core";
  EXPECT_FALSE(policy.yields_after(0, 0)) << "the loop has just begun";
}

// A thread that polls for a wake-up's time in each wait, and then gives its core away once.
class YieldingWaits {
 public:
  explicit YieldingWaits(int ranks_per_core) { policy.configure(50 * kMicrosecond, ranks_per_core, -1); }
  // Whether the next wait would give its core away as well.
  bool wait(std::int64_t yield_takes) {
    poll();
    if (policy.yields()) policy.yielded(yield_takes, now += yield_takes);
    policy.ended_spinning();
    poll();
    const bool yields = policy.yields();
    policy.stays_awake();
    return yields;
  }

  WaitPolicy policy;
  std::int64_t now = kMillisecond;

 private:
  void poll() {
    policy.polls_on(now);
    policy.polls_on(now += 50 * kMicrosecond);
  }
};

// Where its core goes to a thread that computes in most waits it sleeps, and looks again a while later whether that is still there.
TEST(WaitPolicy, BesideAThreadThatComputesItSleepsInsteadOfGivingItsCoreAway) {
  const std::int64_t slice = tuning().engine_computing_yield, rest = slice * tuning().engine_computing_rest;
  for (const bool oversubscribed : {false, true}) {
    YieldingWaits waits(oversubscribed ? 2 : 1);
    WaitPolicy& policy = waits.policy;
    policy.yielded(tuning().engine_long_yield / 4, waits.now);
    policy.yielded(slice - 1, waits.now);
    EXPECT_TRUE(policy.yields()) << "others that give it back";
    for (unsigned i = 1; i < (oversubscribed ? tuning().engine_computing_waits : 2); ++i) EXPECT_TRUE(waits.wait(slice)) << "something that may be gone";
    EXPECT_FALSE(waits.wait(slice));
    std::int64_t& now = waits.now;
    EXPECT_EQ(policy.polls_on(now, true), !oversubscribed) << "with a rank of its own on the same core a look is enough";
    EXPECT_FALSE(policy.polls_on(now += 50 * kMicrosecond)) << "a wake-up's time at most, whatever was saved";
    EXPECT_FALSE(policy.yields());
    EXPECT_EQ(policy.yields_after(kMillisecond, now), oversubscribed) << "a loop of tests cannot sleep";
    policy.ended_sleeping(now += rest, rest);
    EXPECT_TRUE(waits.wait(kMicrosecond)) << "whether it is there still";
    EXPECT_FALSE(waits.wait(slice)) << "it is: that is seen at once";
    policy.polls_on(now);
    policy.ended_sleeping(now += rest, rest);
    for (int i = 0; i < 32; ++i) EXPECT_TRUE(waits.wait(kMicrosecond));
    if (!oversubscribed) now += 17 * slice;
    EXPECT_TRUE(waits.wait(slice)) << "it had gone";
  }
}

TEST(WaitPolicy, WithACoreForEachRankAThreadThatComputesMustComeAgainSoon) {
  const std::int64_t slice = tuning().engine_computing_yield;
  YieldingWaits waits(1);
  EXPECT_TRUE(waits.wait(slice));
  waits.now += 17 * slice;
  EXPECT_TRUE(waits.wait(slice)) << "something else";
  waits.now += 15 * slice;
  EXPECT_FALSE(waits.wait(slice));
}

// With more ranks than cores: a rank that prepares something while the others wait, and what the machine does once in a while, are met for long, but in few waits.
TEST(WaitPolicy, WhatIsMetInFewWaitsIsNotThereAllTheTime) {
  const std::int64_t slice = tuning().engine_computing_yield;
  YieldingWaits waits(2);
  for (int phase = 0; phase < 20; ++phase) {
    waits.policy.polls_on(waits.now += kMicrosecond);
    for (int i = 0; i < 20; ++i) waits.policy.yielded(slice, waits.now += slice);
    waits.policy.ended_spinning();
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(waits.wait(kMicrosecond));
  }
}

// It may be a rank of the same program, which computes as long as this one does.
TEST(WaitPolicy, WithMoreRanksThanCoresAThreadThatComputesMayBeARank) {
  YieldingWaits waits(2);
  waits.policy.begins(0);
  for (int i = 0; i < 40; ++i) {
    waits.now += 2 * kMillisecond;  // of computing
    EXPECT_TRUE(waits.wait(2 * kMillisecond));
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(waits.wait(kMicrosecond));
  for (unsigned i = 1; i < tuning().engine_computing_waits; ++i) EXPECT_TRUE(waits.wait(2 * kMillisecond));
  EXPECT_FALSE(waits.wait(2 * kMillisecond)) << "this one has not computed for long";
}

// All others of its core have their turns before it has its next one.
TEST(WaitPolicy, WithMoreRanksOnACoreTheyComputeForLonger) {
  for (const int ranks : {2, 8}) {
    YieldingWaits waits(ranks);
    waits.policy.begins(0);
    const auto iterate = [&](std::int64_t others) {
      bool yields = true;
      for (int i = 0; i < 40; ++i) {
        waits.now += kMillisecond;  // of computing
        yields = waits.wait(others);
      }
      return yields;
    };
    EXPECT_TRUE(iterate((ranks - 1) * kMillisecond));
    EXPECT_FALSE(iterate(3 * (ranks - 1) * kMillisecond)) << "ranks would not compute for so long";
  }
}

TEST(WaitPolicy, WithMoreRanksOnACoreAllBudgetsAreLonger) {
  WaitPolicy two, eight;
  two.configure(50 * kMicrosecond, 2, -1);
  eight.configure(50 * kMicrosecond, 8, -1);
  EXPECT_EQ(eight.budget(), 4 * two.budget());
  for (WaitPolicy* policy : {&two, &eight})
    for (int i = 0; i < 32; ++i) policy->ended_sleeping(kMillisecond, 1000 * kMillisecond);
  EXPECT_EQ(eight.budget(), 4 * two.budget()) << "where they are short, too";
  EXPECT_LT(eight.budget(), 50 * kMicrosecond);
}

TEST(WaitPolicy, AFixedBudgetIsPolledForBesideAThreadThatComputesToo) {
  WaitPolicy policy;
  policy.configure(50 * kMicrosecond, 1, kMillisecond);
  for (int i = 0; i < 40; ++i) {
    policy.polls_on(kMillisecond);
    policy.yielded(tuning().engine_computing_yield, kMillisecond);
    if (i != 39) policy.ended_spinning();
  }
  EXPECT_TRUE(policy.polls_on(2 * kMillisecond - 1));
  EXPECT_TRUE(policy.yields());
}

TEST(WaitPolicy, WhatPassesBeforeTheFirstWaitIsComputing) {
  WaitPolicy policy;
  policy.configure(50 * kMicrosecond, 1, -1);
  const std::int64_t alone = policy.budget();
  policy.begins(kMillisecond);
  EXPECT_TRUE(policy.polls_on(101 * kMillisecond));
  EXPECT_EQ(policy.budget(), alone + 100 * kMillisecond / static_cast<std::int64_t>(tuning().engine_earned_share));
}

}  // namespace
}  // namespace lapwing::engine
