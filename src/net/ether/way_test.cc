#include "net/ether/way.h"

#include <gtest/gtest.h>

namespace lapwing::net::ether {
namespace {

constexpr std::int64_t kPause = 250'000'000, kTrip = 50'000;

// The way and its clock; whether probes are answered is the test's choice.
struct Asked {
  Way way;
  std::int64_t now = 1'000'000'000;

  void ask(bool answered) {
    way.judge(now, kPause);
    if (way.on_detour() && !way.asks(now)) now = way.deadline(kPause);
    way.judge(now, kPause);
    way.asked(now);
    if (answered) way.answered(now + kTrip);
    now += way.on_detour() ? kTrip : kPause;
    way.judge(now, kPause);
  }
  void leave() {
    for (unsigned i = 0; i < Way::kMostUnanswered; ++i) ask(false);
    ASSERT_EQ(way.state(), Way::State::kDetour);
  }
  // How long probes were answered until packets went by ether again.
  std::int64_t come_back() {
    ask(true);
    const std::int64_t since = now;
    while (way.on_detour()) ask(true);
    return now - since;
  }
};

TEST(Way, StaysWhereProbesAreAnswered) {
  Asked asked;
  for (int i = 0; i < 100; ++i) asked.ask(true);
  EXPECT_EQ(asked.way.state(), Way::State::kEther);
  EXPECT_EQ(asked.way.deadline(kPause), Way::kNever);
}

TEST(Way, FewProbesThatAreLostLeadNowhere) {
  Asked asked;
  for (int i = 0; i < 20; ++i) {
    for (unsigned lost = 1; lost < Way::kMostUnanswered; ++lost) asked.ask(false);
    EXPECT_EQ(asked.way.state(), Way::State::kDoubtful);
    asked.ask(true);
    EXPECT_EQ(asked.way.state(), Way::State::kEther);
  }
}

TEST(Way, ProbesThatAreNotAnsweredLeadToTheDetour) {
  Asked asked;
  for (unsigned i = 0; i < Way::kMostUnanswered; ++i) {
    EXPECT_FALSE(asked.way.on_detour());
    asked.ask(false);
  }
  EXPECT_EQ(asked.way.state(), Way::State::kDetour);
}

TEST(Way, TheLastProbeHasItsTime) {
  Way way;
  for (unsigned i = 0; i < Way::kMostUnanswered; ++i) way.asked(1000);
  way.judge(1000 + kPause - 1, kPause);
  EXPECT_EQ(way.state(), Way::State::kDoubtful);
  EXPECT_EQ(way.deadline(kPause), 1000 + kPause);
  way.judge(1000 + kPause, kPause);
  EXPECT_EQ(way.state(), Way::State::kDetour);
}

TEST(Way, PausesOnTheDetourGrow) {
  Asked asked;
  asked.leave();
  std::int64_t before = 0;
  for (int i = 0; i < 10; ++i) {
    asked.way.asked(asked.now);
    const std::int64_t pause = asked.way.deadline(kPause) - asked.now;
    EXPECT_GE(pause, before);
    EXPECT_LE(pause, Way::kMostPause);
    EXPECT_FALSE(asked.way.asks(asked.now + pause - 1));
    EXPECT_TRUE(asked.way.asks(asked.now + pause));
    asked.now += before = pause;
  }
  EXPECT_EQ(before, Way::kMostPause);
}

TEST(Way, ReturnsWhenProbesWereAnsweredForAWhile) {
  Asked asked;
  asked.leave();
  asked.ask(true);
  EXPECT_EQ(asked.way.state(), Way::State::kReturning) << "one answer is too few";
  EXPECT_GE(asked.come_back(), Way::kSteady - Way::kFirstPause);
  EXPECT_EQ(asked.way.state(), Way::State::kEther);
}

TEST(Way, AReturnThatFailsStaysOnTheDetour) {
  Asked asked;
  asked.leave();
  asked.ask(true);
  for (unsigned i = 0; i < Way::kMostUnanswered; ++i) {
    EXPECT_TRUE(asked.way.on_detour());
    asked.ask(false);
  }
  asked.way.judge(asked.way.deadline(kPause), kPause);
  EXPECT_EQ(asked.way.state(), Way::State::kDetour);
  asked.now += Way::kSteady;
  asked.ask(true);
  EXPECT_EQ(asked.way.state(), Way::State::kReturning) << "what was answered before counts for nothing";
}

TEST(Way, OneThatFailsAgainSoonAnswersForLonger) {
  Asked asked;
  asked.leave();
  std::int64_t before = asked.come_back();
  for (int i = 0; i < 3; ++i) {
    asked.leave();
    const std::int64_t took = asked.come_back();
    EXPECT_GT(took, before + before / 2);
    before = took;
  }
  asked.now += 2 * Way::kMostSteady;
  asked.leave();
  EXPECT_LT(asked.come_back(), before / 2) << "it was good for long";
}

TEST(Way, APeerOnTheDetourIsWorthAQuestion) {
  Asked asked;
  asked.way.doubt();
  EXPECT_TRUE(asked.way.in_doubt());
  EXPECT_FALSE(asked.way.on_detour());
  asked.ask(true);
  EXPECT_EQ(asked.way.state(), Way::State::kEther);
}

}  // namespace
}  // namespace lapwing::net::ether
