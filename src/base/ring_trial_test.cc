#include "base/ring_trial.h"

#include <gtest/gtest.h>

#include <array>

#include "base/ring_copy.h"

namespace lapwing {
namespace {

using Way = RingTrial::Way;
constexpr std::uint64_t kRing = 2 << 20;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kFirstRest = RingTrial::kOfLong.first(kRing);
constexpr std::uint64_t kOneTrial = kFirstRest + 4 * kMiB;  // the first rest and the trial after it; the next rest is longer
constexpr double kNear = 0.9, kFar = 0.3;  // what a byte takes into private memory, where short laps take 1

// What copies cost per byte, by their way; every `disturbed`th takes a hundred times as long.
struct Costs {
  std::array<double, 4> of_way;
  unsigned disturbed = 0;
};

// Copies so many bytes; how many of them went another way than by short laps.
std::uint64_t copy(RingTrial& trial, std::uint64_t bytes, const Costs& costs, double own = kFar) {
  constexpr std::uint64_t kPiece = 1024;
  std::uint64_t others = 0;
  for (std::uint64_t done = 0; done < bytes; done += kPiece) {
    if (trial.way() != Way::kShortLaps) others += kPiece;
    double time = costs.of_way[static_cast<unsigned>(trial.way())] * static_cast<double>(kPiece);
    if (costs.disturbed != 0 && done / kPiece % costs.disturbed == 0) time *= 100;
    if (trial.wants_private()) trial.private_copy(own);
    trial.timing() ? trial.timed(kPiece, time) : trial.copied(kPiece);
  }
  return others;
}

TEST(RingTrial, BeginsWithShortLaps) {
  RingTrial trial(kRing, true);
  EXPECT_EQ(trial.way(), Way::kShortLaps);
  EXPECT_EQ(copy(trial, kFirstRest, {{1, 1, 1}}), 0u);
}

TEST(RingTrial, TakesAnotherWayThatIsFasterByAQuarter) {
  RingTrial whole(kRing, true), past(kRing, true), nearly(kRing, true);
  copy(whole, kOneTrial, {{1, 0.7, 0.9}});
  EXPECT_EQ(whole.way(), Way::kWholeLaps);
  copy(past, kOneTrial, {{1, 0.7, 0.3}});
  EXPECT_EQ(past.way(), Way::kPastCaches);
  copy(nearly, kOneTrial, {{1, 0.85, 0.85}});
  EXPECT_EQ(nearly.way(), Way::kShortLaps);
}

// They cost new memory. What the other ways take tells nothing of it.
TEST(RingTrial, WholeLapsAreTriedWhereStoresWaitForTheReader) {
  for (const bool past_caches : {false, true}) {
    for (const double past : {0.5, 2.0}) {
      RingTrial near(kRing, past_caches), far(kRing, past_caches);
      copy(near, kOneTrial, {{1, 0.1, past}}, kNear);
      EXPECT_NE(near.usual(), Way::kWholeLaps);
      copy(far, kOneTrial, {{1, 0.1, past}}, kFar);
      EXPECT_EQ(far.usual(), Way::kWholeLaps);
    }
  }
}

TEST(RingTrial, PrivateCopiesAreWantedOnceInATrial) {
  RingTrial trial(kRing, true), claims = RingTrial::of_claims(kRing);
  for (std::uint64_t done = 0; done < kOneTrial; done += 1024) {
    EXPECT_EQ(trial.wants_private(), trial.timing() && trial.way() == Way::kShortLaps);
    EXPECT_FALSE(claims.wants_private());
    for (RingTrial* each : {&trial, &claims}) each->timing() ? each->timed(1024, each->way() == Way::kShortLaps ? 2 : 1) : each->copied(1024);
  }
}

TEST(RingTrial, DoesNotGoPastTheCachesWhereTheWriterCannot) {
  RingTrial trial(kRing);
  copy(trial, kOneTrial, {{1, 0.7, 0}});
  EXPECT_EQ(trial.way(), Way::kWholeLaps);
}

TEST(RingTrial, ALostCoreDecidesNothing) {
  RingTrial better(kRing, true), equal(kRing, true);
  copy(better, kOneTrial, {{1, 0.7, 0.95}, 17});
  EXPECT_EQ(better.way(), Way::kWholeLaps);
  copy(equal, kOneTrial, {{1, 1, 0.95}, 17});
  EXPECT_EQ(equal.way(), Way::kShortLaps);
}

TEST(RingTrial, FollowsAMachineThatChanges) {
  RingTrial trial(kRing, true);
  copy(trial, kOneTrial, {{1, 0.3, 0.9}});
  ASSERT_EQ(trial.way(), Way::kWholeLaps);
  copy(trial, 3 * RingTrial::kOfLong.longest_rest / 2, {{0.2, 0.3, 1}});
  EXPECT_EQ(trial.way(), Way::kShortLaps);
  copy(trial, 3 * RingTrial::kOfLong.longest_rest / 2, {{4, 3, 1}});
  EXPECT_EQ(trial.way(), Way::kPastCaches);
  copy(trial, 3 * RingTrial::kOfLong.longest_rest / 2, {{1, 0.3, 0.9}});
  EXPECT_EQ(trial.way(), Way::kWholeLaps);
}

TEST(RingTrial, AHopelessWayIsSoonLeft) {
  RingTrial slow(kRing, true), doubtful(kRing, true);
  const std::uint64_t few = copy(slow, kOneTrial, {{1, 1, 3}}, kNear), more = copy(doubtful, kOneTrial, {{1, 1, 1.5}}, kNear);
  EXPECT_EQ(few, RingTrial::kOfLong.settle + RingTrial::kFirstWindows * RingTrial::kOfLong.window);
  EXPECT_EQ(more, RingTrial::kOfLong.settle + RingTrial::kWindows * RingTrial::kOfLong.window);
}

TEST(RingTrial, TrialsThatAreLostAreFewPercentOfAllThatIsCopied) {
  RingTrial trial(kRing, true);
  constexpr std::uint64_t kAll = std::uint64_t{4} << 30;
  EXPECT_LT(copy(trial, kAll, {{1, 1, 1}}), kAll / 32);
}

TEST(RingTrial, LinesAreClaimedWhereThatIsFasterByAQuarter) {
  constexpr std::uint64_t kOne = 5 << 18;  // the first rest and the trial after it
  RingTrial better = RingTrial::of_claims(kRing), equal = RingTrial::of_claims(kRing);
  EXPECT_EQ(copy(better, RingTrial::kOfClaims.first_rest, {{1, 0, 0, 0.5}}), 0u);
  copy(better, kOne, {{1, 0, 0, 0.5}, 65});
  EXPECT_EQ(better.way(), Way::kClaimed);
  copy(equal, kOne, {{1, 0, 0, 0.9}, 65});
  EXPECT_EQ(equal.way(), Way::kShortLaps);
  copy(better, 2 * RingTrial::kOfClaims.longest_rest, {{0.9, 0, 0, 1}});
  EXPECT_EQ(better.way(), Way::kClaimed) << "a little faster without";
  copy(better, 2 * RingTrial::kOfClaims.longest_rest, {{0.7, 0, 0, 1}});
  EXPECT_EQ(better.way(), Way::kShortLaps);
}

TEST(RingTrial, ClaimsThatHaveWonClearlyAreTriedLate) {
  constexpr std::uint64_t kOne = 5 << 18;
  const auto rest_after = [](double claimed) {
    RingTrial trial = RingTrial::of_claims(kRing);
    copy(trial, kOne, {{1, 0, 0, claimed}, 65});
    std::uint64_t rest = 0;
    for (; !trial.under_way(); rest += 1 << 16) trial.copied(1 << 16);
    return rest;
  };
  const std::uint64_t growth = RingTrial::kOfClaims.growth, first = RingTrial::kOfClaims.first_rest;
  EXPECT_NEAR(static_cast<double>(rest_after(0.75)), static_cast<double>(growth * first), 1 << 20);
  EXPECT_NEAR(static_cast<double>(rest_after(0.5)), static_cast<double>(growth * growth * first), 1 << 20);
  EXPECT_NEAR(static_cast<double>(rest_after(1)), static_cast<double>(growth * first), 1 << 20);
}

// Where the reader lags lines are claimed a lap before the writer comes to them.
TEST(RingTrial, ClaimsOfAReaderThatLagsSettleForALap) {
  for (const bool lags : {false, true}) {
    RingTrial trial = RingTrial::of_claims(kRing, lags);
    std::uint64_t claimed = 0;  // bytes
    for (std::uint64_t done = 0; done < RingTrial::kOfClaims.first_rest + 2 * kRing; done += 1024) {
      const bool gains = claimed >= kRing;
      claimed += trial.way() == Way::kClaimed ? 1024 : 0;
      trial.timing() ? trial.timed(1024, gains ? 1 : 3) : trial.copied(1024);
    }
    EXPECT_EQ(trial.usual(), lags ? Way::kClaimed : Way::kShortLaps);
  }
}

// So many bytes in messages of a size.
void send(RingTrials& trials, std::uint64_t message, std::uint64_t bytes, const Costs& costs) {
  for (std::uint64_t done = 0; done < bytes; done += message) {
    RingTrial* const trial = trials.of(message);
    if (trial == nullptr) continue;
    const double time = static_cast<double>(message) * costs.of_way[static_cast<unsigned>(trials.way(message))];
    trial->timing() ? trial->timed(message, time) : trial->copied(message);
    trials.count(message, message);
  }
}

TEST(RingTrials, LongMessagesAreClaimedTooUntilAnotherWayHasWon) {
  constexpr std::uint64_t kShort = 4096, kLong = 16 * 1024;
  constexpr Costs kCosts{{1, 1, 0.3, 0.5}};
  RingTrials trials({.bytes = kRing, .past_caches = true});
  send(trials, kLong, 2 << 20, kCosts);
  EXPECT_EQ(trials.way(kLong), Way::kClaimed);
  EXPECT_EQ(trials.way(kShort), Way::kClaimed);
  EXPECT_EQ(trials.way(RingTrial::kLeastClaimed - 1), Way::kShortLaps);
  send(trials, kLong, kFirstRest, kCosts);
  EXPECT_EQ(trials.way(kLong), Way::kClaimed);
  send(trials, kLong, 129 * kFirstRest, kCosts);
  EXPECT_EQ(trials.way(kLong), Way::kPastCaches);
  EXPECT_EQ(trials.way(kShort), Way::kClaimed);
  send(trials, kShort, 2 * RingTrial::kOfClaims.longest_rest, {{0.4, 1, 0.3, 0.5}});
  EXPECT_EQ(trials.way(kLong), Way::kPastCaches);
  EXPECT_EQ(trials.way(kShort), Way::kShortLaps);
}

TEST(RingTrials, OtherWaysAreHeldAgainstClaimedLaps) {
  constexpr std::uint64_t kLong = 16 * 1024;
  RingTrials trials({.bytes = kRing, .past_caches = true});
  send(trials, kLong, 150 * kFirstRest, {{1, 0.6, 0.6, 0.5}});
  EXPECT_EQ(trials.way(kLong), Way::kClaimed);
}

TEST(RingTrials, WhetherLinesAreClaimedIsKnownBetweenTrialsOfThat) {
  constexpr std::uint64_t kLength = 4096;
  RingTrials trials({.bytes = kRing});
  const auto send_until = [&](bool known) {
    for (int i = 0; i < 100'000 && trials.knows_claims() != known; ++i) send(trials, kLength, kLength, {{1, 1, 1, 0.5}});
    EXPECT_EQ(trials.knows_claims(), known);
  };
  EXPECT_FALSE(trials.knows_claims());
  EXPECT_TRUE(trials.never_tried_claims());
  send_until(true);
  EXPECT_FALSE(trials.never_tried_claims());
  EXPECT_EQ(trials.way(kLength), Way::kClaimed);
  std::uint64_t streamed = 0;
  for (; streamed < std::uint64_t{2} << 30 && trials.knows_claims(); streamed += kLength) trials.count_streamed(kLength);
  EXPECT_FALSE(trials.knows_claims()) << "what goes past the caches brings a trial as well";
  EXPECT_GT(streamed, 16 * RingTrial::kOfClaims.first_rest) << "but late";
  trials.count_streamed(1u << 30);
  EXPECT_FALSE(trials.knows_claims()) << "and is no part of one";
  send_until(true);
  const RingTrials without({.bytes = kRing, .claims = false});
  EXPECT_TRUE(without.knows_claims());
  EXPECT_FALSE(without.never_tried_claims());
}

TEST(RingTrials, WhatIsTriedIsKnown) {
  RingTrials trials({.bytes = kRing, .claims = false});
  send(trials, 16 * 1024, kFirstRest, {{1, 1, 1}});
  EXPECT_TRUE(trials.tries(16 * 1024));
  EXPECT_FALSE(trials.tries(4096)) << "a short one goes as always";
  trials.pause(true);
  EXPECT_FALSE(trials.tries(16 * 1024));
  trials.pause(false);
  send(trials, 16 * 1024, 4 * kMiB, {{1, 1, 1}});
  EXPECT_FALSE(trials.tries(16 * 1024));
}

TEST(RingTrials, NothingIsClaimedWhereTheReaderCannot) {
  RingTrials trials({.bytes = kRing, .past_caches = true, .claims = false});
  send(trials, 4096, 4 << 20, {{1, 1, 1, 0.1}});
  EXPECT_EQ(trials.way(4096), Way::kShortLaps);
}

TEST(RingTrial, WhatReadingTakesCounts) {
  RingTrial trial(kRing, true);
  constexpr std::uint64_t kPiece = 16 * 1024;
  for (std::uint64_t done = 0; done < kOneTrial; done += kPiece) {
    const bool whole = trial.way() == Way::kWholeLaps;
    trial.timing() ? trial.timed(kPiece, whole ? 1 : trial.way() == Way::kPastCaches ? 3 : 4, 1) : trial.copied(kPiece);
    if (trial.timing()) trial.has_read(whole ? 8 : 1);
  }
  EXPECT_NE(trial.usual(), Way::kWholeLaps) << "writing takes a quarter, and both together more";
}

// Each of several readers reads its part, at the same time.
TEST(RingTrial, ReadingAgainIsDividedAmongReaders) {
  for (const unsigned readers : {1u, 7u}) {
    RingTrial trial(kRing, true, readers);
    for (std::uint64_t done = 0; done < kOneTrial; done += 16 * 1024) {
      const bool past = trial.way() == Way::kPastCaches;
      EXPECT_EQ(trial.reads_again(), trial.timing());
      trial.timing() ? trial.timed(16 * 1024, past ? 0.5 : 2, past ? 2.4 : 0) : trial.copied(16 * 1024);
    }
    EXPECT_EQ(trial.usual() == Way::kPastCaches, readers > 1);
  }
}

TEST(RingTrial, ARankThatReadsFromOthersDoesNotReadAgain) {
  RingTrial trial(kRing, true);
  for (std::uint64_t done = 0; done < kOneTrial; done += 16 * 1024) {
    EXPECT_FALSE(trial.reads_again() && trial.way() == Way::kPastCaches);
    const bool timing = trial.timing();
    timing ? trial.timed(16 * 1024, 1) : trial.copied(16 * 1024);
    if (timing && trial.timing()) trial.has_read(1);
  }
}

TEST(RingTrials, APauseLeavesAllAsItWas) {
  constexpr std::uint64_t kLong = 16 * 1024;
  RingTrials trials({.bytes = kRing, .past_caches = true, .claims = false});
  send(trials, kLong, kFirstRest + RingTrial::kOfLong.settle, {{1, 1, 0.3}});
  ASSERT_TRUE(trials.times_reading());
  trials.pause(true);
  EXPECT_FALSE(trials.times_reading());
  EXPECT_EQ(trials.of(kLong), nullptr);
  send(trials, kLong, 4 * kOneTrial, {{1, 1, 0.3}});
  EXPECT_EQ(trials.way(kLong), Way::kShortLaps);
  trials.pause(false);
  EXPECT_FALSE(trials.times_reading()) << "the caches settle again";
  send(trials, kLong, 8 << 20, {{1, 1, 0.3}});
  EXPECT_EQ(trials.way(kLong), Way::kPastCaches);
  alignas(64) std::byte place[64] = {};
  for (const bool paused : {false, true}) {
    trials.pause(paused);
    EXPECT_TRUE(goes_past_caches(trials, kLong, place, kLong));
    EXPECT_FALSE(goes_past_caches(trials, kLong, place + 1, kLong)) << "which does not begin with a line";
  }
}

TEST(RingTrial, ARingThatIsTooSmallIsNotTried) {
  RingTrial trial(RingTrial::kLeastRing / 2, true);
  EXPECT_EQ(copy(trial, kOneTrial, {{1, 0.1, 0.1}}), 0u);
}

}  // namespace
}  // namespace lapwing
