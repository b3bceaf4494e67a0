#include "coll/direct_trials.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::coll {
namespace {

constexpr std::uint64_t kBytes = 1 << 16;
constexpr unsigned kNumber = 27;

// What the calls are, one letter each: as the model says (m), directly (d), capital when timed, with ! where all meet and ? where rank 0 decides.
std::string calls(DirectTrials& trials, int ranks, int count, double by_model, double directly) {
  std::string text;
  for (int call = 0; call < count; ++call) {
    const DirectTrials::Way way = trials.next(kNumber, ranks);
    const char letter = way.directly ? 'd' : 'm';
    text += way.timed ? static_cast<char>(letter - 'a' + 'A') : letter;
    if (way.meets) text += '!';
    if (way.decides) text += '?';
    if (way.timed) trials.took(kNumber, way.directly ? directly : by_model);
  }
  return text;
}

TEST(DirectTrials, TheCountOfCallsSaysHowEachGoes) {
  DirectTrials trials;
  EXPECT_EQ(calls(trials, 2, 48, 2, 1),
            "mmmm!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!d?ddd");
  EXPECT_TRUE(trials.directly(kNumber, 2));
}

TEST(DirectTrials, WhatTakesLongerIsNotTaken) {
  DirectTrials trials;
  EXPECT_EQ(calls(trials, 3, 47, 1, 2),
            "mmmm!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!d?mm");
  EXPECT_FALSE(trials.directly(kNumber, 3));
}

TEST(DirectTrials, AWindowHasACallOfEachRoot) {
  DirectTrials trials;
  EXPECT_EQ(calls(trials, 7, 21, 1, 2), "mmmmmmm!mMMMMMM!dDDDDDD!");
}

TEST(DirectTrials, TheMedianWindowCounts) {
  DirectTrials trials;
  for (int call = 0; call < 44; ++call) {
    const DirectTrials::Way way = trials.next(kNumber, 2);
    const bool lost = way.directly ? call < 16 : call > 32;
    if (way.timed) trials.took(kNumber, way.directly ? (lost ? 100 : 2) : (lost ? 1 : 3));
  }
  EXPECT_TRUE(trials.next(kNumber, 2).decides);
  EXPECT_EQ(*trials.decision(kNumber), 1);
}

TEST(DirectTrials, OtherRanksTakeTheDecisionAsItComes) {
  DirectTrials trials;
  for (int call = 0; call <= 44; ++call) static_cast<void>(trials.next(kNumber, 2));
  EXPECT_FALSE(trials.directly(kNumber, 2));
  *trials.decision(kNumber) = 1;
  EXPECT_TRUE(trials.directly(kNumber, 2));
  EXPECT_TRUE(trials.next(kNumber, 2).directly);
}

TEST(DirectTrials, LengthsHaveTrialsOfTheirOwn) {
  EXPECT_EQ(DirectTrials::number_of(0, DirectTrials::kLeast - 1), DirectTrials::kNone);
  EXPECT_EQ(DirectTrials::number_of(0, DirectTrials::kLeast), 0u);
  EXPECT_EQ(DirectTrials::number_of(0, 2 * DirectTrials::kLeast), 1u);
  EXPECT_EQ(DirectTrials::number_of(1, ~std::uint64_t{0}), DirectTrials::number_of(2, DirectTrials::kLeast) - 1);
  EXPECT_EQ(DirectTrials::number_of(2, kBytes), 24u);
}

}  // namespace
}  // namespace lapwing::coll
