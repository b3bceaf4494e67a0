// The endpoint's lock (src/engine/lock.cc): a holder that breathes, and two threads that want to get in. The words are
// only changed by read-modify-writes, so memory is plain here. The time limit of the sleep inside breathe() is left
// out: without it a sleep that nobody ends would be for ever, and would be found.
#include <gtest/gtest.h>

#include "checker.h"

namespace lapwing::model {
namespace {

enum class Without {
  kNothing,
  kContendedWord,    // a waiter that gets the lock says kHeld, though others may sleep
  kWake,             // unlock() wakes nobody
  kCompare,          // a waiter sleeps without comparing the word
  kAnnouncement,     // an admitted waiter does not count its admission
  kLookForWaiting,   // breathe() waits for an admission although nobody waits
};

class Lock {
 public:
  static constexpr int kThreads = 3, kRounds = 2;
  enum Word : std::uint8_t { kFree, kHeld, kContended };
  enum Sleeps : std::uint8_t { kAwake, kOnState, kOnAdmissions };
  struct State {
    std::uint8_t state, waiting, admissions;
    struct {
      std::uint8_t at, rounds, sleeps, before, in, breathing;
    } thread[kThreads];  // the first one breathes
  };

  explicit Lock(Without without) : without_(without) {}
  int threads() const { return kThreads; }
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
    auto& self = s.thread[me];
    const auto next = [&](std::uint8_t at) { return self.at = at, true; };
    if (self.sleeps != kAwake) return false;
    switch (self.at) {
      case kOutside:
        if (self.rounds == kRounds) return false;
        ++self.rounds;
        return step.name("calls lock()"), next(kLock);
      case kLock:
        if (s.state == kFree) {
          step.name("lock: free");
          s.state = kHeld;
          return next(kEntered);
        }
        step.name("lock: not free");
        return next(kCount);
      case kCount:
        step.name("lock: one more waits");
        ++s.waiting;
        return next(kExchange);
      case kExchange: {
        step.name("lock: exchanges");
        const bool got = s.state == kFree;
        s.state = got && without_ == Without::kContendedWord ? kHeld : kContended;
        return next(got ? kAdmitted : kSleep);
      }
      case kSleep:
        step.name("lock: sleeps if the word still says so");
        if (s.state == kContended || without_ == Without::kCompare) self.sleeps = kOnState;
        return next(kExchange);
      case kAdmitted:
        step.name("lock: one less waits");
        --s.waiting;
        return next(kAnnounce);
      case kAnnounce:
        step.name("lock: counts its admission");
        if (without_ != Without::kAnnouncement) ++s.admissions;
        return next(kAnnounced);
      case kAnnounced:
        step.name("lock: wakes those who breathe");
        wake(s, kOnAdmissions, kThreads, step);
        return next(kEntered);
      case kEntered:
        step.name("has the lock");
        self.in = 1;
        if (me == 0 && !self.breathing) return next(kBreathe);
        self.breathing = 0;
        return next(kUnlock);

      case kBreathe:
        step.name("breathe: looks whether somebody waits");
        if (s.waiting == 0 && without_ != Without::kLookForWaiting) return next(kUnlock);
        self.before = s.admissions;
        self.breathing = 1;
        return next(kUnlock);
      case kUnlock: {
        step.name("unlock");
        self.in = 0;
        const bool sleepers = s.state == kContended;
        s.state = kFree;
        return next(sleepers && without_ != Without::kWake ? kWake : self.breathing ? kLook : kOutside);
      }
      case kWake:
        step.name("unlock: wakes one");
        wake(s, kOnState, 1, step);
        return next(self.breathing ? kLook : kOutside);
      case kLook:
        step.name("breathe: looks for an admission");
        return next(s.admissions != self.before ? kLock : kLookWaiting);
      case kLookWaiting:
        step.name("breathe: looks whether somebody still waits");
        return next(s.waiting != 0 || without_ == Without::kLookForWaiting ? kRest : kLock);
      case kRest:
        step.name("breathe: sleeps if nobody was admitted");
        if (s.admissions == self.before) self.sleeps = kOnAdmissions;
        return next(kLock);
    }
    return false;
  }

 private:
  enum At { kOutside, kLock, kCount, kExchange, kSleep, kAdmitted, kAnnounce, kAnnounced, kEntered, kBreathe, kUnlock,
            kWake, kLook, kLookWaiting, kRest };

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
};

TEST(LockModel, ExcludesAndForgetsNobody) {
  const Verdict verdict = check(Lock(Without::kNothing));
  EXPECT_EQ(verdict.kind, Verdict::kHolds) << verdict.why;
  RecordProperty("states", static_cast<int>(verdict.states));
}

class LockMutant : public ::testing::TestWithParam<Without> {};

TEST_P(LockMutant, IsFoundOut) {
  const Verdict verdict = check(Lock(GetParam()));
  EXPECT_EQ(verdict.kind, Verdict::kStuck) << verdict.why << verdict.states;
}

INSTANTIATE_TEST_SUITE_P(Each, LockMutant,
                         ::testing::Values(Without::kContendedWord, Without::kWake, Without::kCompare,
                                           Without::kAnnouncement, Without::kLookForWaiting));

}  // namespace
}  // namespace lapwing::model
