#include "coll/uneven_rounds.h"

#include <gtest/gtest.h>

namespace lapwing::coll {
namespace {

TEST(UnevenRounds, AreAsManyAsTheCallBeforeNeededAndGetFewerSlowly) {
  UnevenRounds rounds;
  EXPECT_EQ(rounds.now(), 1u);
  rounds.needed(UnevenNeed::on_area(20));
  EXPECT_EQ(rounds.now(), 20u);
  rounds.needed({});
  EXPECT_EQ(rounds.now(), 17u) << "19 fewer, of which an eighth is taken back";
  rounds.needed(UnevenNeed::on_area(31));
  EXPECT_EQ(rounds.now(), 31u);
  int calls = 0;
  for (; rounds.now() > 1; ++calls) rounds.needed({});
  EXPECT_GT(calls, 8);
  EXPECT_LT(calls, 31);
}

TEST(UnevenRounds, AreFewerWithManyRanks) {
  EXPECT_EQ(UnevenRounds::most(2), 31u);
  EXPECT_EQ(UnevenRounds::most(100), 10u);
  EXPECT_EQ(UnevenRounds::most(5000), 1u);
}

// What a rank says of longer blocks is more, so that the most of what all say is of the longest.
TEST(UnevenNeed, GrowsWithTheLongestBlock) {
  const UnevenNeed needs[] = {UnevenNeed(),
                              UnevenNeed::as_messages(1),
                              UnevenNeed::as_messages(3),
                              UnevenNeed::as_messages(UnevenNeed::kMostRounds),
                              UnevenNeed::on_area(2),
                              UnevenNeed::on_area(UnevenNeed::kMostRounds)};
  for (std::size_t i = 1; i < std::size(needs); ++i) EXPECT_LT(needs[i - 1].bits(), needs[i].bits()) << i;
  EXPECT_LE(needs[5].bits(), kMostPartNeed);
  EXPECT_EQ(UnevenNeed::on_area(1).bits(), UnevenNeed().bits());
}

TEST(UnevenNeed, IsReadAsItWasSaid) {
  for (const std::uint32_t rounds : {2u, 3u, UnevenNeed::kMostRounds}) {
    const UnevenNeed messages = UnevenNeed::said(UnevenNeed::as_messages(rounds).bits()), area = UnevenNeed::said(UnevenNeed::on_area(rounds).bits());
    EXPECT_TRUE(messages.by_messages());
    EXPECT_FALSE(area.by_messages());
    EXPECT_EQ(messages.rounds(), rounds);
    EXPECT_EQ(area.rounds(), rounds);
  }
  EXPECT_EQ(UnevenNeed::as_messages(1).rounds(), 2u) << "one round says that blocks are short";
  EXPECT_EQ(UnevenNeed::on_area(1000).rounds(), UnevenNeed::kMostRounds);
  // What a peer that is wrong may say.
  EXPECT_EQ(UnevenNeed::said(0).rounds(), 1u);
  for (std::uint32_t bits = 0; bits <= kMostPartNeed; ++bits) {
    EXPECT_GE(UnevenNeed::said(bits).rounds(), 1u);
    EXPECT_LE(UnevenNeed::said(bits).rounds(), UnevenNeed::kMostRounds);
  }
}

// So many calls by messages follow.
std::uint32_t run_of(UnevenRounds& rounds) {
  std::uint32_t calls = 0;
  for (; rounds.by_messages(); ++calls) rounds.called();
  rounds.called();
  return calls;
}

TEST(UnevenRounds, MessagesAreAskedAboutLessAndLessOften) {
  UnevenRounds rounds;
  EXPECT_EQ(run_of(rounds), 0u);
  for (const std::uint32_t run : {7u, 15u, 31u, 31u}) {
    rounds.needed(UnevenNeed::as_messages(1));
    EXPECT_EQ(run_of(rounds), run);
  }
  for (const UnevenNeed other : {UnevenNeed(), UnevenNeed::on_area(5)}) {
    rounds.needed(other);
    EXPECT_EQ(run_of(rounds), 0u);
    rounds.needed(UnevenNeed::as_messages(2));
    EXPECT_EQ(run_of(rounds), 7u) << "and begin anew";
  }
}

}  // namespace
}  // namespace lapwing::coll
