// A connection whose packets come past a program in the kernel (src/net/kernel/area.h, intake.h), and a process that polls, or closes the connection
// to the program and sleeps until the socket has something (src/net/tcp/receiver.cc, busy_links.cc). Stores become visible late, as on the processors
// that this is built for: a read-modify-write empties the buffer, and stores leave it in order.
//
// The peer sends four packets: a frame, another one in two halves, and two frames in one packet. Which of them match a lent receive is open: that is
// lending_test.cc. One that lands unmatched counts as attended here, and by the rules of lending_test.cc as passed on. The first and the third match unattended receives, the second and the last perhaps. A thread of the application that sleeps closes
// the connection; where the application computes, and only the event thread sleeps, it stays open to what is unattended, and the application comes
// back when all else has been received. Where only the event thread sleeps the process may hide the socket's input from the port, before it sleeps or
// while it sleeps (Receiver::hide_input), and has the program's notices instead (notices.h). What must hold: every frame is received once, and in order.
#include <gtest/gtest.h>

#include "checker.h"
#include "weak_memory.h"

namespace lapwing::model {
namespace {

enum class Wrong {
  kNothing,
  // the program
  kNotBusy,           // does not say that it looks at a packet
  kBusyLate,          // says so without a barrier
  kTakesBehindPassed,  // frames behind what it has passed on, and the process has not read
  kPassesOnTwice,     // does not say that the front of a packet has been taken
  kTakesAttended,     // frames that a thread must be woken for, while only the event thread is there
  kGoesOnAttended,    // with such a one that is half here
  kGivesNoNotice,
  // the process
  kSleepsOpen,      // without closing
  kNoBarrier,       // between closing and looking
  kLooksFirst,      // and closes then
  kLooksNotAtBusy,
  kLooksNotAtTaken,
  kSleepsUnattended,  // leaves it open to what is unattended, though a thread of the application sleeps
  kReadsFirst,      // the socket, before it takes what has been taken
  kForgetsBegun,    // a frame of which the program has a half
  kHearsLast,       // the notices that have come, when it has looked
  kLooksNotAtPassed,
  kSleepsHidden,    // though a thread of the application sleeps, for which there are no notices
  kHidesUnlooked,   // the input of a socket, while it sleeps, and does not look then what has come
  kInSyncWithin,    // says that it has read all within a frame
};

class KernelReceive {
 public:
  static constexpr int kFrames = 4, kPackets = 4;
  enum Word { kOpen, kBusy, kTakenIn, kArrived, kPassed, kNotices, kHeard, kWords };
  enum { kProgram, kProcess, kCores };
  struct State {
    WeakMemory<kCores, kWords> memory;
    // The program.
    std::uint8_t at, packet, open_seen, in_sync, passed, arrived, begun, attended, took_first;  // attended: a bit per frame
    // What the process finds once it sees the counts.
    std::uint8_t arrivals[kFrames], skip_at, skip;
    // The socket.
    std::uint8_t queue[kPackets], entered, edge, hidden;
    // The process.
    std::uint8_t does, collected, read, within, next, wrong, looked, computes, hides, notices;
  };

  explicit KernelReceive(Wrong wrong) : wrong_(wrong) {}
  int threads() const { return 2 * kCores; }
  void begin(State&) const {}
  const char* broken(const State& s) const { return s.wrong ? "a frame comes twice, or out of order" : nullptr; }
  const char* unfinished(const State& s) const { return s.next < kFrames ? "a frame is here, and the process sleeps" : nullptr; }
  bool step(State& s, int thread, Step& step) const {
    if (thread >= kCores) return s.memory.empty_one(thread - kCores, step);
    return thread == kProgram ? program(s, step) : process(s, step);
  }

 private:
  // Packets: frame 0 | front of frame 1 | rest of frame 1 | frames 2 and 3.
  enum At : std::uint8_t { kNext, kReadOpen, kReadSync, kJudge, kNotBusyAnyMore, kNoticed, kGiveNotice, kWake, kEnter };
  enum Does : std::uint8_t { kPoll, kReadSocket, kHear, kClose, kFence, kLook, kAsleep, kHide, kFenceHidden, kLookHidden };
  enum Open : std::uint8_t { kClosed, kOpenToAll, kOpenUnattended, kOpenNoticed };  // area.h

  // ---- the program: judge(), access by access ----

  bool program(State& s, Step& step) const {
    switch (s.at) {
      case kNext:
        return begin_packet(s, step);
      case kReadOpen:
        step.name("program: is it open?");
        s.open_seen = static_cast<std::uint8_t>(s.memory.load(kProgram, kOpen));
        s.at = kReadSync;
        return true;
      case kReadSync:
        step.name("program: is all that was passed on taken in?");
        s.in_sync = s.memory.load(kProgram, kTakenIn) == s.passed || wrong_ == Wrong::kTakesBehindPassed;
        s.at = kJudge;
        return true;
      case kJudge:
        return judge(s, step);
      case kNotBusyAnyMore:
        if (!s.memory.takes_store(kProgram)) return false;
        step.name("program: is not busy any more");
        s.memory.store_release(kProgram, kBusy, 0);
        s.at = s.took_first == kWhole ? kNext : wrong_ == Wrong::kGivesNoNotice ? kEnter : kNoticed;
        s.packet += s.at == kNext;
        return true;
      case kNoticed:
        step.name("program: is notice wanted?");
        s.at = s.memory.load(kProgram, kOpen) == kOpenNoticed ? kGiveNotice : kEnter;
        return true;
      case kGiveNotice:
        if (!s.memory.fenced(kProgram)) return false;
        step.name("program: has a place for a notice");
        s.memory.words[kNotices] = ++s.notices;
        s.at = kWake;
        return true;
      case kWake:
        step.name("program: wakes a process that has heard all notices before");
        s.edge |= s.memory.load(kProgram, kHeard) + 1 == s.notices;
        s.at = kEnter;
        return true;
      case kEnter:
        if (!s.memory.fenced(kProgram)) return false;
        step.name("program: the socket has the packet");
        s.queue[s.entered++] = s.packet++;
        s.edge |= !s.hidden;
        s.at = kNext;
        return true;
    }
    return false;
  }
  bool begin_packet(State& s, Step& step) const {
    if (s.packet == kPackets) return false;
    step.name("program: has a packet, and is busy");
    s.at = kReadOpen;
    if (wrong_ == Wrong::kNotBusy) return true;
    if (wrong_ == Wrong::kBusyLate) {
      if (!s.memory.takes_store(kProgram)) return false;
      s.memory.store_release(kProgram, kBusy, 1);
      return true;
    }
    if (!s.memory.fenced(kProgram)) return false;
    s.memory.words[kBusy] = 1;
    return true;
  }

  enum Taken : std::uint8_t { kNone, kFront, kWhole };

  bool judge(State& s, Step& step) const {
    if (!s.memory.takes_store(kProgram)) return false;
    step.name("program: takes what matches, and passes the rest on");
    const Taken taken = s.open_seen && s.in_sync ? take(s, step) : kNone;
    s.took_first = taken;
    if (taken != kWhole) {
      if (taken == kFront && wrong_ != Wrong::kPassesOnTwice) s.skip_at = s.passed, s.skip = 1;
      s.memory.store_release(kProgram, kPassed, ++s.passed);
    } else {
      s.memory.store_release(kProgram, kArrived, s.arrived);
    }
    s.at = kNotBusyAnyMore;
    return true;
  }
  Taken take(State& s, Step& step) const {
    const int frame = s.packet == 0 ? 0 : s.packet < 3 ? 1 : 2;
    const bool unattended = s.open_seen >= kOpenUnattended;
    if (s.packet == 2 && !s.begun) return s.wrong |= step.maybe(), kNone;  // what it carries may look like a frame
    if (s.packet == 2 && unattended && attended(s, 1) && wrong_ != Wrong::kGoesOnAttended) return kNone;
    if (s.packet != 2 && !step.maybe()) return kNone;
    if (s.packet == 1) return s.begun = may_claim(s, 1, step), s.begun ? kWhole : kNone;
    s.begun = 0;
    s.arrivals[s.arrived++] = static_cast<std::uint8_t>(frame);
    if (s.packet < 3) return kWhole;
    if (!may_claim(s, 3, step) || !step.maybe()) {
      s.memory.store_release(kProgram, kArrived, s.arrived);
      return kFront;
    }
    s.arrivals[s.arrived++] = 3;
    return kWhole;
  }

  // A frame that matches a receive, attended or not.
  bool may_claim(State& s, int frame, Step& step) const {
    if (step.maybe()) s.attended |= static_cast<std::uint8_t>(1 << frame);
    return !attended(s, frame) || s.open_seen == kOpenToAll || wrong_ == Wrong::kTakesAttended;
  }
  static bool attended(const State& s, int frame) { return (s.attended >> frame & 1) != 0; }

  // ---- the process ----

  bool process(State& s, Step& step) const {
    switch (s.does) {
      case kPoll:
        step.name("process: takes what has been taken");
        if (wrong_ != Wrong::kReadsFirst) collect(s);
        s.does = s.memory.load(kProcess, kPassed) != s.read ? kReadSocket : kHear;
        if (s.does == kHear) collect(s);
        return true;
      case kReadSocket:
        if (!s.memory.takes_store(kProcess)) return false;
        step.name("process: reads the socket");
        read_socket(s);
        s.does = kPoll;
        // Bytes that are counted, and are not in the socket yet: it looks at the port, or sleeps there.
        if (s.read == s.entered) s.does = kHear;
        return true;
      case kHear:
        if (!s.memory.takes_store(kProcess)) return false;
        step.name("process: hears what notices have come; where it computes it may hide the socket's input");
        s.computes = step.maybe();
        s.hides = s.computes && step.maybe();
        if (wrong_ != Wrong::kHearsLast) s.memory.store_release(kProcess, kHeard, s.memory.load(kProcess, kNotices));
        if (s.hides || (wrong_ != Wrong::kSleepsHidden && s.hidden)) announce(s, !s.hides);
        s.does = kClose;
        return true;
      case kClose:
        if (!s.memory.takes_store(kProcess)) return false;
        step.name("process: closes the connection to the program, or, where it computes, to what is attended");
        s.looked = nothing_here(s);
        close(s);
        s.does = kFence;
        return true;
      case kFence:
        step.name("process: barrier");
        if (wrong_ != Wrong::kNoBarrier && !s.memory.fenced(kProcess)) return false;
        s.does = kLook;
        return true;
      case kLook:
        return look(s, step);
      case kHide:
        if (!s.memory.takes_store(kProcess)) return false;
        step.name("process: wants notices");
        s.memory.store(kProcess, kOpen, kOpenNoticed);
        s.does = wrong_ == Wrong::kHidesUnlooked ? kAsleep : kFenceHidden;
        return true;
      case kFenceHidden:
        if (!s.memory.fenced(kProcess)) return false;
        step.name("process: barrier");
        s.does = kLookHidden;
        return true;
      case kLookHidden:
        if (!s.memory.takes_store(kProcess)) return false;
        step.name("process: looks whether anything is here, and has it announced then");
        s.does = kAsleep;
        if (s.memory.load(kProcess, kBusy) == 0 && nothing_here(s) && nothing_passed(s)) return true;
        announce(s, true);
        s.memory.store(kProcess, kOpen, kOpenUnattended);
        s.hides = 0;
        return true;
      case kAsleep:
        if (s.computes && !s.hides && !s.edge && s.memory.load(kProcess, kArrived) != s.collected && step.maybe()) {
          step.name("process: takes what has been taken, and hides the socket's input while the event thread sleeps");
          collect(s);
          s.hides = 1;
          announce(s, false);
          s.does = kHide;
          return true;
        }
        if (!(s.edge || comes_back(s)) || !s.memory.takes_store(kProcess)) return false;
        step.name("process: is woken, or comes back, and opens the connection to the program");
        s.edge = 0;
        return reopen(s);
    }
    return false;
  }

  // While the program is busy, or what it has passed on is not in the socket yet, it does not sleep, but polls on, which changes nothing here.
  bool look(State& s, Step& step) const {
    if (wrong_ != Wrong::kLooksNotAtBusy && wrong_ != Wrong::kLooksFirst && s.memory.load(kProcess, kBusy) != 0) return false;
    if (s.hides && !nothing_passed(s) && s.read == s.entered) return false;
    step.name("process: looks whether something is here, and sleeps");
    const bool nothing = wrong_ == Wrong::kLooksFirst ? s.looked != 0 : nothing_here(s) && (!s.hides || nothing_passed(s));
    if (wrong_ == Wrong::kHearsLast) {
      if (!s.memory.takes_store(kProcess)) return false;
      s.memory.store_release(kProcess, kHeard, s.memory.load(kProcess, kNotices));
    }
    if (!nothing) return s.memory.takes_store(kProcess) && reopen(s);
    s.does = kAsleep;
    return true;
  }
  void close(State& s) const {
    if (wrong_ == Wrong::kSleepsOpen) return;
    s.memory.store(kProcess, kOpen, s.hides ? kOpenNoticed : s.computes || wrong_ == Wrong::kSleepsUnattended ? kOpenUnattended : kClosed);
  }
  // The port announces the socket's input again, what is there first, or no more: then what it would have announced is forgotten.
  static void announce(State& s, bool input) {
    s.hidden = !input;
    s.edge = input && s.entered > s.read;
  }
  bool nothing_passed(const State& s) const { return wrong_ == Wrong::kLooksNotAtPassed || s.memory.load(kProcess, kPassed) == s.read; }
  // An application that computes, as late as can be: when nothing is left but what waits for it.
  bool comes_back(const State& s) const {
    return s.computes && s.packet == kPackets && s.at == kNext && s.next < kFrames && unattended_left(s);
  }
  // All that has not been received is in the ring, and unattended.
  bool unattended_left(const State& s) const {
    if (s.memory.words[kArrived] != s.arrived || s.arrived == s.collected) return false;
    for (int i = s.collected; i < s.arrived; ++i)
      if (attended(s, s.arrivals[i])) return false;
    return true;
  }
  bool reopen(State& s) const {
    s.memory.store(kProcess, kOpen, kOpenToAll);
    s.does = kPoll;
    return true;
  }
  // What the port announces it need not look for.
  bool nothing_here(const State& s) const {
    return wrong_ == Wrong::kLooksNotAtTaken || s.memory.load(kProcess, kArrived) == s.collected;
  }

  void collect(State& s) const {
    while (s.collected < s.memory.load(kProcess, kArrived)) receive(s, s.arrivals[s.collected++]);
  }
  void receive(State& s, int frame) const {
    s.wrong |= s.next != frame || s.within;
    s.next = static_cast<std::uint8_t>(frame + 1);
  }
  // Inbox::take_passed.
  void read_socket(State& s) const {
    while (s.read < s.entered) {
      if (wrong_ != Wrong::kReadsFirst) collect(s);
      if (s.begun && wrong_ != Wrong::kForgetsBegun) s.begun = 0, s.within = 1;
      const bool skips = s.skip && s.skip_at == s.read;
      read_packet(s, s.queue[s.read++], skips);
      if (s.within && wrong_ != Wrong::kInSyncWithin) continue;
      s.memory.store_release(kProcess, kTakenIn, s.read);
      return;
    }
  }
  void read_packet(State& s, int packet, bool skips) const {
    if (packet == 0) return receive(s, 0);
    if (packet == 1) return s.wrong |= s.next != 1 || s.within, void(s.within = 1);
    if (packet == 2) {
      s.wrong |= !s.within;
      s.within = 0;
      return receive(s, 1);
    }
    if (!skips) receive(s, 2);
    receive(s, 3);
  }

  Wrong wrong_;
};

TEST(KernelReceiveModel, EveryFrameIsReceivedOnceAndInOrder) {
  const Verdict verdict = check(KernelReceive(Wrong::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
}

class KernelReceiveMutant : public ::testing::TestWithParam<Wrong> {};

TEST_P(KernelReceiveMutant, IsFoundOut) {
  const Verdict verdict = check(KernelReceive(GetParam()));
  EXPECT_TRUE(verdict.kind == Verdict::kStuck || verdict.kind == Verdict::kBroken) << verdict.why << verdict.states;
}

INSTANTIATE_TEST_SUITE_P(Each, KernelReceiveMutant, ::testing::Values(Wrong::kNotBusy, Wrong::kBusyLate, Wrong::kTakesBehindPassed,
                                           Wrong::kPassesOnTwice, Wrong::kTakesAttended, Wrong::kGoesOnAttended,
                                           Wrong::kSleepsUnattended, Wrong::kSleepsOpen, Wrong::kNoBarrier, Wrong::kLooksFirst,
                                           Wrong::kLooksNotAtBusy, Wrong::kLooksNotAtTaken, Wrong::kReadsFirst,
                                           Wrong::kForgetsBegun, Wrong::kInSyncWithin, Wrong::kGivesNoNotice,
                                           Wrong::kHearsLast, Wrong::kLooksNotAtPassed,
                                           Wrong::kSleepsHidden, Wrong::kHidesUnlooked));

}  // namespace
}  // namespace lapwing::model
