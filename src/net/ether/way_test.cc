#include "net/ether/way.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "net/ether/liveness.h"

namespace lapwing::net::ether {
namespace {

constexpr std::int64_t kPause = Liveness::kPauseBeforeDetour, kTrip = 50'000;

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

void grow_pauses(Asked& asked) {
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

TEST(Way, PausesOnTheDetourGrow) {
  Asked asked;
  asked.leave();
  grow_pauses(asked);
}

TEST(Way, TheDetourIsAskedForWhereNoWayIsLeft) {
  Asked asked;
  asked.way.close();
  EXPECT_TRUE(asked.way.on_detour());
  EXPECT_TRUE(asked.way.asks(asked.now));
  grow_pauses(asked);
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

// ---- every transition -----------------------------------------------------------------------------------------------

using State = Way::State;
constexpr std::int64_t kBegin = 1'000'000'000;

Way way_in(State state) {
  Way way;
  if (state == State::kDoubtful) way.asked(kBegin);
  if (state == State::kDetour || state == State::kReturning) {
    for (unsigned i = 0; i < Way::kMostUnanswered; ++i) way.asked(kBegin);
    way.judge(kBegin + kPause, kPause);
  }
  if (state == State::kReturning) way.answered(kBegin + kPause);
  if (state == State::kClosed) way.close();
  return way;
}

TEST(Way, EveryEventInEveryState) {
  struct Row {
    State from, asked, answered, answered_for_long, doubted, left_unanswered;
  };
  constexpr Row kRows[] = {
      {State::kEther, State::kDoubtful, State::kEther, State::kEther, State::kDoubtful, State::kDetour},
      {State::kDoubtful, State::kDoubtful, State::kEther, State::kEther, State::kDoubtful, State::kDetour},
      {State::kDetour, State::kDetour, State::kReturning, State::kEther, State::kDetour, State::kDetour},
      {State::kReturning, State::kReturning, State::kReturning, State::kEther, State::kReturning, State::kDetour},
      {State::kClosed, State::kClosed, State::kClosed, State::kClosed, State::kClosed, State::kClosed},
  };
  constexpr std::int64_t kLater = kBegin + kPause + kTrip;
  for (const Row& row : kRows) {
    const auto after = [&](auto&& event) {
      Way way = way_in(row.from);
      EXPECT_EQ(way.state(), row.from);
      event(way);
      return way.state();
    };
    SCOPED_TRACE(static_cast<int>(row.from));
    EXPECT_EQ(after([](Way& way) { way.asked(kLater); }), row.asked);
    EXPECT_EQ(after([](Way& way) { way.answered(kLater); }), row.answered);
    EXPECT_EQ(after([](Way& way) { way.answered(kLater), way.answered(kLater + Way::kSteady); }), row.answered_for_long);
    EXPECT_EQ(after([](Way& way) { way.doubt(); }), row.doubted);
    EXPECT_EQ(after([](Way& way) { way.close(); }), State::kClosed);
    EXPECT_EQ(after([](Way& way) { way.judge(Way::kNever - 1, kPause); }), row.from) << "time alone says nothing";
    EXPECT_EQ(after([](Way& way) {
                for (unsigned i = 0; i < Way::kMostUnanswered; ++i) way.asked(kLater);
                way.judge(kLater + Way::kMostPause, kPause);
              }),
              row.left_unanswered);
  }
}

// All sequences of what can happen to a way, up to a length. What was answered, and since when, is counted beside it.
class EverySequence {
 public:
  int sequences = 0, returns = 0;

  void go_on(const Way& way, std::int64_t now, unsigned unanswered, std::int64_t answers_since, int length) {
    comes_back(way, now);
    if (length == 0 || testing::Test::HasFatalFailure()) {
      ++sequences;
      return;
    }
    for (const bool answered : {false, true}) {
      for (const std::int64_t passes : {kTrip, kPause, Way::kSteady}) {
        Way next = way;
        next.asked(now);
        unsigned lost = unanswered + 1;
        std::int64_t since = answers_since;
        if (answered) {
          next.answered(now);
          lost = 0;
          if (since == Way::kNever) since = now;
        }
        if (way.on_detour() && !next.on_detour()) {
          ++returns;
          ASSERT_GE(now - since, Way::kSteady) << "back after fewer answers";
        }
        next.judge(now + passes, kPause);
        if (!way.on_detour() && next.on_detour()) {
          ASSERT_GE(lost, Way::kMostUnanswered) << "away after fewer losses";
        }
        if (next.state() == State::kDetour) since = Way::kNever;
        ASSERT_EQ(next.in_doubt() || next.state() == State::kEther, !next.on_detour());
        go_on(next, now + passes, lost, since, length - 1);
      }
    }
    Way next = way;
    next.doubt();
    ASSERT_EQ(next.on_detour(), way.on_detour()) << "a doubt alone turns nothing";
  }

 private:
  // From wherever it is, when probes are answered from now on; and a way on the detour always wants to ask again.
  static void comes_back(Way way, std::int64_t now) {
    for (int asks = 0; way.state() != State::kEther; ++asks) {
      ASSERT_LE(asks, 1 + Way::kMostSteady / Way::kFirstPause);
      if (way.on_detour()) {
        ASSERT_LE(way.deadline(kPause), now + Way::kMostPause);
        now = std::max(now, way.deadline(kPause));
        ASSERT_TRUE(way.asks(now));
      }
      way.asked(now);
      way.answered(now);
    }
  }
};

TEST(Way, EverySequenceOfEventsKeepsTheRules) {
  EverySequence all;
  all.go_on(Way(), kBegin, 0, Way::kNever, 7);
  EXPECT_EQ(all.sequences, 6 * 6 * 6 * 6 * 6 * 6 * 6);
  EXPECT_GT(all.returns, 0);
}

// ---- two ranks ------------------------------------------------------------------------------------------------------

// What link.cc does with its way: packets that come by the detour are worth a question. A probe goes there and its answer back, so that it needs
// both directions.
struct TwoWays {
  std::array<Way, 2> ways;
  std::array<std::int64_t, 2> asked_at{};
  std::int64_t now = kBegin;
  bool carries[2] = {true, true};  // from this rank

  // `amiss`: a rank whose packets are not acknowledged. Every rank has some to send.
  void pass(std::int64_t time, std::array<bool, 2> amiss) {
    for (const std::int64_t end = now + time; now < end; now += kTick) {
      for (const std::size_t me : {0u, 1u}) {
        Way& way = ways[me];
        if (ways[1 - me].on_detour()) way.doubt();
        way.judge(now, kPause);
        const bool asks = way.on_detour() ? way.asks(now) : (amiss[me] || way.in_doubt()) && now >= asked_at[me] + kPause;
        if (!asks) continue;
        asked_at[me] = now;
        way.asked(now);
        if (carries[0] && carries[1]) way.answered(now);
      }
    }
  }
  bool both_on_detour() const { return ways[0].on_detour() && ways[1].on_detour(); }
  bool none_on_detour() const { return !ways[0].on_detour() && !ways[1].on_detour(); }

 private:
  static constexpr std::int64_t kTick = 10'000'000;
};

TEST(Way, AFailureInOneDirectionTurnsBothRanks) {
  for (const std::size_t fails : {0u, 1u}) {
    for (const std::size_t notices : {0u, 1u}) {
      TwoWays two;
      std::array<bool, 2> amiss{};
      two.carries[fails] = false;
      amiss[notices] = true;
      two.pass(Way::kMostUnanswered * kPause + kPause, amiss);
      EXPECT_TRUE(two.ways[notices].on_detour());
      two.pass((Way::kMostUnanswered + 1) * kPause, {});
      EXPECT_TRUE(two.both_on_detour()) << "the other learns it by what comes";
      two.pass(60'000'000'000, {});
      EXPECT_TRUE(two.both_on_detour()) << "for as long as it lasts";
      two.carries[fails] = true;
      two.pass(2 * (Way::kMostPause + Way::kSteady), {});
      EXPECT_TRUE(two.none_on_detour());
    }
  }
}

}  // namespace
}  // namespace lapwing::net::ether
