// Two sides of a channel over a protected connection (src/net/channel.h and src/net/tcp/tail_loss_probe.h, the classes themselves), of which
// something on the way swallows records while TCP acknowledges them. What follows a missing record ends the connection (wire/record.h); behind the
// last one nothing follows, and the sender's rounds must find out.
//
// A round may come before the peer has looked at what it was sent, some times: then a connection may be broken in vain.
//
// What must hold: each frame is delivered once and in order, its sender is told, and no connection is broken for silence over which everything came,
// and in time.
#include <gtest/gtest.h>

#include <algorithm>

#include "checker.h"
#include "net/channel.h"
#include "net/tcp/tail_loss_probe.h"

namespace lapwing::model {
namespace {

constexpr int kFrames = 2;  // of each side; questions and acknowledgements are frames as well
constexpr int kMostUnderWay = 2;
constexpr int kSwallows = 2;
constexpr int kEarlyRounds = 3;
constexpr std::uint64_t kAskedBefore = 255;
constexpr unsigned kPatience = 1, kLongestPatience = 2;  // rounds

enum class Wrong {
  kNothing,
  kNeverAsks,        // a side waits for an answer that it has not asked for
  kNeverBreaks,      // a side that has asked waits for ever
  kAsksOnce,         // ... does not ask again over another connection
  kGoesOnCounting,   // rounds over an earlier connection count
  kAnswersNothing,   // a side that is asked says what has come only when a frame goes back anyway
  kResendsNothing,   // another connection goes on behind what was sent
};

class Swallowing {
 public:
  struct Record {
    std::uint32_t sequence, acknowledgement;
    std::uint64_t frame;  // what it really is
    std::uint8_t number, asks, padding[6];
  };
  struct Side {
    net::Channel channel;
    net::tcp::TailLossProbe probe{kPatience, kLongestPatience};
    std::uint64_t question;  // the number of the frame that asks over this connection plus one; 0: none does
    std::uint8_t delivered, frames, wrong;
    std::uint8_t under_way, records_out, records_in, padding[2];
    Record way[kMostUnderWay];  // to this side
  };
  struct State {
    Side sides[2];
    std::uint8_t swallowed, early, padding[4];
    std::uint8_t faults;     // of the two, over this connection
    std::uint8_t in_vain;    // a connection without one was broken for silence
  };

  explicit Swallowing(Wrong wrong) : wrong_(wrong) {}

  enum { kSend, kReceive, kAcknowledge, kRound, kBothSides, kSwallow = 2 * kBothSides, kMend, kThreads };
  int threads() const { return kThreads; }
  void begin(State& s) const {
    for (Side& side : s.sides) side.frames = kFrames;
  }

  bool step(State& s, int thread, Step& step) const {
    if (thread == kSwallow) return swallow(s, step);
    if (thread == kMend) return mend(s, step);
    const int me = thread % 2;
    if (s.sides[me].channel.state() != net::Channel::State::kUp) return false;
    switch (thread / 2) {
      case kSend:
        return send(s.sides[me], s.sides[1 - me], step);
      case kReceive:
        return receive(s, me, step);
      case kAcknowledge:
        return acknowledge(s.sides[me], step);
      default:
        return round(s, me, step);
    }
  }
  const char* broken(const State& s) const {
    for (int i = 0; i < 2; ++i) {
      const Side &side = s.sides[i], &other = s.sides[1 - i];
      if (side.wrong == 1) return "a side refuses an honest frame, or to go on";
      if (side.wrong == 2) return "a frame is delivered twice, or out of order";
      if (side.channel.acknowledged() > other.delivered) return "a frame is forgotten before it was delivered";
    }
    return s.in_vain ? "a connection is broken that carries everything" : nullptr;
  }
  const char* unfinished(const State& s) const {
    for (const Side& side : s.sides) {
      if (side.delivered < kFrames) return "a frame does not come";
      if (side.channel.acknowledged() < kFrames) return "a sender is not told";
    }
    return nullptr;
  }

 private:
  static bool all_sent(const Side& side) { return side.channel.next() == side.frames; }
  static std::uint64_t needed(const Side& side) { return std::min<std::uint64_t>(side.channel.sent(), kFrames); }

  bool send(Side& from, Side& to, Step& step) const {
    if (all_sent(from) || to.under_way == kMostUnderWay) return false;
    step.name("a record leaves");
    wire::FrameHeader header;
    const std::uint64_t frame = from.channel.next();
    from.channel.stamp(header);
    const std::uint8_t asks = frame + 1 == from.question;
    to.way[to.under_way++] = {header.numbers().sequence, header.numbers().acknowledgement, frame, from.records_out++, asks, {}};
    return true;
  }

  bool receive(State& s, int me, Step& step) const {
    Side& side = s.sides[me];
    if (side.under_way == 0) return false;
    step.name("a record comes");
    const Record record = side.way[0];
    drop(side, 0);
    if (record.number != side.records_in++) {
      break_connection(s);
      return true;
    }
    wire::FrameHeader header;
    header.number(record.sequence, record.acknowledgement);
    header.set_flags(record.asks != 0 ? wire::kFlagAcknowledge : 0);
    if (!side.channel.accept(header).ok()) side.wrong = 1;
    if (record.frame != side.delivered) side.wrong = 2;
    side.channel.receive();
    ++side.delivered;
    return true;
  }

  // One more frame, which only tells what has come.
  bool acknowledge(Side& side, Step& step) const {
    if (!side.channel.owes_acknowledgement() || !all_sent(side) || wrong_ == Wrong::kAnswersNothing) return false;
    step.name("an answer is due");
    ++side.frames;
    return true;
  }

  bool round(State& s, int me, Step& step) const {
    Side& side = s.sides[me];
    if (!all_sent(side) || side.channel.acknowledged() >= needed(side)) return false;
    step.name("a round");
    if (!nothing_moves(s) && !spend(s.early, kEarlyRounds, s)) return false;
    using Action = net::tcp::TailLossProbe::Action;
    const Action action = side.probe.judge(needed(side), side.channel.acknowledged(), false);
    if (action == Action::kAsk && side.question == 0 && wrong_ != Wrong::kNeverAsks) side.question = ++side.frames;
    if (action != Action::kBreak) return true;
    if (wrong_ == Wrong::kNeverBreaks) return false;
    s.in_vain = s.faults == 0;
    break_connection(s);
    return true;
  }
  static bool spend(std::uint8_t& count, int most, State& s) {
    if (count == most) return false;
    ++count;
    ++s.faults;
    return true;
  }
  bool nothing_moves(const State& s) const {
    return std::all_of(std::begin(s.sides), std::end(s.sides), [this](const Side& side) {
      return side.under_way == 0 && all_sent(side) && (!side.channel.owes_acknowledgement() || wrong_ == Wrong::kAnswersNothing);
    });
  }

  bool swallow(State& s, Step& step) const {
    Side& to = s.sides[step.choose(2)];
    const int which = step.choose(kMostUnderWay);
    if (which >= to.under_way || !spend(s.swallowed, kSwallows, s)) return false;
    step.name("a record is swallowed");
    drop(to, which);
    return true;
  }
  static void drop(Side& to, int which) {
    --to.under_way;
    for (int i = which; i < to.under_way; ++i) to.way[i] = to.way[i + 1];
    to.way[to.under_way] = {};
  }

  void break_connection(State& s) const {
    s.faults = 0;
    for (Side& side : s.sides) {
      side.channel.down();
      while (side.under_way > 0) drop(side, 0);
      side.records_in = side.records_out = 0;
      if (side.question != 0) side.question = wrong_ == Wrong::kAsksOnce ? kAskedBefore : 0;
    }
  }

  bool mend(State& s, Step& step) const {
    if (s.sides[0].channel.state() == net::Channel::State::kUp) return false;
    step.name("a connection stands");
    const std::uint64_t expects[] = {s.sides[1].channel.received(), s.sides[0].channel.received()};
    for (int i = 0; i < 2; ++i) {
      Side& side = s.sides[i];
      if (!side.channel.up(wrong_ == Wrong::kResendsNothing ? side.channel.sent() : expects[i]).ok()) side.wrong = 1;
      if (wrong_ != Wrong::kGoesOnCounting) side.probe.stands(side.channel.acknowledged());
    }
    return true;
  }

  Wrong wrong_;
};

TEST(TailLossModel, WhatIsSwallowedComesAndNothingElseBreaks) {
  const Verdict verdict = check(Swallowing(Wrong::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

struct TailLossCase {
  Wrong wrong;
  Verdict::Kind verdict;
};
class TailLossMutant : public ::testing::TestWithParam<TailLossCase> {};

TEST_P(TailLossMutant, IsFoundOut) {
  const Verdict verdict = check(Swallowing(GetParam().wrong));
  EXPECT_EQ(verdict.kind, GetParam().verdict) << verdict.why;
}

INSTANTIATE_TEST_SUITE_P(Each, TailLossMutant,
                         ::testing::Values(TailLossCase{Wrong::kNeverAsks, Verdict::kBroken}, TailLossCase{Wrong::kNeverBreaks, Verdict::kStuck},
                                           TailLossCase{Wrong::kAsksOnce, Verdict::kBroken}, TailLossCase{Wrong::kGoesOnCounting, Verdict::kBroken},
                                           TailLossCase{Wrong::kAnswersNothing, Verdict::kBroken},
                                           TailLossCase{Wrong::kResendsNothing, Verdict::kBroken}));

}  // namespace
}  // namespace lapwing::model
