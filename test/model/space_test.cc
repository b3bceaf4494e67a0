// Waiting for room in a ring of shared memory (src/net/shm/shm_send.cc): the flag wants_space and the sender's own
// doorbell. A rank with two threads, a driver that sleeps until everything has left and another that posts and goes
// away, sends through a ring with room for one message to a rank that sleeps too. Memory is weak.
#include <gtest/gtest.h>

#include "checker.h"
#include "weak_memory.h"

namespace lapwing::model {
namespace {

enum class Without {
  kNothing,
  kFenceInGiveBack,       // between the head and wants_space
  kFenceInArm,            // between the two flags and the look at the head
  kFenceInStartWaiting,   // the same where a message is posted beside a sleeping driver
  kFlagInStartWaiting,    // wants_space is left to the next arm()
  kLookInStartWaiting,    // no look at the head after the flag went up
  kFlagInArm,             // arm() raises sleeping but not wants_space
  kBellOfGiveBack,        // the reader does not ring
};

class Space {
 public:
  static constexpr int kMessages = 3;
  enum Core { kDriver, kPoster, kReader, kCores };
  enum Word { kTail, kHead, kWantsSpace, kSenderSleeps, kReaderSleeps, kWords };

  struct State {
    WeakMemory<kCores, kWords> memory;
    std::uint8_t at[kCores], back[kCores];
    std::uint8_t holder, posted, written, waiting, armed, driver_sleeps, bell, wake;  // the sending rank
    std::uint8_t read, reader_bell;
  };

  explicit Space(Without without) : without_(without) {}
  int threads() const { return 2 * kCores; }
  void begin(State&) const {}
  const char* broken(const State& s) const { return s.written > s.read + 1 ? "a message is overwritten" : nullptr; }
  const char* unfinished(const State& s) const {
    if (s.read != kMessages) return "a message waits for room that is there, or lies in the ring";
    return s.at[kDriver] != kOver ? "the driver sleeps though everything has left" : nullptr;
  }

  bool step(State& s, int thread, Step& step) const {
    if (thread >= kCores) return s.memory.empty_one(thread - kCores, step);
    if (thread == kReader) return reader(s, step);
    return s.at[thread] >= kPush ? push(s, thread, step) : thread == kDriver ? driver(s, step) : poster(s, step);
  }

 private:
  enum At { kIdle, kPoll, kArm, kArmFlag, kArmFence, kArmLook, kSleep, kAwake, kLower, kLowerFlag, kOver,
            kPush, kPushFence, kPushFlag, kPushTake, kPushRing, kPushed, kWait, kWaitFence, kWaitLook };

  // The lock hands over what was stored under it.
  bool lock(State& s, int me) const {
    if (s.holder != 0 || !s.memory.fenced(me == kDriver ? kPoster : kDriver)) return false;
    s.holder = static_cast<std::uint8_t>(me + 1);
    return true;
  }
  bool room(const State& s, int me) const { return s.written == s.memory.load(me, kHead); }

  bool push(State& s, int me, Step& step) const {
    const auto next = [&](At at) { return s.at[me] = at, true; };
    switch (s.at[me]) {
      case kPush:
        if (!s.memory.takes_store(me)) return false;
        if (s.posted > s.written && room(s, me)) {
          step.name("push: publishes a message");
          s.memory.store_release(me, kTail, ++s.written);
          return next(kPushFence);
        }
        step.name("push: the ring is full, or all is written");
        return next(s.posted > s.written ? kWait : kPushed);
      case kPushFence:
        step.name("push: fence");
        return s.memory.fenced(me) && next(kPushFlag);
      case kPushFlag:
        step.name("push: reads the reader's flag");
        return next(s.memory.load(me, kReaderSleeps) ? kPushTake : kPush);
      case kPushTake: {
        step.name("push: takes the reader's flag");
        const bool taken = s.memory.words[kReaderSleeps] == 1;
        s.memory.words[kReaderSleeps] = 0;
        return next(taken ? kPushRing : kPush);
      }
      case kPushRing:
        step.name("push: rings the reader");
        s.reader_bell = 1;
        return next(kPush);
      case kPushed:
        if (!s.memory.takes_store(me)) return false;
        step.name("push: nothing waits");
        if (s.waiting) s.memory.store(me, kWantsSpace, 0);
        s.waiting = 0;
        if (s.written == kMessages && s.driver_sleeps) s.wake = 1;
        return next(static_cast<At>(s.back[me]));
      case kWait:
        if (!s.memory.takes_store(me)) return false;
        s.waiting = 1;
        step.name(s.armed ? "push: wants space" : "push: waits");
        if (!s.armed || without_ == Without::kFlagInStartWaiting) return next(static_cast<At>(s.back[me]));
        s.memory.store(me, kWantsSpace, 1);
        return next(without_ == Without::kFenceInStartWaiting ? kWaitLook : kWaitFence);
      case kWaitFence:
        step.name("push: fence after the flag");
        return s.memory.fenced(me) && next(kWaitLook);
      case kWaitLook:
        step.name("push: looks for room once more");
        if (room(s, me) && without_ != Without::kLookInStartWaiting) s.bell = 1;
        return next(static_cast<At>(s.back[me]));
    }
    return false;
  }

  bool poster(State& s, Step& step) const {
    const int me = kPoster;
    switch (s.at[me]) {
      case kIdle:
        if (s.posted == kMessages || !lock(s, me)) return false;
        step.name("poster: posts");
        ++s.posted;
        s.at[me] = kPush, s.back[me] = kOver;
        // While frames wait already, those behind them wait too.
        if (s.waiting) s.at[me] = kOver;
        return true;
      case kOver:
        step.name("poster: goes away");
        s.holder = 0;
        s.at[me] = kIdle;
        return true;
    }
    return false;
  }

  bool driver(State& s, Step& step) const {
    const int me = kDriver;
    const auto next = [&](At at) { return s.at[me] = at, true; };
    switch (s.at[me]) {
      case kIdle:
        if (!lock(s, me)) return false;
        step.name("driver: has the lock");
        return next(kPoll);
      case kPoll:
        if (s.written == kMessages) {
          step.name("driver: everything has left");
          s.holder = 0;
          return next(kOver);
        }
        step.name("driver: polls");
        if (!s.waiting || !room(s, me)) return next(kArm);
        s.back[me] = kArm;
        return next(kPush);
      case kArm:
        if (!s.memory.takes_store(me)) return false;
        step.name("driver: raises its sleeping flag");
        s.armed = 1;
        s.memory.store(me, kSenderSleeps, 1);
        return next(kArmFlag);
      case kArmFlag:
        if (!s.memory.takes_store(me)) return false;
        step.name("driver: raises wants_space if it does");
        if (s.waiting && without_ != Without::kFlagInArm) s.memory.store(me, kWantsSpace, 1);
        return next(without_ == Without::kFenceInArm ? kArmLook : kArmFence);
      case kArmFence:
        step.name("driver: fence after the flags");
        return s.memory.fenced(me) && next(kArmLook);
      case kArmLook:
        if ((s.waiting && room(s, me)) || s.written == kMessages) {
          step.name("driver: there is something to do");
          return next(kLower);
        }
        step.name("driver: sleeps");
        s.driver_sleeps = 1;
        s.holder = 0;
        return next(kSleep);
      case kSleep:
        if (!s.bell && !s.wake) return false;
        step.name("driver: wakes");
        s.bell = s.wake = 0;
        return next(kAwake);
      case kAwake:
        if (!lock(s, me)) return false;
        step.name("driver: has the lock again");
        s.driver_sleeps = 0;
        return next(kLower);
      case kLower:
        if (!s.memory.takes_store(me)) return false;
        step.name("driver: lowers its sleeping flag");
        s.armed = 0;
        s.memory.store(me, kSenderSleeps, 0);
        return next(kLowerFlag);
      case kLowerFlag:
        if (!s.memory.takes_store(me)) return false;
        step.name("driver: lowers wants_space");
        if (s.waiting) s.memory.store(me, kWantsSpace, 0);
        return next(kPoll);
    }
    return false;
  }

  enum ReaderAt { kTake, kGiveFence, kGiveFlag, kGiveSleeps, kGiveTake, kGiveRing, kRest, kRestFence, kRestLook,
                  kRestSleep, kRestOver };

  bool reader(State& s, Step& step) const {
    const int me = kReader;
    const auto next = [&](ReaderAt at) { return s.at[me] = at, true; };
    switch (s.at[me]) {
      case kTake:
        if (s.read == kMessages || !s.memory.takes_store(me)) return false;
        if (s.memory.load(me, kTail) == s.read) return step.name("reader: finds nothing"), next(kRest);
        step.name("reader: takes a message and gives the room back");
        s.memory.store_release(me, kHead, ++s.read);
        return next(without_ == Without::kFenceInGiveBack ? kGiveFlag : kGiveFence);
      case kGiveFence:
        step.name("reader: fence after the head");
        return s.memory.fenced(me) && next(kGiveFlag);
      case kGiveFlag:
        step.name("reader: reads wants_space");
        return next(s.memory.load(me, kWantsSpace) && without_ != Without::kBellOfGiveBack ? kGiveSleeps : kTake);
      case kGiveSleeps:
        step.name("reader: reads the sender's flag");
        return next(s.memory.load(me, kSenderSleeps) ? kGiveTake : kTake);
      case kGiveTake: {
        step.name("reader: takes the sender's flag");
        const bool taken = s.memory.words[kSenderSleeps] == 1;
        s.memory.words[kSenderSleeps] = 0;
        return next(taken ? kGiveRing : kTake);
      }
      case kGiveRing:
        step.name("reader: rings the sender");
        s.bell = 1;
        return next(kTake);
      case kRest:
        if (!s.memory.takes_store(me)) return false;
        step.name("reader: raises its sleeping flag");
        s.memory.store(me, kReaderSleeps, 1);
        return next(kRestFence);
      case kRestFence:
        step.name("reader: fence after the flag");
        return s.memory.fenced(me) && next(kRestLook);
      case kRestLook:
        step.name("reader: looks once more");
        return next(s.memory.load(me, kTail) != s.read ? kRestOver : kRestSleep);
      case kRestSleep:
        if (!s.reader_bell) return false;
        step.name("reader: wakes");
        s.reader_bell = 0;
        return next(kRestOver);
      case kRestOver:
        if (!s.memory.takes_store(me)) return false;
        step.name("reader: lowers its sleeping flag");
        s.memory.store(me, kReaderSleeps, 0);
        return next(kTake);
    }
    return false;
  }

  Without without_;
};

TEST(SpaceModel, RoomIsNeverMissed) {
  const Verdict verdict = check(Space(Without::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

class SpaceMutant : public ::testing::TestWithParam<Without> {};

TEST_P(SpaceMutant, IsFoundOut) {
  const Verdict verdict = check(Space(GetParam()));
  EXPECT_EQ(verdict.kind, Verdict::kStuck) << verdict.why << verdict.states;
}

INSTANTIATE_TEST_SUITE_P(Each, SpaceMutant,
                         ::testing::Values(Without::kFenceInGiveBack, Without::kFenceInArm,
                                           Without::kFenceInStartWaiting, Without::kFlagInStartWaiting,
                                           Without::kLookInStartWaiting, Without::kFlagInArm,
                                           Without::kBellOfGiveBack));

}  // namespace
}  // namespace lapwing::model
