// Requests that a program in the kernel takes and answers (docs/ethernet.md, Answers by the kernel; net/kernel/area.h): it notes the request for the
// process, makes the answer of its packet, and redirects that into the sending side of a second connection of the pair, on which no process writes.
// What the program may take, and how the two sides of the shared memory see each other's stores, is kernel_receive_test.cc and lending_test.cc; here
// each step is seen at once.
//
// A sender has two messages to ask for, the second in the request that served the first; either may come with a frame behind it in its packet. A
// packet keeps its length, so what is behind a request would be lost if its packet became the answer. The receiver has a receive for each, may take
// one back, writes a frame of its own in two halves on the connection of the data, and finalizes. The second connection breaks once, or not at all,
// and loses what is on its way. What must hold: each message is answered once, after its receive has met it, and no frame is cut or lost.
//
// Or the sender has two synchronous messages that leave whole, each with a trailer behind it, which is a packet of its own or, as a network may have it,
// part of the message's. The program has the message begun when the trailer comes; a trailer that cannot become the acknowledgement it passes on, and
// the process goes on with the message where the program has stopped.
#include <gtest/gtest.h>

#include "checker.h"

namespace lapwing::model {
namespace {

enum class Wrong {
  kNothing,
  // the program
  kIntoDataStream,    // answers on the connection on which the process writes
  kAnswersUnmatched,  // what it passes on
  kPassesOnToo,       // what it has taken and answered
  kCutsPacket,        // answers where a frame is behind the request
  kEndsUnanswered,    // a message whose trailer has not become its acknowledgement
  kStaysUp,           // goes on with a second connection that has broken, because the process has not closed it to the program
  // the process
  kNeverRepeats,      // the answers of a second connection that has broken
  kLooksNotAtBusy,    // before it repeats them
  kClosesEarly,       // finalizes before the sender has all answers
  kForgetsBegun,      // a message that the program has begun
  // the sender
  kTokensReused,  // takes an answer to the request's former message for one to the present one
};

class KernelAnswer {
 public:
  static constexpr int kMessages = 2, kMost = 8;
  enum { kSender, kProgram, kEgress, kProcess, kFault, kThreads };
  struct Queue {
    std::uint8_t count, at[kMost];
    void push(int value) { at[count++] = static_cast<std::uint8_t>(value); }
    int pop() {
      const int first = at[0];
      for (int i = 1; i < count; ++i) at[i - 1] = at[i];
      at[--count] = 0;
      return first;
    }
    void clear() { *this = {}; }
  };
  struct State {
    // Connections: that of the data both ways, what the socket has been passed, and the second one behind its queue in the kernel.
    Queue data, back, socket, egress, answers;
    std::uint8_t broken, closed, faults;
    // The sender.
    std::uint8_t current, sent, within;
    // The program.
    std::uint8_t at, claimed, answers_it, busy, passed, begun;  // begun: a message, + 1
    // Shared: whether the second connection is there, and of each message whether its request was taken, and so answered.
    std::uint8_t up, landed[kMessages];
    // The process.
    std::uint8_t receive[kMessages], read, collected[kMessages], halves, took_back, mend;
    std::uint8_t wrong;
  };

  KernelAnswer(Wrong wrong, bool trailers) : wrong_(wrong), trailers_(trailers) {}
  int threads() const { return kThreads; }
  void begin(State& s) const {
    s.up = 1;
    for (std::uint8_t& receive : s.receive) receive = kLent;
  }
  const char* broken(const State& s) const {
    constexpr const char* kWhat[] = {nullptr, "a frame is cut", "a message completes that no receive has met", "a message comes twice",
                                     "a frame behind a request is lost"};
    return kWhat[s.wrong];
  }
  const char* unfinished(const State& s) const { return s.current < kMessages ? "a request is never answered" : nullptr; }
  bool step(State& s, int thread, Step& step) const {
    switch (thread) {
      case kSender:
        return sender(s, step);
      case kProgram:
        return program(s, step);
      case kEgress:
        return egress(s, step);
      case kProcess:
        return process(s, step);
      default:
        return fault(s, step);
    }
  }

 private:
  enum Receive : std::uint8_t { kLent = 1, kTakenBack, kMet, kClaimed };
  enum Unit { kFrontHalf, kRearHalf, kAnswer };  // kAnswer + the message's number
  // Of a message; with a frame behind its request, or its trailer. The message without its trailer; and that alone.
  enum Packet { kNumber = 1, kBehind = 2, kFront = 4, kTrailer = 8 };
  enum At : std::uint8_t { kNext, kLook, kTake, kNotBusyAnyMore, kRedirect };
  enum Broke : std::uint8_t { kNone, kCut, kEarly, kTwice, kLost };

  // ---- the sender ----

  bool sender(State& s, Step& step) const {
    switch (step.choose(3)) {
      case 0:
        return s.current < kMessages && !s.sent && (trailers_ ? send(s, step) : ask(s, step));
      case 1:
        if (s.back.count == 0) return false;
        step.name("sender: reads the connection of the data");
        hear(s, s.back.pop());
        return true;
      default:
        if (s.answers.count == 0) return false;
        step.name("sender: reads the second connection");
        hear_answer(s, s.answers.pop() - kAnswer);
        return true;
    }
  }
  bool ask(State& s, Step& step) const {
    const bool behind = step.maybe();
    step.name(behind ? "sender: sends a request with a frame behind it" : "sender: sends a request");
    s.data.push(s.current | (behind ? kBehind : 0));
    s.sent = 1;
    return true;
  }
  bool send(State& s, Step& step) const {
    const bool joined = step.maybe();
    step.name(joined ? "sender: sends a message, and its trailer in the same packet" : "sender: sends a message and its trailer");
    if (!joined) s.data.push(s.current | kFront);
    s.data.push(s.current | (joined ? kBehind : kTrailer));
    s.sent = 1;
    return true;
  }
  void hear(State& s, int unit) const {
    if ((unit == kRearHalf) != (s.within != 0)) s.wrong = kCut;
    s.within = unit == kFrontHalf;
    if (unit >= kAnswer) hear_answer(s, unit - kAnswer);
  }
  // SlotTable: a token of a request that is over is of no living one.
  void hear_answer(State& s, int message) const {
    if (!s.sent || (message != s.current && wrong_ != Wrong::kTokensReused)) return;
    if (s.receive[s.current] != kMet) s.wrong = kEarly;
    ++s.current;
    s.sent = 0;
  }

  // ---- the program ----

  bool program(State& s, Step& step) const {
    switch (s.at) {
      case kNext:
        if (s.data.count == 0) return false;
        step.name("program: has a packet, and is busy");
        s.busy = 1;
        s.at = kLook;
        return true;
      case kLook:
        step.name("program: looks at the receive, and whether the second connection is there");
        look(s, s.data.at[0]);
        s.at = kTake;
        return true;
      case kTake:
        step.name("program: has taken the message, or passes it on");
        take(s, s.data.at[0]);
        s.at = kNotBusyAnyMore;
        return true;
      case kNotBusyAnyMore:
        step.name("program: is not busy any more");
        s.busy = 0;
        s.at = kRedirect;
        return true;
      case kRedirect:
        step.name("kernel: does with the packet what the program has said");
        redirect(s, s.data.pop());
        s.claimed = s.answers_it = 0;
        s.at = kNext;
        return true;
    }
    return false;
  }
  void look(State& s, int packet) const {
    if (trailers_) return look_at_message(s, packet);
    const bool may = s.up && ((packet & kBehind) == 0 || wrong_ == Wrong::kCutsPacket);
    std::uint8_t& receive = s.receive[packet & kNumber];
    s.claimed = may && s.passed == s.read && receive == kLent;
    if (s.claimed) receive = kMet;
    s.answers_it = s.claimed || (may && wrong_ == Wrong::kAnswersUnmatched);
  }
  void look_at_message(State& s, int packet) const {
    std::uint8_t& receive = s.receive[packet & kNumber];
    if ((packet & kTrailer) == 0 && s.passed == s.read && receive == kLent) {
      receive = kClaimed;
      s.begun = static_cast<std::uint8_t>((packet & kNumber) + 1);
    }
    s.claimed = (packet & kFront) != 0 && s.begun != 0;
    if ((packet & kFront) != 0 || s.begun == 0) return;
    const bool may = (packet & kTrailer) != 0 && s.up;
    s.claimed = may || wrong_ == Wrong::kEndsUnanswered;
    s.answers_it = may;
    if (!s.claimed) return;
    receive = kMet;
    s.begun = 0;
  }
  void take(State& s, int packet) const {
    if (trailers_ && (packet & kFront) != 0 && s.claimed) return;  // the rest is to come
    if (s.claimed) s.landed[packet & kNumber] = 1;
    if (!s.claimed || wrong_ == Wrong::kPassesOnToo) ++s.passed;
  }
  // One that has nowhere to go is lost.
  void redirect(State& s, int packet) const {
    const int message = packet & kNumber;
    if (!s.claimed || wrong_ == Wrong::kPassesOnToo)
      s.socket.push(trailers_ ? packet : message);
    else if ((packet & kBehind) != 0)
      s.wrong = kLost;
    if (!s.answers_it) return;
    if (wrong_ == Wrong::kIntoDataStream)
      s.back.push(kAnswer + message);
    else if (!s.broken && !s.closed)
      s.egress.push(kAnswer + message);
  }

  bool egress(State& s, Step& step) const {
    if (s.egress.count == 0) return false;
    step.name("kernel: sends an answer on the second connection");
    s.answers.push(s.egress.pop());
    return true;
  }

  // ---- the process ----

  bool process(State& s, Step& step) const {
    switch (step.choose(5)) {
      case 0:
        return wants_to_mend(s) && mend(s, step);
      case 1:
        return s.halves < 2 && write(s, step);
      case 2:
        return to_collect(s) ? collect(s, step) : s.socket.count != 0 && between_frames(s) && read(s, step);
      case 3:
        return may_take_back(s) && take_back(s, step);
      default:
        return may_end(s) && end(s, step);
    }
  }
  bool write(State& s, Step& step) const {
    step.name("process: writes half a frame");
    s.back.push(s.halves++ == 0 ? kFrontHalf : kRearHalf);
    return true;
  }

  // A frame of its own is not cut by itself: it answers between two.
  bool between_frames(const State& s) const { return s.halves != 1; }
  bool to_collect(const State& s) const {
    for (int message = 0; message < kMessages; ++message)
      if (s.landed[message] && !s.collected[message]) return between_frames(s);
    return false;
  }
  bool collect(State& s, Step& step) const {
    step.name("process: takes in what has been taken");
    for (int message = 0; message < kMessages; ++message) {
      if (s.landed[message]) s.collected[message] = 1;
    }
    return true;
  }
  bool read(State& s, Step& step) const {
    step.name("process: reads the socket, matches and answers");
    const int packet = s.socket.pop(), message = trailers_ ? packet & kNumber : packet;
    if (s.begun != 0 && wrong_ != Wrong::kForgetsBegun) {
      s.receive[s.begun - 1] = kLent;
      s.begun = 0;
    }
    if (trailers_ && (packet & kFront) != 0) return ++s.read, true;
    if (s.receive[message] == kMet || s.receive[message] == kClaimed) s.wrong = kTwice;
    s.receive[message] = kMet;
    s.back.push(kAnswer + message);
    ++s.read;
    return true;
  }

  bool may_take_back(const State& s) const { return !s.took_back && (s.receive[0] == kLent || s.receive[1] == kLent); }
  bool take_back(State& s, Step& step) const {
    step.name("process: takes a receive back");
    const int message = s.receive[0] == kLent ? 0 : 1;
    s.receive[message] = kTakenBack;
    s.took_back = 1;
    return true;
  }

  // First the program is told, then what it may have answered in vain is answered again.
  bool wants_to_mend(const State& s) const {
    if (s.mend == 0) return s.broken != 0;
    return s.mend == 1 && between_frames(s) && (s.busy == 0 || wrong_ == Wrong::kLooksNotAtBusy);
  }
  bool mend(State& s, Step& step) const {
    if (s.mend++ == 0) {
      step.name("process: notices that the second connection has broken, and closes it to the program");
      if (wrong_ != Wrong::kStaysUp) s.up = 0;
      return true;
    }
    step.name("process: answers again what the program has answered");
    for (int message = 0; message < kMessages && wrong_ != Wrong::kNeverRepeats; ++message)
      if (s.landed[message]) s.back.push(kAnswer + message);
    return true;
  }

  // Finalization is collective: a rank has it behind it only when all sends of all have completed.
  bool may_end(const State& s) const {
    const bool received = s.receive[0] == kMet && s.receive[1] == kMet && !to_collect(s) && s.halves == 2;
    return !s.closed && received && (s.current == kMessages || wrong_ == Wrong::kClosesEarly);
  }
  bool end(State& s, Step& step) const {
    step.name("process: closes the second connection");
    s.closed = 1;
    s.egress.clear();
    return true;
  }

  bool fault(State& s, Step& step) const {
    if (s.faults != 0 || s.closed) return false;
    step.name("the second connection breaks");
    s.faults = s.broken = 1;
    s.egress.clear();
    s.answers.clear();
    return true;
  }

  Wrong wrong_;
  bool trailers_;
};

TEST(KernelAnswerModel, EveryRequestIsAnsweredOnce) {
  const Verdict verdict = check(KernelAnswer(Wrong::kNothing, false));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
}

TEST(KernelAnswerModel, EveryMessageWithATrailerIsAcknowledgedOnce) {
  const Verdict verdict = check(KernelAnswer(Wrong::kNothing, true));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
}

class KernelAnswerMutant : public ::testing::TestWithParam<Wrong> {};

TEST_P(KernelAnswerMutant, IsFoundOut) {
  const Verdict verdict = check(KernelAnswer(GetParam(), false));
  EXPECT_TRUE(verdict.kind == Verdict::kStuck || verdict.kind == Verdict::kBroken) << verdict.why << verdict.states;
}

class KernelTrailerMutant : public ::testing::TestWithParam<Wrong> {};

TEST_P(KernelTrailerMutant, IsFoundOut) {
  const Verdict verdict = check(KernelAnswer(GetParam(), true));
  EXPECT_TRUE(verdict.kind == Verdict::kStuck || verdict.kind == Verdict::kBroken) << verdict.why << verdict.states;
}

INSTANTIATE_TEST_SUITE_P(Each, KernelTrailerMutant, ::testing::Values(Wrong::kIntoDataStream, Wrong::kEndsUnanswered, Wrong::kStaysUp, Wrong::kNeverRepeats,
                                                                      Wrong::kLooksNotAtBusy, Wrong::kForgetsBegun, Wrong::kClosesEarly,
                                                                      Wrong::kTokensReused));
INSTANTIATE_TEST_SUITE_P(Each, KernelAnswerMutant, ::testing::Values(Wrong::kIntoDataStream, Wrong::kAnswersUnmatched, Wrong::kPassesOnToo, Wrong::kCutsPacket,
                                                                     Wrong::kStaysUp, Wrong::kNeverRepeats, Wrong::kLooksNotAtBusy,
                                                                     Wrong::kClosesEarly, Wrong::kTokensReused));

}  // namespace
}  // namespace lapwing::model
