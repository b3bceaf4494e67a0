#include "engine_model.h"

namespace lapwing::model {
namespace {

enum Operation : std::uint8_t { kNoOperation, kFlying, kDone };

enum At : std::uint8_t {
  // An application thread
  kOutside,
  kTested,
  kWaitLoop,
  kFutex,
  kFutexLate,
  kFutexWoken,
  kDrive,
  kSpin,
  kSpun,
  kBreathed,
  kSleepDisarm,
  kSleepArmed,
  kLower,
  kCollect,
  kCollected,
  kAwake,
  kDelivered,
  // Leaving
  kLeave,
  kPushTurn,
  kPushed,
  kLeft,
  // The event thread
  kListen,
  kHeard,
  kEventTurn,
  kEventMoved,
  kEventBreathed,
  kEventArm,
  kEventDone,
  // Subroutines: a turn, arming the sources, arming the event thread
  kTurnThorough,
  kTurnQuick,
  kTurnLook,
  kTurnMayLook,
  kDeliver,
  kArm,
  kArmLook,
  kArmEvent,
  kArmEventArmed,
};

enum Heard : std::uint8_t { kHeardPort = 1, kHeardLazy = 2, kHeardControl = 4 };

}  // namespace

void EngineModel::begin(State& s) const {
  for (int i = 0; i < options.apps; ++i) {
    s.actor[i].at = kOutside;
    s.actor[i].calls = static_cast<std::uint8_t>(options.calls);
  }
  s.actor[event_thread()].at = kListen;
}

const char* EngineModel::broken(const State& s) const {
  int flying = s.kept_back;
  for (int i = 0; i < options.apps; ++i) flying += s.actor[i].operation == kFlying;
  if (flying != s.in_flight) return "an operation completed twice or never began";
  if (s.wrong_call) return "the port is added twice, or changed though it is not there";
  if (s.driver_sleeps && !s.baton) return "somebody sleeps in the port without the baton";
  return nullptr;
}

const char* EngineModel::unfinished(const State& s) const {
  for (int i = 0; i < options.apps; ++i)
    if (s.actor[i].at != kOutside) return "an application thread is stuck inside MPI";
  if (options.polling) return nullptr;
  for (int i = 0; i < options.apps; ++i)
    if (s.actor[i].operation == kFlying) return "an operation never completes";
  if (s.mailbox != 0) return "a message has come and nobody takes it";
  if (s.kept_back != 0) return "a frame that was kept back never leaves";
  if (s.actor[event_thread()].at != kListen) return "the event thread is stuck";
  return nullptr;
}

bool EngineModel::step(State& s, int thread, Step& step) const {
  if (thread == options.apps + 1) return peer(s, step);
  if (thread == options.apps + 2) return clock(s, step);
  if (s.actor[thread].at >= kTurnThorough) return subroutine(s, thread, step);
  return thread == event_thread() ? event(s, thread, step) : application(s, thread, step);
}

// ---- the world ------------------------------------------------------------------------------------------------------

bool EngineModel::peer(State& s, Step& step) const {
  if (s.peer_at == 0) {
    if (s.sent == options.messages) return false;
    step.name("peer: sends");
    ++s.sent, ++s.mailbox;
    if (options.socket)
      s.bell = 1;
    else
      s.peer_at = 1;
  } else {
    step.name(s.flag ? "peer: takes the flag and rings" : "peer: sees no flag");
    if (s.flag) s.flag = 0, s.bell = 1;
    s.peer_at = 0;
  }
  return true;
}

bool EngineModel::clock(State& s, Step& step) const {
  if (!s.timer_set) return false;
  step.name("clock: a millisecond is over");
  s.timer_set = 0, s.timer_fired = 1;
  return true;
}

// ---- pieces under the lock ------------------------------------------------------------------------------------------

void EngineModel::wake_driver(State& s) const {
  if (s.driver_sleeps) s.wake = 1;
}

// One message out of the mailbox: it completes an operation, or is unexpected.
void EngineModel::take_message(State& s, Step& step) const {
  --s.mailbox;
  if (!complete_one(s, step)) ++s.unexpected;
}

// Any of the operations in flight completes; false without one.
bool EngineModel::complete_one(State& s, Step& step) const {
  int flying[kMaxApps], count = 0;
  for (int i = 0; i < options.apps; ++i)
    if (s.actor[i].operation == kFlying) flying[count++] = i;
  if (count == 0) return false;
  Actor& owner = s.actor[flying[step.choose(count)]];
  owner.operation = kDone;
  --s.in_flight;
  if (owner.waits && owner.linked)
    owner.signal = 1;
  else if (owner.waits && !is(Mutant::kNoWakeForDriver))
    wake_driver(s);
  return true;
}

void EngineModel::disarm_sources(State& s) const {
  if (s.sources_armed) s.flag = 0;
  s.sources_armed = 0;
}

void EngineModel::disarm_event_thread(State& s) const {
  if (!s.port_listed) return;
  if (!s.listed) s.wrong_call = 1;
  s.listed = s.watched = s.armed = 0;
  s.port_listed = is(Mutant::kListedForEver);
}

// Adds the port to the outer epoll, or turns the one-shot of one that is in there on again.
void EngineModel::watch_port(State& s, Step& step) const {
  if (s.port_listed != s.listed) s.wrong_call = 1;
  if (!s.port_listed && s.refused < options.refusals && step.maybe()) {
    step.name("arm: the kernel refuses");
    ++s.refused;
    disarm_sources(s);
    s.lazy_brisk = 0;
    if (!is(Mutant::kNoTicking)) set_lazy_timer(s);
    return;
  }
  s.listed = s.watched = s.armed = 1;
  s.port_listed = !is(Mutant::kListedByArming);
}

void EngineModel::set_lazy_timer(State& s) const {
  s.lazy_pending = 1, s.lazy_stale = 0;
  s.timer_set = 1, s.timer_fired = 0;
}

void EngineModel::cancel_lazy_timer(State& s) const {
  if (!s.lazy_pending) return;
  s.lazy_pending = is(Mutant::kCancelledPending);
  s.timer_set = s.timer_fired = 0;
}

void EngineModel::request_lazy_arm(State& s) const {
  const bool brisk = s.in_flight > 0;
  if (is(Mutant::kNoLazyTimer) || (s.lazy_pending && (s.lazy_brisk || !brisk))) return;
  s.lazy_brisk = brisk;
  set_lazy_timer(s);
}

void EngineModel::leave(State& s, int me, Step& step) const {
  Actor& self = s.actor[me];
  self.at = kLeft;
  s.lazy_stale = s.visited = 1;
  if (s.baton) {
    if (s.turn_wanted && !is(Mutant::kKeptBackSilently)) wake_driver(s);
    return;
  }
  if (options.polling) return;
  if (is(Mutant::kLeftToDriver) && s.actor[event_thread()].at == kEventBreathed) return;
  if (s.armed && s.sources_armed) {
    if (step.maybe()) {  // it stays armed
      self.at = s.turn_wanted ? kArmEvent : kArm;
      self.back = s.turn_wanted ? kLeft : kPushTurn;
      return;
    }
    disarm_sources(s);  // calls follow each other quickly
    if (options.socket) disarm_event_thread(s);
  }
  request_lazy_arm(s);
}

// ---- subroutines ----------------------------------------------------------------------------------------------------

bool EngineModel::subroutine(State& s, int me, Step& step) const {
  Actor& self = s.actor[me];
  const auto next = [&](std::uint8_t at) { return self.at = at, true; };
  switch (self.at) {
    case kTurnThorough:
    case kTurnQuick: {
      step.name("turn: polls the source");
      self.moved = 0;
      s.turn_wanted = 0;
      if (s.kept_back) self.moved = 1, s.kept_back = 0, --s.in_flight;
      const bool reads = s.mailbox != 0 && (!options.socket || step.maybe());  // a socket only while it is hot
      if (reads) self.moved = 1, take_message(s, step);
      return next(self.at == kTurnThorough ? kTurnLook : kTurnMayLook);
    }
    case kTurnLook:
    case kTurnMayLook: {
      const bool looks = (!s.driver_sleeps || is(Mutant::kOthersCollect)) && (self.at == kTurnLook || step.maybe());
      step.name(looks ? "turn: collects from the port" : "turn: ends");
      if (!looks) return next(self.back);
      const bool reads = s.bell != 0 && options.socket;
      s.bell = s.wake = 0;
      return reads ? next(kDeliver) : next(self.back);
    }
    case kDeliver:
      step.name("deliver: reads the socket");
      self.moved = 1;
      if (s.mailbox != 0) take_message(s, step);
      if (s.mailbox != 0 && !is(Mutant::kNoAnnounceAgain)) s.bell = 1;
      return next(self.back);

    case kArm:
      step.name("arm: the flag goes up");
      s.sources_armed = 1;
      if (options.socket) {
        self.ok = !s.kept_back || is(Mutant::kKeptBackSilently);
        return next(self.back);
      }
      if (is(Mutant::kCheckBeforeArm))
        self.ok = s.mailbox == 0;
      else
        s.flag = 1;
      return next(kArmLook);
    case kArmLook:
      step.name("arm: looks for work");
      if (is(Mutant::kCheckBeforeArm))
        s.flag = 1;
      else
        self.ok = s.mailbox == 0;
      return next(self.back);

    case kArmEvent:
      if (is(Mutant::kNoNewArmOnLeave) && s.armed) {
        step.name("arm: already armed");
        return next(me == event_thread() ? kEventDone : kLeft);
      }
      self.back = kArmEventArmed;
      self.at = kArm;
      return subroutine(s, me, step);
    case kArmEventArmed:
      if (!self.ok) {
        step.name("arm: there is work, rings control");
        disarm_sources(s);
        if (!s.control_rung && !is(Mutant::kNoControl)) s.control_rung = s.control = 1;
      } else {
        step.name("arm: watches the port");
        if (!s.armed) watch_port(s, step);
      }
      return next(me == event_thread() ? kEventDone : kLeft);
  }
  return false;
}

// ---- an application thread ------------------------------------------------------------------------------------------

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
      if (s.sources_armed && !s.baton) self.at = kTurnQuick, self.back = kWaitLoop;  // it may have come
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
      disarm_sources(s);
      if (options.socket) disarm_event_thread(s);
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
      if (s.lazy_pending && step.maybe()) cancel_lazy_timer(s);  // before it would fire
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
      disarm_event_thread(s);
      cancel_lazy_timer(s);
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
        return call(kArmEvent, kLeft);
      }
      step.name("leave: does what is here");
      disarm_sources(s);
      return call(kTurnQuick, kPushed);
    case kPushed:
      step.name("leave: has done what was here");
      return call(kArmEvent, kLeft);
    case kLeft:
      step.name("leave: unlocks");
      s.holder = 0;
      self.back = self.moved = self.ok = 0;
      return next(kOutside);
  }
  return false;
}

// ---- the event thread -----------------------------------------------------------------------------------------------

bool EngineModel::event(State& s, int me, Step& step) const {
  Actor& self = s.actor[me];
  const std::uint8_t mine = static_cast<std::uint8_t>(me + 1);
  const auto next = [&](std::uint8_t at) { return self.at = at, true; };
  switch (self.at) {
    case kListen: {
      const bool port = s.watched && (s.bell || s.wake);
      self.heard = static_cast<std::uint8_t>((port ? kHeardPort : 0) | (s.timer_fired ? kHeardLazy : 0) |
                                             (s.control ? kHeardControl : 0));
      if (self.heard == 0) return false;
      step.name(port ? "event thread: wakes for the port" : "event thread: wakes");
      if (port) s.watched = 0;
      return next(kHeard);
    }
    case kHeard: {
      if (s.holder != 0) return false;
      step.name("event thread: has the lock");
      s.holder = mine;
      const bool fired = (self.heard & kHeardLazy) != 0;
      if ((self.heard & kHeardPort) != 0 && !is(Mutant::kArmedForEver)) s.armed = 0;
      if ((self.heard & kHeardControl) != 0) s.control = s.control_rung = 0;
      if (fired) s.timer_fired = s.lazy_pending = 0;
      const bool watches = s.armed && (s.sources_armed || is(Mutant::kWatchWithoutSources));
      self.heard &= static_cast<std::uint8_t>(~kHeardLazy);
      if (s.baton || (self.heard == 0 && watches)) return next(kEventDone);
      disarm_sources(s);
      s.visited = 0;
      self.once = self.heard == 0 && s.lazy_stale && !s.turn_wanted && step.maybe();  // it helps itself
      return next(self.once && step.maybe() ? kEventArm : kEventTurn);
    }
    case kEventTurn:
      step.name("event thread: a turn");
      self.at = kTurnThorough, self.back = kEventMoved;
      return true;
    case kEventMoved:
      if (!self.moved || self.once) return step.name("event thread: no more"), next(kEventArm);
      step.name("event thread: breathes");
      s.holder = 0;
      return next(kEventBreathed);
    case kEventBreathed:
      if (s.holder != 0) return false;
      step.name("event thread: looks who was here");
      s.holder = mine;
      return next(s.baton || s.visited ? kEventDone : kEventTurn);
    case kEventArm: {
      const bool at_once = self.heard != 0;
      const bool was_here = s.lazy_pending || s.lazy_stale || is(Mutant::kLazyForEver);
      if (!at_once && was_here) {
        step.name("event thread: the application was here");
        if (!s.lazy_pending && !is(Mutant::kLazyOnce)) set_lazy_timer(s);
        return next(kEventDone);
      }
      step.name("event thread: arms again");
      return next(is(Mutant::kNoArmAfterDrive) ? kEventDone : kArmEvent);
    }
    case kEventDone:
      step.name("event thread: sleeps");
      s.holder = 0;
      self.back = self.moved = self.ok = self.heard = self.once = 0;
      return next(kListen);
  }
  return false;
}

}  // namespace lapwing::model
