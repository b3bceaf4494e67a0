// Reading edge-triggered sockets (src/net/tcp/link.cc, inbox.cc, busy_links.cc): a busy link is read by every poll, and when
// the port announces it, by the next one; others are read at once, and so are all while too many are busy. A short read ends the
// reading without another system call. A busy link may leave the port, where it is not announced any more, until a thread is about to
// sleep; while the reader sleeps another thread may look in. The peer sends, ends, or both at once. The event thread, about to sleep
// in the middle of a long frame, asks to be woken for a larger piece (a watermark); others look at the port without that. What an
// announcement is, and what it is not, is what Linux does: kernel_facts_test.cc.
#include <gtest/gtest.h>

#include "checker.h"

namespace lapwing::model {
namespace {

enum class Without {
  kNothing,
  kAnnounceAgain,  // a turn's share of reads ends before the socket is empty, and that is that
  kLookForTheEnd,  // an end that was announced together with the last bytes is not looked for
  kArmRefuses,     // a thread sleeps though an announced busy link has not been read yet
  kPlaceIsKept,    // such a link loses its place among the busy ones to a busier one
  kPollLooks,      // such a link is passed over because too many are busy by now
  kComesBack,      // a thread sleeps while a busy link is outside the port
  kComesBackCold,  // a link outside the port loses its place among the busy ones, and is forgotten there
  kStaysForSleepers,  // a thread that looks in while another sleeps takes the link out of the port
  kLowering,       // the watermark stays where it is when less than that is missing of the frame
  kModesty,        // the watermark is higher than what is missing of the frame
};

class Socket {
 public:
  // Two frames: a long one, of which each part can be a piece of its own, and a short one.
  static constexpr int kLongFrame = 3, kMessages = kLongFrame + 1, kLargePiece = 2;
  struct State {
    std::uint8_t over, sent, ended, queued, edge, watermark;  // the peer's and the kernel's; a watermark of 0 is one of 1
    std::uint8_t at, end_announced, busy, expected, received, seen_end, outside, looked_in;
  };

  explicit Socket(Without without) : without_(without) {}
  int threads() const { return 3; }
  void begin(State&) const {}
  const char* broken(const State&) const { return nullptr; }
  const char* unfinished(const State& s) const {
    if (s.received != kMessages) return "bytes lie in the socket and no thread reads them";
    return s.ended && !s.seen_end ? "the peer has gone and no thread knows" : nullptr;
  }
  bool step(State& s, int thread, Step& step) const {
    return thread == 0 ? reader(s, step) : thread == 1 ? peer(s, step) : visitor(s, step);
  }

 private:
  // What the kernel does when something has come, or the watermark was set, or it was asked to announce again.
  static bool readable(const State& s) { return s.ended || (s.queued > 0 && s.queued >= s.watermark); }
  static void announce(State& s) {
    if (readable(s) && !s.outside) s.edge = 1;
  }
  static void leave_port(State& s) { s.outside = 1, s.edge = 0; }
  static void come_back(State& s) {
    s.outside = 0;
    announce(s);
  }
  static int missing(const State& s) { return s.received > 0 && s.received < kLongFrame ? kLongFrame - s.received : 0; }
  static void set_watermark(State& s, int pieces) {
    if (s.watermark == pieces) return;
    s.watermark = static_cast<std::uint8_t>(pieces);
    announce(s);
  }

  bool peer(State& s, Step& step) const {
    if (s.over) return false;
    if (s.sent == kMessages) {
      s.over = 1;
      step.name("peer: has sent all, and stays or closes");
      if (step.maybe()) return true;
      s.ended = 1;
    } else {
      step.name("peer: sends");
      ++s.sent, ++s.queued;
    }
    announce(s);
    return true;
  }

  // Another thread of the application: one look while the reader sleeps.
  bool visitor(State& s, Step& step) const {
    if (s.looked_in || s.at != kSleep || !s.busy) return false;
    step.name("visitor: polls the busy socket");
    s.looked_in = 1;
    receive(s, step);
    if (without_ == Without::kStaysForSleepers) leave_port(s);
    return true;
  }

  // Gives the place among the busy ones to another link.
  void grow_cold(State& s) const {
    s.busy = 0;
    if (s.outside && without_ != Without::kComesBackCold) come_back(s);
  }

  // One receive: reads all there is, or as much as a turn may (then the socket is not known to be empty).
  void receive(State& s, Step& step) const {
    if (s.queued == 0) {
      s.seen_end = s.ended;
      return;
    }
    const bool all = s.queued == 1 || step.maybe();
    const int taken = all ? s.queued : 1;
    s.received = static_cast<std::uint8_t>(s.received + taken);
    s.queued = static_cast<std::uint8_t>(s.queued - taken);
    if (missing(s) < s.watermark && without_ != Without::kLowering) set_watermark(s, 0);
    if (!all && without_ != Without::kAnnounceAgain) announce(s);
  }

  enum At { kLookAtPort, kSleep, kDeliver, kSecondLook, kTurn, kPoll, kOtherLinks };

  bool reader(State& s, Step& step) const {
    if (s.seen_end) return false;
    switch (s.at) {
      case kLookAtPort:
        s.at = kSleep;
        if (s.expected && without_ != Without::kArmRefuses) {
          step.name("reader: does not sleep, there is input");
          s.at = kPoll;
        } else if (s.busy && step.maybe()) {
          step.name("reader: arms");
          const bool large = missing(s) >= kLargePiece || without_ == Without::kModesty;
          set_watermark(s, large ? kLargePiece : 0);
        } else {
          step.name("reader: only looks at the port");
        }
        if (s.at == kSleep && s.busy && s.outside && without_ != Without::kComesBack) come_back(s);
        return true;
      case kSleep:
        if (!s.edge) return false;
        s.edge = 0;
        if (!readable(s)) return step.name("kernel: it is not readable any more"), true;
        step.name("reader: the port announces the socket");
        s.end_announced = s.ended;
        s.at = kDeliver;
        return true;
      case kDeliver:
        s.at = kTurn;
        if (s.busy && !s.end_announced && !step.maybe()) {
          step.name("reader: leaves the busy socket to the next poll");
          s.expected = 1;
          return true;
        }
        step.name("reader: receives");
        receive(s, step);
        s.busy = 1;
        s.at = kSecondLook;
        return true;
      case kSecondLook:
        step.name("reader: asks to be told of the end again");
        if (s.end_announced && without_ != Without::kLookForTheEnd) announce(s);
        s.end_announced = 0;
        s.at = kTurn;
        return true;
      case kTurn:
        // What it waited for may be here: then it leaves without another turn. And other links may be busier.
        step.name("reader: goes on, or leaves");
        s.end_announced = 0;
        if (step.maybe() && (!s.expected || without_ == Without::kPlaceIsKept)) grow_cold(s);
        s.at = step.maybe() ? kPoll : kLookAtPort;
        return true;
      case kPoll:
        step.name(s.busy ? "reader: polls the busy socket" : "reader: the socket is not among the busy ones");
        if (s.busy && ((s.expected && without_ != Without::kPollLooks) || step.maybe())) receive(s, step);
        s.expected = 0;
        if (step.maybe())
          grow_cold(s);
        else if (s.busy && step.maybe())
          leave_port(s);
        s.at = s.outside ? kOtherLinks : kLookAtPort;
        return true;
      case kOtherLinks:
        step.name("reader: polls other links, which may be busier");
        if (step.maybe()) grow_cold(s);
        s.at = kLookAtPort;
        return true;
    }
    return false;
  }

  Without without_;
};

TEST(SocketModel, NoBytesAndNoEndAreMissed) {
  const Verdict verdict = check(Socket(Without::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
}

class SocketMutant : public ::testing::TestWithParam<Without> {};

TEST_P(SocketMutant, IsFoundOut) {
  const Verdict verdict = check(Socket(GetParam()));
  EXPECT_EQ(verdict.kind, Verdict::kStuck) << verdict.why << verdict.states;
}

INSTANTIATE_TEST_SUITE_P(Each, SocketMutant, ::testing::Values(Without::kAnnounceAgain, Without::kLookForTheEnd,
                                           Without::kArmRefuses, Without::kPlaceIsKept,
                                           Without::kPollLooks, Without::kComesBack,
                                           Without::kComesBackCold, Without::kStaysForSleepers,
                                           Without::kLowering, Without::kModesty));

}  // namespace
}  // namespace lapwing::model
