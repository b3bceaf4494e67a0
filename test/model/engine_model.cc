#include "engine_model.h"

namespace lapwing::model {
namespace {

using engine::ArmingPolicy;
using Order = engine::ArmingPolicy::Order;

enum Operation : std::uint8_t { kNoOperation, kFlying, kDone };
enum Flag : std::uint8_t { kDisarmed, kAtRest, kArmed };  // of a mailbox: what its peer is to ring for

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
  // Subroutines: a turn, arming the sources, letting them rest
  kTurnThorough,
  kTurnQuick,
  kTurnLook,
  kTurnMayLook,
  kDeliver,
  kArm,
  kArmLook,
  kArmAnswered,
  kRest,
  kRestLook,
};

enum Heard : std::uint8_t { kHeardPort = 1, kHeardTimer = 2, kHeardControl = 4 };

// Small numbers, so that all that depends on them happens within few steps.
constexpr ArmingPolicy::Tuning kTuning{.arm_delay = 1,
                                       .patient_delay = 1,
                                       .short_rest = 1,
                                       .most_renewals = 1,
                                       .most_patient_renewals = 1,
                                       .few_renewals = 0,
                                       .renewals_per_turn = 2,
                                       .quick_visits = 2};
constexpr std::int64_t kNow = 0, kMuchLater = 100;

// The policy of a state. Time is told anew each time, so none of it is kept.
class Policy {
 public:
  explicit Policy(EngineModel::State& state) : state_(state), policy_(kTuning, state.arming) {}
  ~Policy() {
    state_.arming = policy_.state();
    state_.arming.deadline = state_.arming.rested_at = state_.arming.last_visit = kNow;
  }
  ArmingPolicy* operator->() { return &policy_; }

 private:
  EngineModel::State& state_;
  ArmingPolicy policy_;
};

std::int64_t some_time(Step& step) { return step.maybe() ? kMuchLater : kNow; }

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
  if (s.driver_sleeps && !s.baton) return "a thread sleeps in the port without the baton";
  return nullptr;
}

const char* EngineModel::unfinished(const State& s) const {
  for (int i = 0; i < options.apps; ++i)
    if (s.actor[i].at != kOutside) return "an application thread is stuck inside MPI";
  if (options.polling) return nullptr;
  for (int i = 0; i < options.apps; ++i)
    if (s.actor[i].operation == kFlying) return "an operation never completes";
  if (s.mailbox != 0 && s.pressing) return "a peer is held up and no thread takes its message";
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
    if (step.maybe()) s.pressing = 1;
    if (!options.socket)
      s.peer_at = 1;
    else if (!s.watermark || s.pressing)
      s.bell = 1;
  } else {
    const bool rings = s.flag == kArmed || (s.flag == kAtRest && s.pressing);
    step.name(rings ? "peer: takes the flag and rings" : "peer: sees no flag for it");
    if (rings) s.flag = kDisarmed, s.bell = 1;
    s.peer_at = 0;
  }
  return true;
}

bool EngineModel::clock(State& s, Step& step) const {
  if (!s.timer_runs) return false;
  step.name("clock: a millisecond is over");
  s.timer_runs = 0, s.timer_fired = 1;
  return true;
}

// ---- pieces under the lock ------------------------------------------------------------------------------------------

void EngineModel::wake_driver(State& s) const {
  if (s.driver_sleeps) s.wake = 1;
}

// One message out of the mailbox: it completes an operation, or is unexpected.
void EngineModel::take_message(State& s, Step& step) const {
  --s.mailbox;
  if (s.mailbox == 0) s.pressing = 0;
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
  Policy policy(s);
  if (policy->disarmed()) return;
  s.flag = kDisarmed;
  policy->sources_disarmed();
}

// Messages follow each other without a pause.
void EngineModel::end_rest(State& s) const {
  if (is(Mutant::kRestGoesOn) || !Policy(s)->rest_ends()) return;
  disarm_sources(s);
  unwatch(s);
}

void EngineModel::unwatch(State& s) const {
  Policy policy(s);
  if (!policy->listed()) return;
  if (!s.listed) s.wrong_call = 1;
  s.listed = s.watched = 0;
  if (!is(Mutant::kListedForEver)) policy->unwatched();
}

// Adds the port to the outer epoll, or turns the one-shot of one that is in there on again.
bool EngineModel::watch(State& s, Step& step) const {
  const bool listed = Policy(s)->listed();
  if (listed != s.listed) s.wrong_call = 1;
  if (!listed && s.refused < options.refusals && step.maybe()) {
    step.name("arm: the kernel refuses");
    ++s.refused;
    disarm_sources(s);
    return false;
  }
  s.listed = s.watched = 1;
  return true;
}

void EngineModel::stop_timer(State& s) const {
  s.timer_runs = s.timer_fired = 0;
  if (!is(Mutant::kCancelledPending)) Policy(s)->timer_cancelled();
}

void EngineModel::leave(State& s, int me, Step& step) const {
  s.actor[me].at = kLeft;
  s.stale = s.visited = 1;
  if (s.baton) {
    if (s.turn_wanted && !is(Mutant::kKeptBackSilently)) wake_driver(s);
    return;
  }
  if (options.polling) return;
  if (is(Mutant::kLeftToDriver) && s.actor[event_thread()].at == kEventBreathed) return;
  const bool in_flight = s.in_flight != 0;
  if (Policy(s)->leaves_as_it_is(in_flight)) return;
  const std::int64_t now = Policy(s)->listens() && in_flight ? some_time(step) : kNow;
  const Order order = Policy(s)->leave(in_flight, s.turn_wanted != 0, now);
  carry_out(s, me, order, step);
}

// As EventThread::carry_out(), up to the next moment at which others can tell.
void EngineModel::carry_out(State& s, int me, Order order, Step& step) const {
  Actor& self = s.actor[me];
  for (;;) {
    if (!obeys(s, me, order)) order = Order::kNothing;
    self.order = static_cast<std::uint8_t>(order);
    switch (order) {
      case Order::kRest:
      case Order::kRestOrArm:
        self.at = kRest;
        return;
      case Order::kMoveAndArm:
        self.at = kArm, self.back = kPushTurn;
        return;
      case Order::kArm:
        self.at = kArm, self.back = kArmAnswered;
        return;
      case Order::kWatch: {
        const bool ok = watch(s, step);
        order = Policy(s)->watched(ok, kNow);
        if (ok && is(Mutant::kListedByArming)) Policy(s)->unwatched();
        if (!ok && is(Mutant::kNoTicking)) order = Order::kNothing;
        break;
      }
      case Order::kStandDown:
        disarm_sources(s);
        if (options.socket) unwatch(s);
        order = Policy(s)->stood_down(s.in_flight != 0, kNow);
        break;
      case Order::kSetTimer:
        s.timer_runs = 1, s.timer_fired = 0, s.stale = 0;
        order = Order::kNothing;
        break;
      case Order::kNotify:
        s.control = 1;
        order = Order::kNothing;
        break;
      default:
        self.at = me == event_thread() ? kEventDone : kLeft;
        return;
    }
  }
}

bool EngineModel::obeys(const State& s, int me, Order order) const {
  const bool arms = order == Order::kArm || order == Order::kMoveAndArm, by_event_thread = me == event_thread();
  switch (options.mutant) {
    case Mutant::kNoNewArmOnLeave:
      return !arms || by_event_thread || s.arming.watch != ArmingPolicy::Watch::kOn;
    case Mutant::kNoControl:
      return order != Order::kNotify;
    case Mutant::kNoLazyTimer:
      return order != Order::kSetTimer || by_event_thread;
    case Mutant::kLazyOnce:
      return order != Order::kSetTimer || !by_event_thread;
    case Mutant::kNoArmAfterDrive:
      return !by_event_thread || (!arms && order != Order::kRestOrArm);
    case Mutant::kRestUnwatched:
      return order != Order::kWatch || s.arming.sources != ArmingPolicy::Sources::kAtRest;
    default:
      return true;
  }
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
      const bool hot = s.expected || s.watermark;
      const bool reads = s.mailbox != 0 && (!options.socket || hot || step.maybe());  // a socket only while it is hot
      if (reads) self.moved = 1, take_message(s, step);
      if (s.expected && s.mailbox != 0) s.bell = 1;
      s.expected = 0;
      if (reads && options.socket && step.maybe()) end_rest(s);
      return next(self.at == kTurnThorough ? kTurnLook : kTurnMayLook);
    }
    case kTurnLook:
    case kTurnMayLook: {
      const bool looks = (!s.driver_sleeps || is(Mutant::kOthersCollect)) && (self.at == kTurnLook || step.maybe());
      step.name(looks ? "turn: collects from the port" : "turn: ends");
      if (!looks) return next(self.back);
      if (s.bell) end_rest(s), self.moved = 1;
      const bool reads = s.bell != 0 && options.socket;
      s.bell = s.wake = 0;
      if (reads && step.maybe()) return s.expected = 1, next(self.back);  // by the next poll: the link is hot
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
      Policy(s)->sources_arm();
      if (options.socket) {
        if (s.watermark && !is(Mutant::kSleepBelowMark)) {  // the kernel announces what it hid
          s.watermark = 0;
          if (s.mailbox != 0) s.bell = 1;
        }
        self.ok = !s.expected && (!s.kept_back || is(Mutant::kKeptBackSilently));
        return next(self.back);
      }
      if (is(Mutant::kCheckBeforeArm))
        self.ok = s.mailbox == 0;
      else
        s.flag = kArmed;
      return next(kArmLook);
    case kArmLook:
      step.name("arm: looks for work");
      if (is(Mutant::kCheckBeforeArm))
        s.flag = kArmed;
      else
        self.ok = s.mailbox == 0;
      return next(self.back);

    case kRest:
      step.name("rest: the flag goes up for what presses");
      if (options.socket) {
        s.watermark = 1;
        if (s.pressing) s.bell = 1;
      } else if (is(Mutant::kLookBeforeRest)) {
        self.ok = s.mailbox == 0;
      } else {
        s.flag = kAtRest;
      }
      return next(kRestLook);
    case kRestLook: {
      step.name("rest: looks for work");
      if (is(Mutant::kLookBeforeRest) && !options.socket)
        s.flag = kAtRest;
      else
        self.ok = options.socket ? !s.expected : s.mailbox == 0;
      if (!self.ok) disarm_sources(s);
      const bool by_event_thread = static_cast<Order>(self.order) == Order::kRestOrArm;
      const Order order = by_event_thread ? Policy(s)->rested_or_not(self.ok) : Policy(s)->rested(self.ok, kNow);
      carry_out(s, me, order, step);
      return true;
    }
    case kArmAnswered: {
      step.name(self.ok ? "arm: the sources are armed" : "arm: there is work");
      if (!self.ok) disarm_sources(s);
      const Order order = Policy(s)->armed(self.ok);
      carry_out(s, me, order, step);
      return true;
    }
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
      if (s.arming.sources == ArmingPolicy::Sources::kArmed && !s.baton) self.at = kTurnQuick, self.back = kWaitLoop;  // it may have come
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

// ---- the event thread -----------------------------------------------------------------------------------------------

bool EngineModel::event(State& s, int me, Step& step) const {
  Actor& self = s.actor[me];
  const std::uint8_t mine = static_cast<std::uint8_t>(me + 1);
  const auto next = [&](std::uint8_t at) { return self.at = at, true; };
  switch (self.at) {
    case kListen: {
      const bool port = s.watched && (s.bell || s.wake);
      self.heard = static_cast<std::uint8_t>((port ? kHeardPort : 0) | (s.timer_fired ? kHeardTimer : 0) |
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
      if ((self.heard & kHeardPort) != 0 && !is(Mutant::kArmedForEver)) Policy(s)->heard_port();
      if ((self.heard & kHeardControl) != 0) s.control = 0, Policy(s)->heard_control();
      if ((self.heard & kHeardTimer) != 0) s.timer_fired = 0, Policy(s)->heard_timer(s.baton != 0);
      self.work = (self.heard & (kHeardPort | kHeardControl)) != 0;
      const bool stale = s.stale != 0 || is(Mutant::kLazyForEver);
      const bool looked = stale && !self.work && step.maybe();
      Order order = Policy(s)->woken(self.work != 0, s.baton != 0, s.in_flight != 0, s.turn_wanted != 0, {stale, looked});
      const bool trusts = (is(Mutant::kWatchWithoutSources) && s.arming.watch == ArmingPolicy::Watch::kOn) ||
                          (is(Mutant::kRestForFlights) && Policy(s)->at_rest());
      if (!self.work && trusts) order = Order::kNothing;
      if (order == Order::kNothing) return next(kEventDone);
      disarm_sources(s);
      s.visited = 0;
      self.order = static_cast<std::uint8_t>(order);
      return next(order == Order::kLeaveThere ? kEventArm : kEventTurn);
    }
    case kEventTurn:
      step.name("event thread: a turn");
      self.at = kTurnThorough, self.back = kEventMoved;
      return true;
    case kEventMoved:
      if (!self.moved || static_cast<Order>(self.order) == Order::kDriveOnce)
        return step.name("event thread: no more"), next(kEventArm);
      step.name("event thread: breathes");
      s.holder = 0;
      return next(kEventBreathed);
    case kEventBreathed:
      if (s.holder != 0) return false;
      step.name("event thread: looks whether the application was here");
      s.holder = mine;
      return next(s.baton || s.visited ? kEventArm : kEventTurn);
    case kEventArm: {
      step.name("event thread: has driven");
      const bool stale = s.stale != 0 || is(Mutant::kLazyForEver);
      const Order order = Policy(s)->drove(self.work != 0, s.baton || s.visited, s.in_flight != 0, {stale, false}, kNow);
      carry_out(s, me, order, step);
      return true;
    }
    case kEventDone:
      step.name("event thread: sleeps");
      s.holder = 0;
      self.back = self.moved = self.ok = self.heard = self.order = self.work = 0;
      return next(kListen);
  }
  return false;
}

}  // namespace lapwing::model
