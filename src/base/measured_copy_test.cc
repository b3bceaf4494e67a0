#include "base/measured_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lapwing {
namespace {

using Way = CopyTrial::Way;

// What a copy takes on a machine.
struct Machine {
  double vectors, string;
  double of(Way way) const { return way == Way::kString ? string : vectors; }
};

// Copies until a trial has ended; how many went each way while it lasted.
std::array<unsigned, 2> end_trial(CopyTrial& trial, const Machine& machine) {
  std::array<unsigned, 2> copies{};
  while (!trial.trying()) trial.copied();
  while (trial.trying()) {
    ++copies[static_cast<std::size_t>(trial.way())];
    trial.timed(machine.of(trial.way()));
  }
  return copies;
}

TEST(CopyTrial, TakesTheFasterWayAfterATrial) {
  CopyTrial trial;
  EXPECT_EQ(trial.way(), Way::kVectors);
  const std::array<unsigned, 2> copies = end_trial(trial, {6, 1});
  EXPECT_EQ(copies[0], CopyTrial::kOfEach);
  EXPECT_EQ(copies[1], CopyTrial::kOfEach);
  EXPECT_EQ(trial.way(), Way::kString);
}

TEST(CopyTrial, KeepsVectorsWhereTheyAreFaster) {
  CopyTrial trial;
  end_trial(trial, {1, 3});
  EXPECT_EQ(trial.way(), Way::kVectors);
}

TEST(CopyTrial, KeepsVectorsWhereThereIsHardlyADifference) {
  CopyTrial trial;
  end_trial(trial, {1, 0.95});
  EXPECT_EQ(trial.way(), Way::kVectors);
}

TEST(CopyTrial, FindsOutWhenTheMachineChanges) {
  CopyTrial trial;
  end_trial(trial, {6, 1});
  end_trial(trial, {1, 3});
  EXPECT_EQ(trial.way(), Way::kVectors);
}

TEST(CopyTrial, AFewCopiesThatLostTheirCoreDecideNothing) {
  CopyTrial trial;
  while (!trial.trying()) trial.copied();
  for (unsigned i = 0; trial.trying(); ++i) trial.timed(trial.way() == Way::kString ? (i < 7 ? 1000 : 1) : 6);
  EXPECT_EQ(trial.way(), Way::kString);
}

TEST(CopyTrial, RestsLongerAndLongerUpToABound) {
  CopyTrial trial;
  std::uint32_t longest = 0;
  for (int trials = 0; trials < 10; ++trials) {
    std::uint32_t rest = 0;
    for (; !trial.trying(); ++rest) trial.copied();
    EXPECT_GE(rest, longest);
    longest = rest;
    while (trial.trying()) trial.timed(1);
  }
  EXPECT_EQ(longest, CopyTrial::kLongestRest);
}

TEST(MeasuredCopy, CopiesEveryLengthInRestAndTrial) {
  ManualClock clock;
  MeasuredCopy copy;
  constexpr std::size_t kMost = 300'000;
  std::vector<std::byte> from(kMost), to(kMost);
  for (std::size_t i = 0; i < kMost; ++i) from[i] = static_cast<std::byte>(i * 31 + i / 251);
  for (const std::size_t bytes : {0ul, 1ul, 512ul, 4095ul, 4096ul, 4097ul, 65'537ul, kMost}) {
    for (unsigned times = 0; times < CopyTrial::kFirstRest + 2 * CopyTrial::kOfEach + 1; ++times) {
      std::fill(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(bytes), std::byte{0xee});
      copy(clock, to.data(), from.data(), bytes);
      ASSERT_TRUE(std::equal(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(bytes), from.begin())) << bytes;
    }
  }
}

}  // namespace
}  // namespace lapwing
