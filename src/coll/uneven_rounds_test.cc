#include "coll/uneven_rounds.h"

#include <gtest/gtest.h>

namespace lapwing::coll {
namespace {

TEST(UnevenRounds, AreAsManyAsTheCallBeforeNeededAndGetFewerSlowly) {
  UnevenRounds rounds;
  EXPECT_EQ(rounds.now(), 1u);
  rounds.needed(20);
  EXPECT_EQ(rounds.now(), 20u);
  rounds.needed(1);
  EXPECT_EQ(rounds.now(), 17u) << "19 fewer, of which an eighth is taken back";
  rounds.needed(32);
  EXPECT_EQ(rounds.now(), 32u);
  int calls = 0;
  for (; rounds.now() > 1; ++calls) rounds.needed(1);
  EXPECT_GT(calls, 8);
  EXPECT_LT(calls, 32);
}

TEST(UnevenRounds, AreFewerWithManyRanks) {
  EXPECT_EQ(UnevenRounds::most(2), 32u);
  EXPECT_EQ(UnevenRounds::most(100), 10u);
  EXPECT_EQ(UnevenRounds::most(5000), 1u);
}

}  // namespace
}  // namespace lapwing::coll
