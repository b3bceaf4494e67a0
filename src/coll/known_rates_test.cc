#include "coll/known_rates.h"

#include <gtest/gtest.h>

namespace lapwing::coll {
namespace {

TEST(KnownRates, WhatNoCommunicatorFoundIsNotKnown) {
  KnownRates rates;
  EXPECT_EQ(rates.of({0, 1}), std::nullopt);
  rates.add({0, 1}, 8);
  EXPECT_EQ(rates.of({0, 2}), std::nullopt);
  EXPECT_EQ(rates.of({0, 1, 2}), std::nullopt);
}

TEST(KnownRates, IsThatOfTheSameHostsAndOfFewer) {
  KnownRates rates;
  rates.add({0, 1, 3}, 8);
  EXPECT_EQ(rates.of({0, 1, 3}), 8);
  EXPECT_EQ(rates.of({0, 3}), 8);
}

TEST(KnownRates, TheLatestCounts) {
  KnownRates rates;
  rates.add({0, 1}, 8);
  rates.add({0, 1, 2}, 0.8);
  EXPECT_EQ(rates.of({0, 1}), 0.8);
  rates.add({0, 1}, 3.2);
  EXPECT_EQ(rates.of({0, 1}), 3.2);
  EXPECT_EQ(rates.of({0, 2}), 0.8);
}

TEST(KnownRates, ThreeThatCouldNotTellAreEnough) {
  KnownRates rates;
  for (int i = 0; i < 2; ++i) {
    rates.add({0, 1}, 0);
    EXPECT_EQ(rates.of({0, 1}), std::nullopt);
  }
  rates.add({0, 1}, 0);
  EXPECT_EQ(rates.of({0, 1}), 0);
  rates.add({0, 1}, 8);
  EXPECT_EQ(rates.of({0, 1}), 8);
  rates.add({0, 1}, 0);
  EXPECT_EQ(rates.of({0, 1}), std::nullopt);
}

TEST(KnownRates, TheOldestIsForgotten) {
  KnownRates rates;
  for (std::uint32_t host = 1; host <= 17; ++host) rates.add({0, host}, host);
  EXPECT_EQ(rates.of({0, 1}), std::nullopt);
  EXPECT_EQ(rates.of({0, 2}), 2);
  EXPECT_EQ(rates.of({0, 17}), 17);
}

}  // namespace
}  // namespace lapwing::coll
