// The engine's model: a turn, arming the sources, letting them rest. Any thread may be in one of these.
#include "engine_model_parts.h"

namespace lapwing::model {

using namespace engine_parts;

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

}  // namespace lapwing::model
