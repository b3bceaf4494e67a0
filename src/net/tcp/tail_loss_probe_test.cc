#include "net/tcp/tail_loss_probe.h"

#include <gtest/gtest.h>

namespace lapwing::net::tcp {
namespace {

using Action = TailLossProbe::Action;

// The rounds until the connection is broken, of which the first asks.
unsigned rounds_to_break(TailLossProbe& probe, std::uint64_t needed, std::uint64_t acknowledged) {
  EXPECT_EQ(probe.judge(needed, acknowledged, false), Action::kAsk);
  for (unsigned rounds = 1;; ++rounds) {
    if (probe.judge(needed, acknowledged, false) == Action::kBreak) return rounds;
  }
}

TEST(TailLossProbe, WhereAllIsAcknowledgedNothingIsAsked) {
  TailLossProbe probe;
  for (int round = 0; round < 100; ++round) EXPECT_EQ(probe.judge(0, 0, false), Action::kNone);
  for (int round = 0; round < 100; ++round) EXPECT_EQ(probe.judge(3, 5, false), Action::kNone);
}

TEST(TailLossProbe, ItAsksOnceAndThenBreaks) {
  TailLossProbe probe;
  EXPECT_EQ(rounds_to_break(probe, 1, 0), TailLossProbe::kFirstPatience);
}

TEST(TailLossProbe, ProgressAndBytesUnderWayBeginAgain) {
  TailLossProbe probe(2, 2);
  for (std::uint64_t acknowledged = 1; acknowledged < 50; ++acknowledged) {
    EXPECT_EQ(probe.judge(50, acknowledged, false), Action::kNone);
    EXPECT_EQ(probe.judge(50, acknowledged, false), Action::kAsk);
    EXPECT_EQ(probe.judge(50, acknowledged, false), Action::kNone);
  }
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(probe.judge(50, 49, true), Action::kNone);
    EXPECT_EQ(probe.judge(50, 49, false), Action::kAsk);
  }
}

// A peer that had everything only answered late.
TEST(TailLossProbe, ABreakInVainMakesItPatientUpToABound) {
  TailLossProbe probe(2, 8);
  std::uint64_t frames = 0;
  for (const unsigned patience : {2u, 4u, 8u, 8u}) {
    EXPECT_EQ(rounds_to_break(probe, frames + 1, frames), patience);
    EXPECT_TRUE(probe.stands(++frames));
  }
  EXPECT_EQ(rounds_to_break(probe, frames + 1, frames), 8u);
  EXPECT_FALSE(probe.stands(frames));
  EXPECT_EQ(rounds_to_break(probe, frames + 1, frames), 8u) << "what was swallowed is no reason";
}

TEST(TailLossProbe, APeerThatPollsHasAllThePatienceFromTheBeginning) {
  TailLossProbe probe(2, 8);
  EXPECT_FALSE(probe.stands(0, true));
  for (std::uint64_t frames = 0; frames < 3; ++frames) {
    EXPECT_EQ(rounds_to_break(probe, frames + 1, frames), 8u);
    EXPECT_TRUE(probe.stands(frames + 1, true));
  }
}

TEST(TailLossProbe, ABreakOfAnotherKindDoesNot) {
  TailLossProbe probe(2, 8);
  EXPECT_EQ(probe.judge(1, 0, false), Action::kAsk);
  probe.stands(1);
  EXPECT_EQ(rounds_to_break(probe, 2, 1), 2u);
}

}  // namespace
}  // namespace lapwing::net::tcp
