// The engine's model: the event thread.
#include "engine_model_parts.h"

namespace lapwing::model {

using namespace engine_parts;

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
      Order order =
          Policy(s)->woken(self.work != 0, s.baton != 0, s.in_flight != 0, s.turn_wanted != 0, {stale, looked, s.left_in_flight != 0});
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
      const ArmingPolicy::Drive drive{.work = self.work != 0,
                                      .announced = options.socket && (self.heard & kHeardPort) != 0,
                                      .helped = self.work && step.maybe(),
                                      .called = s.baton || s.visited};
      const Order order = Policy(s)->drove(drive, s.in_flight != 0, {stale, false, s.left_in_flight != 0}, kNow);
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
