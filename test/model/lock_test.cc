// The endpoint's lock (src/engine/lock.cc): a holder that breathes, and two threads that want to get in. Memory is weak for the word
// that is stored to without a fence, the lock's state; the others are only changed by read-modify-writes. The time limit of the sleep
// inside breathe() is left out: without it a sleep that is never ended would be for ever, and would be found.
#include <gtest/gtest.h>

#include "checker.h"
#include "weak_memory.h"

namespace lapwing::model {
namespace {

enum class Without {
  kNothing,
  kFence,            // it is not made sure that the holder sees a sleeper
  kSleeper,          // a thread that sleeps does not say so
  kWake,             // unlock() wakes no thread
  kCompare,          // a waiter sleeps without comparing the count of wake-ups
  kReset,            // a waiter does not say that it has tried again: the next wake-up is left out
  kReadFirst,        // a waiter says so before it reads the count of wake-ups
  kAnnouncement,     // an admitted waiter does not count its admission
  kResting,          // breathe() sleeps and does not say so
  kLookForWaiting,   // breathe() waits for an admission although no thread waits
};

class Lock {
 public:
  static constexpr int kThreads = 3, kRounds = 2;
  enum Word { kState, kWords };
  enum Value : std::uint8_t { kFree, kHeld };
  enum Sleeps : std::uint8_t { kAwake, kOnWakeUps, kOnAdmissions };
  struct State {
    WeakMemory<kThreads, kWords> memory;
    std::uint8_t sleepers, wake_ups, waking, waiting, admissions, resting;
    struct {
      std::uint8_t at, rounds, sleeps, before, read, in, breathing, fenced;  // fenced: how many threads have passed its fence
    } thread[kThreads];  // the first one breathes
  };

  // Light: the holder's fence is the compiler's alone, and a sleeper's is the kernel's. Otherwise both are the processor's.
  Lock(Without without, bool light) : without_(without), light_(light) {}
  int threads() const { return 2 * kThreads; }
  void begin(State&) const {}
  const char* broken(const State& s) const {
    int inside = 0;
    for (const auto& thread : s.thread) inside += thread.in;
    return inside > 1 ? "two threads hold the lock" : nullptr;
  }
  const char* unfinished(const State& s) const {
    for (const auto& thread : s.thread)
      if (thread.at != kOutside) return "a thread waits for a free lock, or breathes for ever";
    return nullptr;
  }

  bool step(State& s, int me, Step& step) const {
    if (me >= kThreads) return s.memory.empty_one(me - kThreads, step);
    auto& self = s.thread[me];
    const auto next = [&](std::uint8_t at) { return self.at = at, true; };
    if (self.sleeps != kAwake) return false;
    switch (self.at) {
      case kOutside:
        if (self.rounds == (me == kThreads - 1 ? 1 : kRounds)) return false;
        ++self.rounds;
        return step.name("calls lock()"), next(kLock);
      case kLock:
        step.name("lock: tries");
        return try_lock(s, me) && next(self.in ? kEntered : kCount);
      case kCount:
        step.name("lock: one more waits");
        ++s.waiting;
        return next(kSecondTry);
      case kSecondTry:
        step.name("lock: tries again");
        return try_lock(s, me) && next(self.in ? kAdmitted : kSleeper);
      case kSleeper:
        step.name("lock: one more sleeps");
        if (without_ != Without::kSleeper) ++s.sleepers;
        self.fenced = 0;
        return next(without_ == Without::kFence ? first_of_try() : kFence);
      case kFence:
        step.name("lock: one thread more has passed the fence");
        if (!s.memory.fenced(light_ ? self.fenced : me)) return false;
        if (++self.fenced == kThreads || !light_) return next(first_of_try());
        return true;
      case kRead:
        step.name("lock: reads the count of wake-ups");
        self.read = s.wake_ups;
        return next(without_ == Without::kReadFirst ? kTry : kReset);
      case kReset:
        step.name("lock: takes `waking` down");
        if (!s.memory.fenced(me)) return false;
        if (without_ != Without::kReset) s.waking = 0;
        return next(without_ == Without::kReadFirst ? kRead : kTry);
      case kTry:
        step.name("lock: tries, and knows that the thread that gives it back sees a sleeper");
        return try_lock(s, me) && next(self.in ? kAwakeAgain : kSleep);
      case kSleep:
        step.name("lock: sleeps if no wake-up has come since it read");
        if (s.wake_ups == self.read || without_ == Without::kCompare) self.sleeps = kOnWakeUps;
        return next(first_of_try());
      case kAwakeAgain:
        step.name("lock: one less sleeps");
        self.read = self.fenced = 0;  // no longer of use: fewer states
        if (without_ != Without::kSleeper) --s.sleepers;
        return next(kAdmitted);
      case kAdmitted:
        step.name("lock: one less waits");
        --s.waiting;
        return next(kAnnounce);
      case kAnnounce:
        step.name("lock: counts its admission");
        if (without_ != Without::kAnnouncement) ++s.admissions;
        return next(kAnnounced);
      case kAnnounced:
        step.name("lock: wakes those that rest");
        if (s.resting != 0) wake(s, kOnAdmissions, kThreads, step);
        return next(kEntered);
      case kEntered:
        step.name("has the lock");
        if (me == 0 && !self.breathing) return next(kBreathe);
        self.breathing = self.before = 0;
        return next(kUnlock);

      case kBreathe:
        step.name("breathe: looks whether a thread waits");
        if (s.waiting == 0 && without_ != Without::kLookForWaiting) return next(kUnlock);
        self.before = s.admissions;
        self.breathing = 1;
        return next(kUnlock);
      case kUnlock:
        step.name("unlock: stores");
        if (!s.memory.takes_store(me)) return false;
        self.in = 0;
        s.memory.store_release(me, kState, kFree);
        return next(kLookForSleepers);
      case kLookForSleepers:
        step.name("unlock: looks for sleepers");
        if (!light_ && !s.memory.fenced(me) && without_ != Without::kFence) return false;
        return next(s.sleepers != 0 && without_ != Without::kWake ? kWake : self.breathing ? kLook : kOutside);
      case kWake:
        step.name("unlock: puts `waking` up, unless it is");
        if (!s.memory.fenced(me)) return false;  // an exchange that releases goes after the stores before it
        if (s.waking != 0) return next(self.breathing ? kLook : kOutside);
        s.waking = 1;
        return next(kCountWakeUp);
      case kCountWakeUp:
        step.name("unlock: counts the wake-up");
        ++s.wake_ups;
        return next(kWakeOne);
      case kWakeOne:
        step.name("unlock: wakes one");
        wake(s, kOnWakeUps, 1, step);
        return next(self.breathing ? kLook : kOutside);
      case kLook:
        step.name("breathe: looks for an admission");
        return next(s.admissions != self.before ? kLock : kLookWaiting);
      case kLookWaiting:
        step.name("breathe: looks whether a thread still waits");
        return next(s.waiting != 0 || without_ == Without::kLookForWaiting ? kRest : kLock);
      case kRest:
        step.name("breathe: one more rests");
        if (without_ != Without::kResting) ++s.resting;
        return next(kRestAsleep);
      case kRestAsleep:
        step.name("breathe: sleeps if no thread was admitted");
        if (s.admissions == self.before) self.sleeps = kOnAdmissions;
        return next(kRested);
      case kRested:
        step.name("breathe: one less rests");
        if (without_ != Without::kResting) --s.resting;
        return next(kLock);
    }
    return false;
  }

 private:
  enum At { kOutside, kLock, kCount, kSecondTry, kSleeper, kFence, kRead, kReset, kTry, kSleep, kAwakeAgain, kAdmitted, kAnnounce, kAnnounced,
            kEntered, kBreathe, kUnlock, kLookForSleepers, kWake, kCountWakeUp, kWakeOne, kLook, kLookWaiting, kRest, kRestAsleep, kRested };

  At first_of_try() const { return without_ == Without::kReadFirst ? kReset : kRead; }

  // Sets `in` when the lock was free. False: not yet.
  bool try_lock(State& s, int me) const {
    if (!s.memory.takes_update(me, kState)) return false;
    s.thread[me].in = s.memory.words[kState] == kFree;
    s.memory.words[kState] = kHeld;
    return true;
  }

  void wake(State& s, Sleeps where, int most, Step& step) const {
    for (; most > 0; --most) {
      int sleepers[kThreads], count = 0;
      for (int i = 0; i < kThreads; ++i)
        if (s.thread[i].sleeps == where) sleepers[count++] = i;
      if (count == 0) return;
      s.thread[sleepers[step.choose(count)]].sleeps = kAwake;
    }
  }

  Without without_;
  bool light_;
};

TEST(LockModel, ExcludesAndForgetsNobody) {
  for (const bool light : {true, false}) {
    const Verdict verdict = check(Lock(Without::kNothing, light));
    EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
    RecordProperty(light ? "states, light" : "states", static_cast<int>(verdict.states));
  }
}

class LockMutant : public ::testing::TestWithParam<Without> {};

TEST_P(LockMutant, IsFoundOut) {
  for (const bool light : {true, false}) {
    const Verdict verdict = check(Lock(GetParam(), light));
    EXPECT_EQ(verdict.kind, Verdict::kStuck) << verdict.why << verdict.states;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, LockMutant,
                         ::testing::Values(Without::kFence, Without::kSleeper, Without::kWake, Without::kCompare,
                                           Without::kAnnouncement, Without::kLookForWaiting, Without::kReset,
                                           Without::kReadFirst, Without::kResting));

}  // namespace
}  // namespace lapwing::model
