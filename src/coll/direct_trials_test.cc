#include "coll/direct_trials.h"

#include <gtest/gtest.h>

#include <string>

namespace lapwing::coll {
namespace {

constexpr std::uint64_t kBytes = 1 << 16;
constexpr unsigned kNumber = 27;

// The rest before a trial.
void rest(DirectTrials& trials, unsigned number = kNumber) {
  for (std::uint32_t call = 0; call < DirectTrials::opening_rest(number); ++call) {
    const DirectTrials::Way way = trials.next(number);
    EXPECT_FALSE(way.directly || way.on_trial || way.decides);
  }
}

// What the calls are, but for the rest before a trial, one letter each: as the model says (m), directly (d), capital when timed, with ! where all
// meet and ? where rank 0 decides.
std::string calls(DirectTrials& trials, int count, double by_model, double directly, unsigned number = kNumber) {
  std::string text;
  for (int call = 0; call < count; ++call) {
    const bool is_first = trials.is_new(number);
    const DirectTrials::Way way = trials.next(number);
    if (is_first && way.decides && *trials.verdict(number) == DirectTrials::Verdict::kTry) rest(trials, number);
    const char letter = way.directly ? 'd' : 'm';
    text += way.timed ? static_cast<char>(letter - 'a' + 'A') : letter;
    if (way.meets) text += '!';
    if (way.decides) text += '?';
    if (way.timed) trials.took(number, way.directly ? directly : by_model);
  }
  return text;
}

// Of a trial whose windows have five calls and that goes on to its end: the first call, those of the windows, three that decide.
constexpr int kOpening = 1, kWindowCalls = 55, kTrial = kWindowCalls + 3;

TEST(DirectTrials, ACallOfAWindowIsOnTrial) {
  DirectTrials trials(2, nullptr);
  EXPECT_FALSE(trials.next(kNumber).on_trial) << "the first one asks whether there is to be a trial";
  rest(trials);
  int on_trial = 0;
  for (int call = 0; call < kTrial; ++call) on_trial += trials.next(kNumber).on_trial;
  EXPECT_EQ(on_trial, kWindowCalls);
  EXPECT_FALSE(trials.next(kNumber).on_trial) << "it rests";
}

TEST(DirectTrials, TheCountOfCallsSaysHowEachGoes) {
  DirectTrials trials(2, nullptr);
  EXPECT_EQ(calls(trials, kOpening + kTrial + 3, 3, 2),
            "m?mmmmm!mMMMM!dDDDD!m?mMMMM!dDDDD!m?mMMMM!dDDDD!mMMMM!dDDDD!mMMMM!dDDDD!m?ddd");
  EXPECT_TRUE(trials.directly(kNumber));
}

TEST(DirectTrials, WhatTakesLongerIsNotTaken) {
  DirectTrials trials(3, nullptr);
  EXPECT_EQ(calls(trials, kOpening + kTrial + 2, 2, 3),
            "m?mmmmm!mMMMM!dDDDD!m?mMMMM!dDDDD!m?mMMMM!dDDDD!mMMMM!dDDDD!mMMMM!dDDDD!m?mm");
  EXPECT_FALSE(trials.directly(kNumber));
}

TEST(DirectTrials, WhatIsClearAfterTwoPairsOfWindowsIsNotTriedOn) {
  DirectTrials trials(2, nullptr);
  EXPECT_EQ(calls(trials, 31, 5, 2), "m?mmmmm!mMMMM!dDDDD!m?mMMMM!dDDDD!m?ddd");
  DirectTrials others(2, nullptr);
  EXPECT_EQ(calls(others, 20, 2, 5), "m?mmmmm!mMMMM!dDDDD!m?mmm") << "where to go directly takes that long, one pair is enough";
  EXPECT_EQ(calls(others, DirectTrials::kFirstRest + 3, 2, 5).substr(DirectTrials::kFirstRest - 3), "mmmmm!m") << "after a rest";
}

// A core may have been lost in the one that took long.
TEST(DirectTrials, OnePairOfWindowsIsNotClear) {
  DirectTrials trials(2, nullptr);
  calls(trials, kOpening + 5 + 10 + 1, 9, 2);
  EXPECT_EQ(calls(trials, 14, 3, 2), "mMMMM!dDDDD!m?mMM");
}

// A rank that need not wait for the others goes on: what it takes counts as much as what the slowest one does.
TEST(DirectTrials, TheTimeOfAllRanksCounts) {
  constexpr double kMine[] = {4, 3}, kOther[] = {1, 3}, kLast = 10;  // by the model, directly; the last call of a window either way
  DirectTrials trials(2, nullptr);
  trials.next(kNumber);
  rest(trials);
  double now = 0, other = 0;
  for (int call = 0; call < kTrial; ++call, now += 1000) {
    const DirectTrials::Way way = trials.next(kNumber);
    if (!way.timed) continue;
    if (!way.meets) {
      trials.took(kNumber, kMine[way.directly]);
      other += kOther[way.directly];
      continue;
    }
    trials.last_began(kNumber, now);
    trials.told_by_all()[0] = *trials.told(kNumber);
    trials.told_by_all()[1] = other - now;
    other = 0;
    trials.all_ended(kNumber, now + kLast);
    EXPECT_EQ(*trials.told(kNumber), 2 * kLast + 3 * (kMine[way.directly] + kOther[way.directly]));
  }
  EXPECT_EQ(*trials.verdict(kNumber), DirectTrials::Verdict::kAsModel);
}

TEST(DirectTrials, ARankThatDecidesAloneSeesEachRootInAWindow) {
  const unsigned gather = DirectTrials::number_of(6, kBytes), alltoall = DirectTrials::number_of(5, kBytes);
  DirectTrials trials(7, nullptr);
  const std::string rest(DirectTrials::kRestAlone, 'm'), model(14, 'm'), timed(14, 'M');
  EXPECT_EQ(calls(trials, static_cast<int>(DirectTrials::kRestAlone) + 57, 2, 3, gather), rest + model + model + model + timed + 'd');
  EXPECT_EQ(calls(trials, static_cast<int>(DirectTrials::kRestAlone) + 33, 2, 3, alltoall), rest + std::string(24, 'm') + "MMMMMMMM" + 'd');
}

TEST(DirectTrials, TheMedianWindowCounts) {
  DirectTrials trials(2, nullptr);
  trials.next(kNumber);
  rest(trials);
  for (int call = 0, window_calls = 0; call < kTrial - 1; ++call) {
    const DirectTrials::Way way = trials.next(kNumber);
    if (!way.on_trial) continue;
    const bool lost = way.directly ? window_calls > 15 && window_calls < 30 : window_calls > 40;
    if (way.timed) trials.took(kNumber, way.directly ? (lost ? 100 : 2) : (lost ? 1 : 3));
    ++window_calls;
  }
  EXPECT_TRUE(trials.next(kNumber).decides);
  EXPECT_EQ(*trials.verdict(kNumber), DirectTrials::Verdict::kDirectly);
}

TEST(DirectTrials, OtherRanksTakeTheVerdictAsItComes) {
  DirectTrials trials(2, nullptr);
  trials.next(kNumber);
  rest(trials);
  for (int call = 0; call < kTrial; ++call) static_cast<void>(trials.next(kNumber));
  *trials.verdict(kNumber) = DirectTrials::Verdict::kDirectly;
  EXPECT_TRUE(trials.directly(kNumber));
  EXPECT_TRUE(trials.next(kNumber).directly);
  EXPECT_TRUE(trials.next(kNumber + 1).decides);
  *trials.verdict(kNumber + 1) = DirectTrials::Verdict::kTry;
  rest(trials, kNumber + 1);
  EXPECT_TRUE(trials.next(kNumber + 1).on_trial) << "rank 0 knows no shorter length";
  EXPECT_FALSE(trials.directly(kNumber + 1));
}

// Of blocks whose length only two ranks know: no call has anything for the other ranks in it.
TEST(DirectTrials, ARankThatDecidesAloneMeetsNoOther) {
  const unsigned number = DirectTrials::number_of(6, kBytes);
  DirectTrials trials(2, nullptr);
  EXPECT_EQ(calls(trials, DirectTrials::kRestAlone, 3, 2, number), std::string(DirectTrials::kRestAlone, 'm'));
  const std::string model(8, 'm'), timed_model(8, 'M'), direct(8, 'd'), timed_direct(8, 'D');
  std::string expected = model + model;
  for (unsigned i = 0; i < DirectTrials::kOfEach; ++i) expected += model + timed_model + direct + timed_direct;
  const auto trial_calls = static_cast<int>(expected.size());
  EXPECT_EQ(calls(trials, trial_calls + 4, 3, 2, number), expected + "dddd");
  EXPECT_TRUE(trials.directly(number));
  for (const int gain : {120, 100, 70, 60}) {
    DirectTrials others(2, nullptr);
    calls(others, DirectTrials::kRestAlone + trial_calls + 1, gain, 100, number);
    EXPECT_FALSE(others.directly(number)) << gain;
  }
  DirectTrials clear(2, nullptr);
  EXPECT_EQ(calls(clear, DirectTrials::kRestAlone + 83, 3, 1, number).substr(DirectTrials::kRestAlone),
            model + model + model + timed_model + direct + timed_direct + model + timed_model + direct + timed_direct + "ddd");
  DirectTrials hopeless(2, nullptr);
  EXPECT_EQ(calls(hopeless, DirectTrials::kRestAlone + 51, 1, 2, number).substr(DirectTrials::kRestAlone),
            model + model + model + timed_model + direct + timed_direct + "mmm");
}

TEST(DirectTrials, WhatWasLevelGainsWithLongerBlocks) {
  const unsigned number = DirectTrials::number_of(6, kBytes);
  constexpr int kAllCalls = DirectTrials::kRestAlone + 16 * 11 + 1;
  for (const int directly : {105, 115}) {
    DirectTrials trials(2, nullptr);
    calls(trials, kAllCalls, 100, directly, number);
    ASSERT_FALSE(trials.directly(number));
    EXPECT_EQ(trials.directly(number + 2), directly == 105) << directly;
  }
}

TEST(DirectTrials, LongBlocksAreTriedSoonerWhereARankDecidesAlone) {
  const unsigned number = DirectTrials::number_of(6, 1 << 20);
  DirectTrials trials(2, nullptr);
  const std::string model(4, 'm'), timed_model(4, 'M'), direct(4, 'd'), timed_direct(4, 'D');
  EXPECT_EQ(calls(trials, 4 + 40 + 1, 3, 1, number),
            model + model + model + model + timed_model + direct + timed_direct + model + timed_model + direct + timed_direct + "d");
}

// Each time after a longer rest.
TEST(DirectTrials, WhatIsFoundIsTriedAgain) {
  DirectTrials trials(2, nullptr);
  calls(trials, kOpening + kTrial, 3, 2);
  for (std::uint32_t rest = DirectTrials::kFirstRest; rest <= DirectTrials::kLongestRest; rest *= 4) {
    const std::string resting = calls(trials, static_cast<int>(rest), 1, 1);
    EXPECT_EQ(resting, std::string(rest, trials.directly(kNumber) ? 'd' : 'm'));
    const bool other = !trials.directly(kNumber);
    EXPECT_EQ(calls(trials, kTrial, other ? 3 : 2, other ? 2 : 3).substr(0, 15), "mmmmm!mMMMM!dDD");
    EXPECT_EQ(trials.directly(kNumber), other);
  }
  EXPECT_EQ(calls(trials, DirectTrials::kLongestRest + 6, 1, 1).substr(DirectTrials::kLongestRest), "mmmmm!m");
}

// It has not been tried: that comes after a rest. What goes as the model says tells nothing of longer blocks.
TEST(DirectTrials, ANewLengthGoesDirectlyWhereTheNextShorterOneDoes) {
  DirectTrials trials(2, nullptr);
  calls(trials, kOpening + kTrial, 3, 2);
  ASSERT_TRUE(trials.directly(kNumber));
  constexpr unsigned kLonger = kNumber + 2;  // none between has been used
  const std::string longer = calls(trials, kOpening + DirectTrials::kFirstRest + kTrial, 2, 3, kLonger);
  EXPECT_EQ(longer.substr(0, 2 + DirectTrials::kFirstRest), "m?" + std::string(DirectTrials::kFirstRest, 'd'));
  EXPECT_EQ(longer.substr(2 + DirectTrials::kFirstRest, 9), "mmmmm!mMM");
  EXPECT_FALSE(trials.directly(kLonger));
  EXPECT_EQ(calls(trials, 6, 3, 2, kLonger + 1), "m?mmmmm!");
}

// Twice the length makes up for half of what is lost.
TEST(DirectTrials, WhatLosesMuchIsNotTriedSoonWithLongerBlocks) {
  DirectTrials trials(2, nullptr);
  calls(trials, 17, 1, 7);
  EXPECT_EQ(calls(trials, 1, 1, 7), "m") << "it was hopeless";
  for (const unsigned longer : {kNumber + 2, kNumber + 1}) {
    EXPECT_EQ(calls(trials, 1, 1, 1, longer), "m?");
    EXPECT_EQ(calls(trials, DirectTrials::kFirstRest + 6, 1, 1, longer), std::string(DirectTrials::kFirstRest, 'm') + "mmmmm!m");
  }
  EXPECT_EQ(calls(trials, 7, 1, 1, kNumber + 3), "m?mmmmm!m") << "seven times as long, and eight times the length";
}

// Five thirds of the time with one length, as much again with the next: so the two after them are not tried soon, but the third one is.
TEST(DirectTrials, WhatLosesAsMuchWithTwiceTheLengthIsNotTriedSoon) {
  constexpr unsigned kShortest = kNumber - 4;
  DirectTrials trials(2, nullptr);
  calls(trials, 17, 3, 5, kShortest);
  EXPECT_EQ(calls(trials, 7, 3, 5, kShortest + 1), "m?mmmmm!m") << "it is tried: half of that would be level";
  calls(trials, 10, 3, 5, kShortest + 1);
  for (const unsigned longer : {kShortest + 2, kShortest + 3}) {
    EXPECT_EQ(calls(trials, 1, 1, 1, longer), "m?");
    EXPECT_EQ(*trials.verdict(longer), DirectTrials::Verdict::kAsModel);
  }
  EXPECT_EQ(calls(trials, 1, 1, 1, kShortest + 4), "m?");
  EXPECT_EQ(*trials.verdict(kShortest + 4), DirectTrials::Verdict::kTry);
}

TEST(DirectTrials, WhatLosesLessWithTwiceTheLengthIsTried) {
  DirectTrials trials(2, nullptr);
  calls(trials, 17, 2, 6, kNumber - 2);
  calls(trials, 17, 2, 4, kNumber - 1);
  trials.next(kNumber);
  EXPECT_EQ(*trials.verdict(kNumber), DirectTrials::Verdict::kTry) << "a third less each time";
}

TEST(DirectTrials, TheFirstLengthOfACollectiveTakesNothingFromAnother) {
  const unsigned longest = DirectTrials::number_of(0, ~std::uint64_t{0});
  DirectTrials trials(2, nullptr);
  calls(trials, kOpening + kTrial, 3, 2, longest);
  ASSERT_TRUE(trials.directly(longest));
  EXPECT_EQ(calls(trials, 8, 1, 2, longest + 1), "m?mmmmm!mM");
}

TEST(DirectTrials, WhatIsLikelyFasterGoesDirectlyUntilTheTrial) {
  DirectTrials trials(2, nullptr);
  EXPECT_TRUE(trials.is_new(kNumber));
  EXPECT_TRUE(trials.next(kNumber, true).decides);
  EXPECT_FALSE(trials.is_new(kNumber));
  const std::uint32_t first = DirectTrials::opening_rest(kNumber);
  EXPECT_EQ(calls(trials, static_cast<int>(first) + 6, 1, 2), std::string(first, 'd') + "mmmmm!m");
  const unsigned alone = DirectTrials::number_of(6, kBytes);
  EXPECT_TRUE(trials.next(alone, true).directly);
}

// What a trial of shorter blocks has found counts for more, and what has not ended for nothing.
TEST(DirectTrials, WhatIsLikelyFasterIsTriedFirstWhereShorterBlocksWereNot) {
  DirectTrials trials(2, nullptr);
  trials.next(kNumber, true);
  trials.next(kNumber + 1, true);
  EXPECT_EQ(*trials.verdict(kNumber + 1), DirectTrials::Verdict::kTryDirectFirst) << "the trial is to come";
  calls(trials, static_cast<int>(DirectTrials::opening_rest(kNumber)) + kTrial, 3, 4);
  ASSERT_FALSE(trials.directly(kNumber));
  trials.next(kNumber + 2, true);
  EXPECT_EQ(*trials.verdict(kNumber + 2), DirectTrials::Verdict::kTry);
}

TEST(DirectTrials, CallsThatAreNotCountedBeginSoWhereARankDecidesAlone) {
  DirectTrials trials(2, nullptr);
  const unsigned alone = DirectTrials::number_of(7, kBytes);
  EXPECT_TRUE(trials.directly(alone, true));
  EXPECT_TRUE(trials.next(alone).directly);
  EXPECT_FALSE(trials.directly(kNumber, true)) << "what the others are told in a call that is counted";
}

// And blocks of unequal length go as equal ones were found to.
TEST(DirectTrials, AnotherCommunicatorBeginsWithWhatOneHasFound) {
  KnownWays known;
  DirectTrials first(2, &known);
  calls(first, kOpening + kTrial + 1, 3, 2);
  const unsigned slow = DirectTrials::number_of(1, kBytes);
  calls(first, kOpening + kTrial + 1, 2, 3, slow);
  DirectTrials second(2, &known);
  EXPECT_EQ(calls(second, 4, 1, 1), "m?ddd");
  EXPECT_EQ(calls(second, 7, 1, 1, slow), "m?mmmmmm") << "no trial now";
  const unsigned unequal_slow = DirectTrials::number_of(5, kBytes);
  EXPECT_FALSE(second.next(unequal_slow, false).directly);
  DirectTrials third(2, &known);
  EXPECT_TRUE(third.next(unequal_slow, true).directly) << "that would go as a message";
  const unsigned unequal = DirectTrials::number_of(6, DirectTrials::least_bytes(kNumber));
  EXPECT_EQ(calls(second, 3, 1, 1, unequal + 1), "ddd") << "no longer ones are known";
  EXPECT_EQ(calls(second, 3, 1, 1, unequal), "ddd");
  DirectTrials more_ranks(9, &known);
  EXPECT_EQ(calls(more_ranks, 3, 1, 1), "m?mm");
  EXPECT_TRUE(more_ranks.next(kNumber).on_trial);
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
