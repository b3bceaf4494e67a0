// The engine's model: an application thread.
#include "engine_model_parts.h"

namespace lapwing::model {

using namespace engine_parts;

void EngineModel::start(State& s, int me) const {
  ++s.posted;
  s.actor[me].operation = s.unexpected > 0 ? kDone : kFlying;
  if (s.unexpected > 0)
    --s.unexpected;
  else
    ++s.in_flight;
}

// One call begins. All calls that make sense are tried.
void EngineModel::enter(State& s, int me, Step& step) const {
  Actor& self = s.actor[me];
  const bool has_one = self.operation != kNoOperation;
  const bool may_start = !has_one && s.posted < options.messages;
  const bool may_send = s.sent < options.messages;
  enum { kTest, kRecvOrWait, kIrecv, kSelf };
  const int calls[] = {kTest, has_one || may_start ? kRecvOrWait : kSelf, kIrecv, kSelf};
  switch (calls[step.choose(has_one || may_start ? 3 + may_send : 1 + may_send)]) {
    case kTest:
      step.name("application: MPI_Test");
      if (self.operation == kDone) self.operation = kNoOperation;
      self.at = options.polling ? kTurnThorough : kTurnQuick;
      self.back = kTested;
      return;
    case kSelf:  // in the place of the peer's next one
      step.name("application: a message to its own process");
      ++s.sent;
      if (!complete_one(s, step)) ++s.unexpected;
      self.at = kLeave;
      return;
    case kRecvOrWait:
      step.name(has_one ? "application: MPI_Wait" : "application: MPI_Recv");
      if (may_start) start(s, me);
      self.waits = 1;
      self.at = kWaitLoop;
      if (s.arming.sources == ArmingPolicy::Sources::kArmed && !s.baton)
        self.at = kTurnQuick, self.back = kWaitLoop;  // it may have come
      return;
    case kIrecv:
      step.name(has_one ? "application: a call that leaves at once" : "application: MPI_Irecv");
      if (may_start) start(s, me);
      if (options.socket && step.maybe()) {  // and a frame of a burst is kept back until the next turn
        if (!s.kept_back) s.kept_back = 1, ++s.in_flight;
        s.turn_wanted = 1;
      }
      self.at = kLeave;
      return;
  }
}

bool EngineModel::application(State& s, int me, Step& step) const {
  Actor& self = s.actor[me];
  const std::uint8_t mine = static_cast<std::uint8_t>(me + 1);
  const auto next = [&](std::uint8_t at) { return self.at = at, true; };
  const auto call = [&](std::uint8_t subroutine, std::uint8_t back) {
    self.at = subroutine, self.back = back;
    return true;
  };
  switch (self.at) {
    case kOutside:
      if (self.calls == 0 || s.holder != 0) return false;
      --self.calls;
      s.holder = mine;
      enter(s, me, step);
      return true;
    case kTested:
      step.name("application: has tested");
      return next(kLeave);

    case kWaitLoop:
      if (self.operation == kDone) {
        step.name("wait: over");
        self.operation = kNoOperation;
        self.waits = self.spun = 0;
        const bool keeps = is(Mutant::kNoPassing) || (is(Mutant::kPassOnlyAsDriver) && self.signal != 0);
        if (!s.baton && s.blocked_count > 0 && !keeps) s.actor[s.blocked[0]].signal = 1;
        self.signal = 0;
        return next(kLeave);
      }
      if (s.baton) {
        step.name("wait: sleeps beside the driver");
        s.blocked[s.blocked_count++] = static_cast<std::uint8_t>(me);
        self.linked = 1;
        s.holder = 0;
        if (is(Mutant::kLateSignalReset)) return next(kFutexLate);
        self.signal = 0;
        return next(kFutex);
      }
      step.name("wait: takes the baton");
      s.baton = 1;
      return next(kDrive);
    case kFutexLate:
      step.name("wait: lowers its signal");
      self.signal = 0;
      return next(kFutex);
    case kFutex:
      if (!self.signal) return false;
      step.name("wait: is signalled");
      return next(kFutexWoken);
    case kFutexWoken: {
      if (s.holder != 0) return false;
      step.name("wait: looks again");
      s.holder = mine;
      int kept = 0;
      for (int i = 0; i < s.blocked_count; ++i)
        if (s.blocked[i] != me) s.blocked[kept++] = s.blocked[i];
      s.blocked[kept] = 0;
      s.blocked_count = static_cast<std::uint8_t>(kept);
      self.linked = 0;
      return next(kWaitLoop);
    }

    case kDrive:
      step.name("drive: disarms");
      if (Policy(s)->listens()) Policy(s)->comes_back(some_time(step));
      if (Policy(s)->disarmed() && Policy(s)->put_off(some_time(step)) && step.maybe()) Policy(s)->missed();
      if (Policy(s)->driver_disarms()) disarm_sources(s);
      if (options.socket && !Policy(s)->at_rest()) unwatch(s);
      return next(kSpin);
    case kSpin:
      step.name("spin: a turn");
      return call(kTurnQuick, kSpun);
    case kSpun:
      if (self.operation == kDone) {
        step.name("drive: ends spinning");
        s.baton = 0;
        return next(kWaitLoop);
      }
      step.name("spin: breathes");
      s.holder = 0;
      return next(kBreathed);
    case kBreathed:
      if (s.holder != 0) return false;
      s.holder = mine;
      if (s.arming.timer_set && Policy(s)->timer_is_near(step.maybe() ? kMuchLater : -kMuchLater, 0)) stop_timer(s);
      if (self.moved || (!self.spun && step.maybe())) {
        step.name("spin: once more");
        self.spun = !self.moved;
        return next(kSpin);
      }
      step.name("spin: the budget is spent");
      self.spun = 0;
      return next(kSleepDisarm);
    case kSleepDisarm:
      step.name("sleep: disarms the event thread");
      Policy(s)->driver_sleeps(Policy(s)->at_rest() ? some_time(step) : kNow);
      unwatch(s);
      if (s.arming.timer_set) stop_timer(s);
      return call(kArm, kSleepArmed);
    case kSleepArmed:
      if (!self.ok || self.operation == kDone) {
        step.name("sleep: there is something to do");
        return next(kLower);
      }
      step.name("sleep: lets go of the lock");
      s.driver_sleeps = 1;
      s.holder = 0;
      return next(kCollect);
    case kCollect:
      if (!s.bell && !s.wake) return false;
      step.name("sleep: the port wakes the driver");
      self.heard = s.bell;
      s.bell = s.wake = 0;
      return next(kCollected);
    case kCollected:
      if (s.holder != 0) return false;
      step.name("sleep: has the lock again");
      s.holder = mine;
      s.driver_sleeps = 0;
      return next(kLower);
    case kLower:
      step.name("sleep: disarms the sources");
      disarm_sources(s);
      return next(kAwake);
    case kAwake: {
      const bool reads = self.heard != 0 && options.socket;
      self.heard = 0;
      step.name("sleep: delivers");
      return reads ? call(kDeliver, kDelivered) : next(kDelivered);
    }
    case kDelivered:
      step.name("sleep: has delivered");
      if (self.operation != kDone) return next(kSpin);
      s.baton = 0;
      return next(kWaitLoop);

    case kLeave:
      step.name("leave");
      leave(s, me, step);
      return true;
    case kPushTurn:
      if (self.ok) {
        step.name("leave: nothing is here");
        return call(kArm, kArmAnswered);
      }
      step.name("leave: does what is here");
      disarm_sources(s);
      return call(kTurnQuick, kPushed);
    case kPushed:
      step.name("leave: has done what was here");
      return call(kArm, kArmAnswered);
    case kLeft:
      step.name("leave: unlocks");
      s.holder = 0;
      self.back = self.moved = self.ok = self.order = 0;
      return next(kOutside);
  }
  return false;
}

}  // namespace lapwing::model
