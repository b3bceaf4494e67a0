// The engine's model: pieces under the lock, and how the policy's orders are carried out.
#include "engine_model_parts.h"

namespace lapwing::model {

using namespace engine_parts;

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
  const bool in_flight = s.in_flight != 0;
  s.stale = s.visited = 1;
  s.left_in_flight = in_flight;
  if (s.baton) {
    if (s.turn_wanted && !is(Mutant::kKeptBackSilently)) wake_driver(s);
    return;
  }
  if (options.polling) return;
  Policy(s)->is_calm(in_flight && !s.turn_wanted && step.maybe());
  if (is(Mutant::kLeftToDriver) && s.actor[event_thread()].at == kEventBreathed) return;
  if (Policy(s)->leaves_as_it_is(in_flight)) return;
  const std::int64_t now = Policy(s)->listed() && in_flight ? some_time(step) : kNow;
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

}  // namespace lapwing::model
