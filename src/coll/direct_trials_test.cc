#include "coll/direct_trials.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::coll {
namespace {

constexpr std::uint64_t kBytes = 1 << 16;
constexpr unsigned kNumber = 27;

// What the calls are, one letter each: as the model says (m), directly (d), capital when timed, with ! where all meet and ? where rank 0 decides.
std::string calls(DirectTrials& trials, int ranks, int count, double by_model, double directly, unsigned number = kNumber) {
  std::string text;
  for (int call = 0; call < count; ++call) {
    const DirectTrials::Way way = trials.next(number, ranks);
    const char letter = way.directly ? 'd' : 'm';
    text += way.timed ? static_cast<char>(letter - 'a' + 'A') : letter;
    if (way.meets) text += '!';
    if (way.decides) text += '?';
    if (way.timed) trials.took(number, way.directly ? directly : by_model);
  }
  return text;
}

TEST(DirectTrials, ACallOfAWindowIsOnTrial) {
  DirectTrials trials;
  for (int call = 0; call < 44; ++call) EXPECT_TRUE(trials.next(kNumber, 2).on_trial) << call;
  EXPECT_FALSE(trials.next(kNumber, 2).on_trial) << "it decides";
  EXPECT_FALSE(trials.next(kNumber, 2).on_trial) << "it rests";
}

TEST(DirectTrials, TheCountOfCallsSaysHowEachGoes) {
  DirectTrials trials;
  EXPECT_EQ(calls(trials, 2, 48, 2, 1),
            "mmmm!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!d?ddd");
  EXPECT_TRUE(trials.directly(kNumber));
}

TEST(DirectTrials, WhatTakesLongerIsNotTaken) {
  DirectTrials trials;
  EXPECT_EQ(calls(trials, 3, 47, 1, 2),
            "mmmm!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!mMMM!dDDD!d?mm");
  EXPECT_FALSE(trials.directly(kNumber));
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
  EXPECT_FALSE(trials.directly(kNumber));
  *trials.decision(kNumber) = 1;
  EXPECT_TRUE(trials.directly(kNumber));
  EXPECT_TRUE(trials.next(kNumber, 2).directly);
}

// Of blocks whose length only two ranks know: no call has anything for the other ranks in it.
TEST(DirectTrials, ARankThatDecidesAloneMeetsNoOther) {
  const unsigned number = DirectTrials::number_of(6, kBytes);
  DirectTrials trials;
  EXPECT_EQ(calls(trials, 2, DirectTrials::kRestAlone, 2, 1, number), std::string(DirectTrials::kRestAlone, 'm'));
  const std::string model(8, 'm'), timed_model(8, 'M'), direct(8, 'd'), timed_direct(8, 'D');
  std::string expected = model + model;
  for (unsigned i = 0; i < DirectTrials::kOfEach; ++i) expected += model + timed_model + direct + timed_direct;
  const auto trial_calls = static_cast<int>(expected.size());
  EXPECT_EQ(calls(trials, 2, trial_calls + 4, 2, 1, number), expected + "dddd");
  EXPECT_TRUE(trials.directly(number));
  for (const int gain : {120, 100, 50}) {
    DirectTrials others;
    calls(others, 2, DirectTrials::kRestAlone + trial_calls + 1, gain, 100, number);
    EXPECT_FALSE(others.directly(number)) << gain;
  }
  EXPECT_TRUE(DirectTrials::takes_times(number, 1));
  EXPECT_FALSE(DirectTrials::takes_times(kNumber, 1));
  EXPECT_TRUE(DirectTrials::takes_times(kNumber, 0));
}

// Each time after a longer rest.
TEST(DirectTrials, WhatIsFoundIsTriedAgain) {
  constexpr int kTrial = 45;
  DirectTrials trials;
  calls(trials, 2, kTrial, 2, 1);
  for (std::uint32_t rest = DirectTrials::kFirstRest; rest <= DirectTrials::kLongestRest; rest *= 4) {
    const std::string resting = calls(trials, 2, static_cast<int>(rest), 1, 1);
    EXPECT_EQ(resting, std::string(rest, trials.directly(kNumber) ? 'd' : 'm'));
    const bool other = !trials.directly(kNumber);
    EXPECT_EQ(calls(trials, 2, kTrial, other ? 2 : 1, other ? 1 : 2).substr(0, 13), "mmmm!mMMM!dDD");
    EXPECT_EQ(trials.directly(kNumber), other);
  }
  EXPECT_EQ(calls(trials, 2, DirectTrials::kLongestRest + 5, 1, 1).substr(DirectTrials::kLongestRest), "mmmm!m");
}

// It has not been tried: that comes after a rest. What goes as the model says tells nothing of longer blocks.
TEST(DirectTrials, ANewLengthGoesDirectlyWhereTheNextShorterOneDoes) {
  DirectTrials trials;
  calls(trials, 2, 45, 2, 1);
  ASSERT_TRUE(trials.directly(kNumber));
  EXPECT_EQ(calls(trials, 2, 6, 1, 2, kNumber + 2), "mmmm!mM");
  const std::string longer = calls(trials, 2, DirectTrials::kFirstRest + 45, 1, 2, kNumber + 1);
  EXPECT_EQ(longer.substr(0, DirectTrials::kFirstRest), std::string(DirectTrials::kFirstRest, 'd'));
  EXPECT_EQ(longer.substr(DirectTrials::kFirstRest, 8), "mmmm!mMM");
  EXPECT_FALSE(trials.directly(kNumber + 1));
  calls(trials, 2, DirectTrials::kFirstRest + 45, 1, 2);
  ASSERT_FALSE(trials.directly(kNumber));
  DirectTrials others;
  calls(others, 2, 45, 1, 2);
  EXPECT_EQ(calls(others, 2, 6, 1, 2, kNumber + 1), "mmmm!mM");
}

TEST(DirectTrials, TheFirstLengthOfACollectiveTakesNothingFromAnother) {
  const unsigned longest = DirectTrials::number_of(0, ~std::uint64_t{0});
  DirectTrials trials;
  calls(trials, 2, 45, 2, 1, longest);
  ASSERT_TRUE(trials.directly(longest));
  EXPECT_EQ(calls(trials, 2, 6, 1, 2, longest + 1), "mmmm!mM");
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
