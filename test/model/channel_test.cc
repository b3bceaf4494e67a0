// Two sides of a channel (src/net/channel.h, the class itself) and a link between them that breaks at any time, with frames on their
// way in both directions, and is mended.
//
// A side whose frames are known to have come, and that has had the other's, may leave: then no other link is made.
//
// What must hold: each frame is delivered once and in order; none is forgotten by its sender before that; all come; and a sender that asks to be told
// of its last frame is told.
#include <gtest/gtest.h>

#include "checker.h"
#include "net/channel.h"

namespace lapwing::model {
namespace {

constexpr int kFrames = 3;  // of each side; acknowledgements are frames as well
constexpr int kMostUnderWay = 2;
constexpr int kBreaks = 2;

enum class Wrong {
  kNothing,
  kForgetsWhatWasTaken,       // goes on behind what it has sent
  kRepeatsWhatWasDelivered,   // goes on behind what was acknowledged, whatever the peer expects
  kCountsWhatDidNotComeWhole,  // a frame counts when its header comes
  kOwesNothing,                // what has come is only told when a frame goes back anyway
  kAsksOnce,                   // a frame that is sent again does not ask again
  kLeavesWhenSent,             // a side leaves when its frames have left, and does not wait until it is told that they have come
};

class Mending {
 public:
  struct Frame {
    std::uint32_t sequence, acknowledgement;
    std::uint64_t number;  // what it really is
    std::uint64_t flags;
  };
  struct Side {
    net::Channel channel;
    std::uint8_t delivered, under_way, half, wrong;  // `half`: a header was accepted, and its payload is coming
    std::uint8_t frames, asked, left, padding;       // `frames`: that there are to send, acknowledgements included
    Frame way[kMostUnderWay];  // to this side
  };
  struct State {
    Side sides[2];
    std::uint8_t breaks;
    std::uint8_t padding[7];
  };

  explicit Mending(Wrong wrong) : wrong_(wrong) {}

  enum { kSend, kReceive, kAcknowledge, kLeave, kBothSides, kBreak = 2 * kBothSides, kMend, kThreads };
  int threads() const { return kThreads; }
  void begin(State& s) const {
    for (Side& side : s.sides) side.frames = kFrames;
  }

  bool step(State& s, int thread, Step& step) const {
    if (thread == kBreak) return break_link(s, step);
    if (thread == kMend) return mend(s, step);
    const int side = thread % 2;
    if (thread / 2 == kSend) return send(s.sides[side], s.sides[1 - side], step);
    if (s.sides[side].left) return false;
    if (thread / 2 == kLeave) return leave(s.sides[side], s.sides[1 - side], step);
    return thread / 2 == kReceive ? receive(s.sides[side], step) : acknowledge(s.sides[side], step);
  }
  const char* broken(const State& s) const {
    for (int i = 0; i < 2; ++i) {
      const Side &side = s.sides[i], &other = s.sides[1 - i];
      if (side.wrong == 1) return "a side refuses an honest frame, or to go on";
      if (side.wrong == 2) return "a frame is delivered twice, or out of order";
      if (side.channel.acknowledged() > other.delivered) return "a frame is forgotten before it was delivered";
    }
    return nullptr;
  }
  const char* unfinished(const State& s) const {
    for (int i = 0; i < 2; ++i) {
      if (s.sides[i].delivered < kFrames) return "a frame does not come";
      if (!s.sides[i].left) return "a side waits for ever";
    }
    return nullptr;
  }

 private:
  bool send(Side& from, Side& to, Step& step) const {
    net::Channel& channel = from.channel;
    if (channel.state() != net::Channel::State::kUp || channel.next() == from.frames || to.under_way == kMostUnderWay)
      return false;
    step.name("a frame leaves");
    wire::FrameHeader header;
    const std::uint64_t number = channel.next();
    const bool asks = number == kFrames - 1 && !(wrong_ == Wrong::kAsksOnce && from.asked != 0);
    if (asks) from.asked = 1;
    channel.stamp(header);
    to.way[to.under_way++] = {header.numbers().sequence, header.numbers().acknowledgement, number, asks ? wire::kFlagAcknowledge : 0u};
    return true;
  }

  // One more frame, which only tells what has come.
  bool acknowledge(Side& side, Step& step) const {
    const bool all_sent = side.channel.next() == side.frames;
    if (side.channel.state() != net::Channel::State::kUp || !side.channel.owes_acknowledgement() || !all_sent ||
        wrong_ == Wrong::kOwesNothing)
      return false;
    step.name("an acknowledgement is due");
    ++side.frames;
    return true;
  }

  bool receive(Side& to, Step& step) const {
    if (to.channel.state() != net::Channel::State::kUp || to.under_way == 0) return false;
    if (to.half == 0) {
      step.name("a header comes");
      wire::FrameHeader header;
      header.number(to.way[0].sequence, to.way[0].acknowledgement);
      header.set_flags(static_cast<std::uint8_t>(to.way[0].flags));
      if (!to.channel.accept(header).ok()) to.wrong = 1;
      if (wrong_ == Wrong::kCountsWhatDidNotComeWhole) to.channel.receive();
      to.half = 1;
      return true;
    }
    step.name("a frame is here whole");
    if (to.way[0].number != to.delivered) to.wrong = 2;
    ++to.delivered;
    if (wrong_ != Wrong::kCountsWhatDidNotComeWhole) to.channel.receive();
    to.half = 0;
    --to.under_way;
    for (int i = 0; i < to.under_way; ++i) to.way[i] = to.way[i + 1];
    to.way[to.under_way] = {};
    return true;
  }

  // What has left before still arrives, if the link does not break meanwhile. A side that has gone had all that it needed.
  bool leave(Side& side, const Side& other, Step& step) const {
    const bool told = side.channel.acknowledged() >= kFrames || (wrong_ == Wrong::kLeavesWhenSent && side.channel.sent() >= kFrames);
    const bool alone = other.left && side.under_way == 0;
    if (side.delivered < kFrames || (!told && !alone)) return false;
    step.name("a side leaves");
    side.left = 1;
    return true;
  }

  bool break_link(State& s, Step& step) const {
    if (s.breaks == kBreaks || s.sides[0].channel.state() != net::Channel::State::kUp) return false;
    step.name("the link breaks");
    ++s.breaks;
    for (Side& side : s.sides) {
      side.channel.down();
      side.under_way = side.half = 0;
      for (Frame& frame : side.way) frame = {};
    }
    return true;
  }

  bool mend(State& s, Step& step) const {
    if (s.sides[0].channel.state() == net::Channel::State::kUp || s.sides[0].left || s.sides[1].left) return false;
    step.name("a link stands");
    const std::uint64_t expects[] = {s.sides[1].channel.received(), s.sides[0].channel.received()};
    for (int i = 0; i < 2; ++i) {
      net::Channel& channel = s.sides[i].channel;
      const std::uint64_t from = wrong_ == Wrong::kForgetsWhatWasTaken       ? channel.sent()
                                 : wrong_ == Wrong::kRepeatsWhatWasDelivered ? channel.acknowledged()
                                                                             : expects[i];
      if (!channel.up(from).ok()) s.sides[i].wrong = 1;
    }
    return true;
  }

  Wrong wrong_;
};

TEST(Channel, ALinkMayBreakAtAnyTime) {
  const Verdict verdict = check(Mending(Wrong::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

TEST(Channel, EachRuleIsNeeded) {
  for (const Wrong wrong :
       {Wrong::kForgetsWhatWasTaken, Wrong::kRepeatsWhatWasDelivered, Wrong::kCountsWhatDidNotComeWhole, Wrong::kOwesNothing,
        Wrong::kAsksOnce, Wrong::kLeavesWhenSent})
    EXPECT_NE(check(Mending(wrong)).kind, Verdict::kHolds) << static_cast<int>(wrong);
}

}  // namespace
}  // namespace lapwing::model
