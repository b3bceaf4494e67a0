// The doorbell of shared memory (src/net/shm/shm_transport.h, "How no rank misses anything"): two senders, one receiver
// that sleeps when it has found nothing, and cools rings down whenever it likes. Memory is weak. At first only the receiver's
// event thread sleeps, which is not rung for messages that can wait (some of the first sender's), or is at rest and rung for
// pressing ones alone (some others of the first sender's); at some moment its application begins to wait, or it never does. Of several
// pieces that are published one after the other (some of the second sender's) the first is only shown, for a receiver that is awake, and
// the last announced. The first sender may end when it has taken the sleeping flag and before it has rung; a rank that is not in the model
// notices that end and rings.
#include <gtest/gtest.h>

#include "checker.h"
#include "weak_memory.h"

namespace lapwing::model {
namespace {

enum class Without {
  kNothing,
  kFenceAfterTail,     // announce(): between the tail and the pending bit
  kFenceAfterBit,      // announce(): between the pending bit and the sleeping flag
  kFenceWhenArming,    // arm(): between the sleeping flag and the look at bitmap and tails
  kFenceWhenCooling,   // cool_down(): between the pending bit and the tail
  kLookWhenCooling,    // cool_down() does not read the tail again
  kLookAtBitmap,       // arm() looks at the hot rings only
  kLookAfterArming,    // arm() looks first and raises the flag then
  kPublishBeforeBell,  // the tail is published after the bell has been rung
  kBell,               // the bell is not rung
  kWaiterForAll,       // what can wait rings no thread, whichever sleeps
  kWaiterByName,       // the thread that waits raises the flag of the event thread
  kUrgency,            // whatever comes, the event thread is not rung
  kPressure,           // whatever comes, a receiver at rest is not rung
  kAnnounceLast,       // of several pieces the first is announced
  kFenceBehindLast,    // the last of several pieces is published behind the fence
  kAnnounceShown,      // pieces that were shown are not announced
  kBellAtAnEnd,        // the rank that notices an end rings only where the sleeping flag is up
};

class Doorbell {
 public:
  static constexpr int kSenders = 2, kMessages = 2, kReceiver = kSenders, kCores = kSenders + 1;
  enum Word { kTail0, kTail1, kPending, kSleeping, kWords };
  enum Sleeper { kNoThread, kWaiter, kListener, kAtRest };

  struct Sender {
    std::uint8_t at, sent, early;  // early: the sleeping flag as a load before its turn may have seen it
    std::uint8_t can_wait, urgent;  // the last message can wait; the last one that cannot
    std::uint8_t presses, pressing;  // the last message is pressing; the last one that is
    std::uint8_t shown;             // it is a piece behind another that was shown
  };
  struct State {
    WeakMemory<kCores, kWords> memory;
    Sender sender[kSenders];
    std::uint8_t at, link, hot, moved, received[kSenders], tail_seen;
    std::uint8_t bell;  // an edge that has not been collected
    std::uint8_t waits;  // an application thread waits
    std::uint8_t rests;  // the last time that none did, the receiver came to rest
  };

  Doorbell(Without without, bool application_comes) : without_(without), application_comes_(application_comes) {}
  int threads() const { return 2 * kCores; }
  void begin(State&) const {}
  const char* broken(const State&) const { return nullptr; }

  bool step(State& s, int thread, Step& step) const {
    if (thread >= kCores) return s.memory.empty_one(thread - kCores, step);
    return thread == kReceiver ? receive(s, step) : send(s, thread, step);
  }

  // Stores go into a buffer of the thread's own, fences wait for that buffer, and a tail that has been seen does not go back.
  bool alone(const State& s, int thread) const {
    if (thread >= kCores) return false;
    return thread == kReceiver ? receiver_alone(s) : sender_alone(s, thread);
  }

  const char* unfinished(const State& s) const {
    for (int i = 0; i < kSenders; ++i)
      if (s.received[i] < (s.waits ? all_of(s.sender[i]) : s.rests ? s.sender[i].pressing : s.sender[i].urgent))
        return "a message is in the ring and the receiver sleeps";
    return application_comes_ && !s.waits ? "the application has not come yet" : nullptr;
  }

 private:
  enum SenderAt { kPublish, kShow, kShowBit, kLastPiece, kFence, kReadBit, kSetBit, kFenceBit, kReadFlag, kTakeFlag, kRing,
                  kLatePublish, kEnding, kEnded };

  static int all_of(const Sender& sender) { return sender.at == kEnded ? sender.sent : kMessages; }

  bool send(State& s, int me, Step& step) const {
    Sender& sender = s.sender[me];
    const int bit = 1 << me;
    const auto next = [&](SenderAt at) { return sender.at = at, true; };
    const auto publish = [&] {
      ++sender.sent;
      if (!sender.can_wait && !s.waits) sender.urgent = sender.sent;
      if (sender.presses && !s.waits) sender.pressing = sender.sent;
      if (without_ != Without::kPublishBeforeBell) s.memory.store_release(me, kTail0 + me, sender.sent);
    };
    const auto done = [&] {
      if (without_ == Without::kPublishBeforeBell) return next(kLatePublish);
      sender.early = sender.can_wait = sender.presses = 0;
      const bool last_is_left = sender.shown && without_ == Without::kAnnounceLast;
      sender.shown = 0;
      return next(last_is_left ? kLastPiece : kPublish);
    };
    switch (sender.at) {
      case kPublish:
        if (sender.sent == kMessages || !s.memory.takes_store(me)) return false;
        step.name("sender: publishes the tail");
        sender.can_wait = me == 0 && step.maybe();
        sender.presses = me == 0 && !sender.can_wait && step.maybe();
        publish();
        if (me == 1 && sender.sent < kMessages && step.maybe()) return next(kShow);
        return next(without_ == Without::kFenceAfterTail ? kReadBit : kFence);
      case kShow:
        step.name("sender: shows the first piece");
        sender.shown = 1;
        if ((s.memory.load(me, kPending) & bit) == 0) return next(kShowBit);
        return next(announces_early() ? kFence : kLastPiece);
      case kShowBit:
        if (!s.memory.takes_update(me, kPending)) return false;
        step.name("sender: sets its pending bit for the first piece");
        s.memory.words[kPending] |= static_cast<std::uint8_t>(bit);
        return next(announces_early() ? kFence : kLastPiece);
      case kLastPiece:
        if (!s.memory.takes_store(me)) return false;
        step.name("sender: publishes the last piece");
        publish();
        if (without_ == Without::kFenceBehindLast) return next(kReadBit);
        if (announces_early() || without_ == Without::kAnnounceShown) return sender.shown = 0, next(kPublish);
        return next(without_ == Without::kFenceAfterTail ? kReadBit : kFence);
      case kFence: {
        step.name("sender: fence");
        const bool piece_follows = sender.shown && without_ == Without::kFenceBehindLast;
        return s.memory.fenced(me) && next(piece_follows ? kLastPiece : kReadBit);
      }
      case kReadBit:
        step.name("sender: reads its pending bit");
        sender.early = static_cast<std::uint8_t>(s.memory.load(me, kSleeping));
        return next((s.memory.load(me, kPending) & bit) != 0 ? kReadFlag : kSetBit);
      case kSetBit:
        if (!s.memory.takes_update(me, kPending)) return false;
        step.name("sender: sets its pending bit");
        s.memory.words[kPending] |= static_cast<std::uint8_t>(bit);
        return next(without_ == Without::kFenceAfterBit ? kReadFlag : kFenceBit);
      case kFenceBit:
        step.name("sender: fence after the bit");
        sender.early = 2;  // no load before the fence counts any more
        return s.memory.fenced(me) && next(kReadFlag);
      case kReadFlag: {
        // The processor may have done this load before the one of the bit, or before the update of the bit.
        step.name("sender: reads the sleeping flag");
        const bool early = sender.early != 2 && step.maybe();
        const int flag = early ? sender.early : s.memory.load(me, kSleeping);
        const bool for_listener = !sender.can_wait && without_ != Without::kUrgency;
        const bool at_rest = sender.presses && without_ != Without::kPressure;
        const bool for_waiter = !sender.can_wait || without_ != Without::kWaiterForAll;
        const bool lets_lie = !(flag == kListener ? for_listener : flag == kAtRest ? at_rest : for_waiter);
        return flag != kNoThread && !lets_lie ? next(kTakeFlag) : done();
      }
      case kTakeFlag: {
        if (!s.memory.takes_update(me, kSleeping)) return false;
        step.name("sender: takes the sleeping flag");
        const bool taken = s.memory.words[kSleeping] != kNoThread;
        s.memory.words[kSleeping] = kNoThread;
        return taken ? next(kRing) : done();
      }
      case kRing:
        if (me == 0 && step.maybe()) {
          step.name("sender: ends");
          return next(kEnding);
        }
        step.name("sender: rings");
        if (without_ != Without::kBell) s.bell = 1;
        return done();
      case kEnding:
        step.name("another rank: notices the end of the sender and rings");
        if (without_ != Without::kBellAtAnEnd || s.memory.words[kSleeping] != kNoThread) s.bell = 1;
        return next(kEnded);
      case kEnded:
        return false;
      case kLatePublish:
        if (!s.memory.takes_store(me)) return false;
        step.name("sender: publishes late");
        s.memory.store_release(me, kTail0 + me, sender.sent);
        sender.early = 0;
        return next(kPublish);
    }
    return false;
  }

  bool sender_alone(const State& s, int me) const {
    switch (s.sender[me].at) {
      case kPublish:
        return s.sender[me].sent < kMessages && s.memory.takes_store(me);
      case kLastPiece:
      case kLatePublish:
        return s.memory.takes_store(me);
      case kFence:
      case kFenceBit:
        return s.memory.fenced(me);
      default:
        return false;
    }
  }

  enum ReceiverAt { kCollect, kLook, kCool, kCoolFence, kCoolLook, kArm, kArmFence, kCheckBits, kCheckTails, kRaise,
                    kLower, kSleep };

  bool receive(State& s, Step& step) const {
    const int me = kReceiver;
    const auto next = [&](ReceiverAt at) { return s.at = at, true; };
    const auto tail = [&](int link) { return s.memory.load(me, kTail0 + link); };
    const auto next_link = [&] {
      s.tail_seen = 0;
      if (++s.link < kSenders) return next(kLook);
      s.link = 0;
      return next(s.moved ? kCollect : kArm);
    };
    switch (s.at) {
      case kCollect:
        if (s.waits && unfinished(s) == nullptr) return false;
        step.name("receiver: reads the bitmap");
        s.hot |= static_cast<std::uint8_t>(s.memory.load(me, kPending));
        s.moved = 0;
        return next(kLook);
      case kLook: {
        const int bit = 1 << s.link;
        if ((s.hot & bit) == 0) {
          step.name("receiver: passes over a cold ring");
          return next_link();
        }
        if (tail(s.link) > s.received[s.link]) {
          step.name("receiver: takes a message");
          ++s.received[s.link];
          s.moved = 1;
          return next_link();
        }
        step.name("receiver: finds a ring empty");
        return step.maybe() ? next(kCool) : next_link();
      }
      case kCool:
        if (!s.memory.takes_update(me, kPending)) return false;
        step.name("receiver: clears the pending bit");
        // Without a fence the load of the tail may have been done before this.
        s.tail_seen = s.received[s.link];
        s.memory.words[kPending] &= static_cast<std::uint8_t>(~(1 << s.link));
        return next(without_ == Without::kFenceWhenCooling ? kCoolLook : kCoolFence);
      case kCoolFence:
        step.name("receiver: fence after the bit");
        return s.memory.fenced(me) && next(kCoolLook);
      case kCoolLook: {
        step.name("receiver: reads the tail again");
        const bool early = without_ == Without::kFenceWhenCooling && step.maybe();
        const int seen = early ? s.tail_seen : tail(s.link);
        if (seen > s.received[s.link] && without_ != Without::kLookWhenCooling) {
          if (!s.memory.takes_update(me, kPending)) return false;
          s.memory.words[kPending] |= static_cast<std::uint8_t>(1 << s.link);
        } else {
          s.hot &= static_cast<std::uint8_t>(~(1 << s.link));
        }
        return next_link();
      }
      case kArm:
        if (without_ == Without::kLookAfterArming) return step.name("receiver: arms last"), next(kCheckBits);
        if (!s.memory.takes_store(me)) return false;
        step.name("receiver: raises the sleeping flag");
        s.rests = !s.waits && step.maybe();
        s.memory.store(me, kSleeping, sleeper(s));
        return next(without_ == Without::kFenceWhenArming ? kCheckBits : kArmFence);
      case kArmFence:
        step.name("receiver: fence after the flag");
        return s.memory.fenced(me) && next(kCheckBits);
      case kCheckBits: {
        step.name("receiver: looks for bits once more");
        const bool fresh = (s.memory.load(me, kPending) & ~s.hot) != 0 && without_ != Without::kLookAtBitmap;
        return next(fresh ? kLower : kCheckTails);
      }
      case kCheckTails:
        step.name("receiver: looks at a tail once more");
        if ((s.hot >> s.link & 1) != 0 && tail(s.link) > s.received[s.link]) return s.link = 0, next(kLower);
        if (++s.link < kSenders) return true;
        s.link = 0;
        return next(without_ == Without::kLookAfterArming ? kRaise : kSleep);
      case kRaise:
        if (!s.memory.takes_store(me)) return false;
        step.name("receiver: raises the sleeping flag");
        s.memory.store(me, kSleeping, sleeper(s));
        return next(kSleep);
      case kSleep:
        if (s.bell == 0 && (s.waits || !application_comes_)) return false;
        if (s.bell == 0 || (!s.waits && application_comes_ && step.maybe())) {
          step.name("receiver: the application begins to wait");
          s.waits = 1, s.rests = 0;
          for (Sender& sender : s.sender) sender.urgent = sender.pressing = 0;  // all messages count from now on
          return next(kLower);
        }
        step.name("receiver: wakes");
        s.bell = 0;
        return next(kLower);
      case kLower:
        if (!s.memory.takes_store(me)) return false;
        step.name("receiver: lowers the sleeping flag");
        s.memory.store(me, kSleeping, 0);
        return next(kCollect);
    }
    return false;
  }

  bool receiver_alone(const State& s) const {
    const bool cold = (s.hot >> s.link & 1) == 0;
    const bool sees_message = !cold && s.memory.load(kReceiver, kTail0 + s.link) > s.received[s.link];
    switch (s.at) {
      case kLook:
      case kCheckTails:
        return cold || sees_message;
      case kArm:
        return without_ == Without::kLookAfterArming || s.memory.takes_store(kReceiver);
      case kRaise:
      case kLower:
        return s.memory.takes_store(kReceiver);
      case kArmFence:
      case kCoolFence:
        return s.memory.fenced(kReceiver);
      default:
        return false;
    }
  }

  bool announces_early() const { return without_ == Without::kAnnounceLast || without_ == Without::kFenceBehindLast; }
  std::uint8_t sleeper(const State& s) const {
    return s.rests ? kAtRest : s.waits && without_ != Without::kWaiterByName ? kWaiter : kListener;
  }

  Without without_;
  bool application_comes_;
};

TEST(DoorbellModel, NoMessageIsMissed) {
  for (const bool application_comes : {false, true}) {
    const Verdict verdict = check(Doorbell(Without::kNothing, application_comes));
    EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
    RecordProperty(application_comes ? "states_waiting" : "states", static_cast<int>(verdict.states));
  }
}

class DoorbellMutant : public ::testing::TestWithParam<Without> {};

TEST_P(DoorbellMutant, IsFoundOut) {
  const bool application_comes = GetParam() == Without::kWaiterForAll || GetParam() == Without::kWaiterByName;
  const Verdict verdict = check(Doorbell(GetParam(), application_comes));
  EXPECT_EQ(verdict.kind, Verdict::kStuck) << verdict.states;
}

INSTANTIATE_TEST_SUITE_P(Each, DoorbellMutant,
                         ::testing::Values(Without::kFenceAfterTail, Without::kFenceAfterBit, Without::kFenceWhenArming,
                                           Without::kFenceWhenCooling, Without::kLookWhenCooling,
                                           Without::kLookAtBitmap, Without::kLookAfterArming,
                                           Without::kPublishBeforeBell, Without::kBell,
                                           Without::kWaiterForAll, Without::kWaiterByName, Without::kUrgency, Without::kPressure,
                                           Without::kAnnounceLast, Without::kFenceBehindLast, Without::kAnnounceShown,
                                           Without::kBellAtAnEnd));

}  // namespace
}  // namespace lapwing::model
