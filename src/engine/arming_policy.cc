#include "engine/arming_policy.h"

#include <algorithm>

namespace lapwing::engine {

using Order = ArmingPolicy::Order;

namespace {

constexpr std::uint8_t kMostCounted = 255;
constexpr unsigned kMostDoublings = 20;

}  // namespace

// ---- an application thread leaves -----------------------------------------------------------------------------------

// To begin to rest takes a system call or two where a driver has slept. Where such waits follow each other quickly the timer does it
// later, once.
Order ArmingPolicy::leave(bool in_flight, bool turn_wanted, std::int64_t now) noexcept {
  comes_back(now);
  if (!in_flight) {
    if (state_.watch != Watch::kOn && state_.outside == Outside::kShort) return request_timer(in_flight, now);
    state_.sources = Sources::kAtRest;
    return Order::kRest;
  }
  // Then arming takes no system call.
  const bool at_once = state_.watch == Watch::kOn && state_.outside == Outside::kInFlight && !in_vain();
  if (!listens() && !at_once) return request_timer(in_flight, now);
  if (!stays_armed(now)) return Order::kStandDown;
  return turn_wanted ? Order::kArm : Order::kMoveAndArm;
}

// It is armed at once, and stays armed, unless the application comes back quickly time and again: then peers would notify for what the
// next call finds anyway. How long it computes with nothing in flight has no part in that. (The sources are armed anew all the same: a
// peer that notifies disarms its source, and a turn of an application thread may have heard it.)
bool ArmingPolicy::stays_armed(std::int64_t now) noexcept {
  if (state_.quick_returns < tuning_.quick_returns && !in_vain()) {
    state_.left_at = now;
    return true;
  }
  state_.quick_returns = 0;
  state_.outside = Outside::kAtRest;
  return false;
}

void ArmingPolicy::comes_back(std::int64_t now) noexcept {
  if (state_.left_at == kInside) return;
  const bool quick = now - state_.left_at < tuning_.arm_delay;
  state_.quick_returns = quick ? static_cast<std::uint8_t>(state_.quick_returns + 1) : std::uint8_t{0};
  state_.left_at = kInside;
}

// Without wake-ups in vain the application would have been armed after the shortest delay: each of them makes the level rise as well.
bool ArmingPolicy::put_off(std::int64_t now) const noexcept {
  return in_vain() && state_.timer_set && state_.timer == Timer::kBackoff && now >= state_.deadline - delay() + tuning_.arm_delay;
}

Order ArmingPolicy::rested(bool ok, std::int64_t now) noexcept {
  if (!ok) {
    state_.sources = Sources::kDisarmed;
    return request_timer(false, now);
  }
  if (state_.watch == Watch::kOn) return Order::kNothing;
  state_.rested_at = now;
  return Order::kWatch;
}

Order ArmingPolicy::armed(bool ok) noexcept {
  if (ok) return state_.watch == Watch::kOn ? Order::kNothing : Order::kWatch;
  // Work is here already: the event thread does it, not the application, which wants to compute.
  state_.sources = Sources::kDisarmed;
  if (state_.notified) return Order::kNothing;
  state_.notified = true;
  return Order::kNotify;
}

// Refused: the kernel has no room for one more watch (a limit per user, which other processes may have used up since the start). The
// event thread looks once in a while, and tries again to be told.
Order ArmingPolicy::watched(bool ok, std::int64_t now) noexcept {
  if (ok) {
    state_.watch = Watch::kOn;
    return Order::kNothing;
  }
  state_.sources = Sources::kDisarmed;
  return set_timer(Timer::kIdle, now);
}

Order ArmingPolicy::stood_down(bool in_flight, std::int64_t now) noexcept {
  state_.sources = Sources::kDisarmed;
  return request_timer(in_flight, now);
}

// ---- the timer ------------------------------------------------------------------------------------------------------

Order ArmingPolicy::request_timer(bool in_flight, std::int64_t now) noexcept {
  if (timer_does(in_flight)) return Order::kNothing;
  return set_timer(in_flight ? Timer::kBackoff : Timer::kIdle, now);
}

Order ArmingPolicy::set_timer(Timer timer, std::int64_t now) noexcept {
  state_.timer = timer;
  state_.timer_set = true;
  state_.timer_for_calm = state_.calm;
  state_.deadline = now + delay();
  return Order::kSetTimer;
}

std::int64_t ArmingPolicy::delay() const noexcept {
  if (state_.timer == Timer::kIdle)
    return tuning_.idle_delay << std::min<unsigned>(state_.backoff_level, tuning_.most_idle_backoff);
  return state_.timer == Timer::kRetry ? tuning_.arm_delay : backoff_delay();
}

// It doubles with the level, and once more for every so many wake-ups in vain.
std::int64_t ArmingPolicy::backoff_delay() const noexcept {
  const unsigned level = std::min<unsigned>(state_.backoff_level, tuning_.most_backoff);
  const std::int64_t usual = tuning_.arm_delay << (level > 0 ? level - 1 : 0);
  if (!in_vain() || usual >= tuning_.vain_delay) return usual;
  if (state_.calm) return tuning_.vain_delay;
  const unsigned doublings = std::min(state_.vain_wakes / tuning_.vain_wakes - 1, kMostDoublings);
  return std::min(usual << doublings, tuning_.vain_delay);
}

// The delay grows, because to set a timer costs microseconds where it programs the clock of a virtual machine; but after a long one
// the application may just have begun to compute: unless wake-ups have helped nothing in any case.
Order ArmingPolicy::timer_again(bool in_flight, std::int64_t now) noexcept {
  const unsigned most = tuning_.most_backoff, level = state_.backoff_level + 1u;
  state_.backoff_level = static_cast<std::uint8_t>(level <= most + tuning_.backoffs_per_turn ? level : most + 1);
  if (state_.timer == Timer::kIdle || (level > most && !in_flight)) return set_timer(Timer::kIdle, now);
  return set_timer(state_.timer == Timer::kRetry || in_vain() ? Timer::kBackoff : Timer::kRetry, now);
}

void ArmingPolicy::back_off() noexcept {
  state_.backoff_level = static_cast<std::uint8_t>(std::min(state_.backoff_level + 1u, tuning_.most_backoff));
}

void ArmingPolicy::timer_cancelled() noexcept {
  state_.timer_set = false;
  state_.deadline = 0;
  back_off();
}

// ---- a driver -------------------------------------------------------------------------------------------------------

void ArmingPolicy::driver_sleeps(std::int64_t now) noexcept {
  if (!at_rest()) return;
  if (now - state_.rested_at >= tuning_.short_rest)
    stays_outside(Outside::kAtRest);
  else
    state_.outside = Outside::kShort;
}

bool ArmingPolicy::rest_ends() noexcept {
  if (state_.sources != Sources::kAtRest) return false;
  state_.outside = Outside::kShort;
  return true;
}

// ---- the event thread -----------------------------------------------------------------------------------------------

// Where so much comes that it cannot wait, an application that takes it itself is not to rest again before it has stayed outside.
void ArmingPolicy::heard_port() noexcept {
  if (state_.sources == Sources::kAtRest) state_.outside = Outside::kShort;
  if (state_.watch == Watch::kOn) state_.watch = Watch::kSpent;
}

void ArmingPolicy::heard_timer(bool driven) noexcept {
  state_.timer_set = false;
  state_.deadline = 0;
  if (driven) back_off();
}

Order ArmingPolicy::woken(bool work, bool driven, bool in_flight, bool turn_wanted, SinceTimer since) noexcept {
  const bool watches = listens() || (at_rest() && !in_flight);
  if (!work && watches && since.visited) back_off();
  if (driven || (!work && watches)) return Order::kNothing;
  if (work || !helps_itself(in_flight, turn_wanted, since)) return Order::kDrive;
  return (state_.backoff_level + 1) % tuning_.backoffs_per_turn == 0 ? Order::kDriveOnce : Order::kLeaveThere;
}

// The timer has found an application that has meanwhile looked for messages itself: with nothing in flight, or time and again. What has
// come is for its next call. Taken now it would be stored and copied again, and where the two share a core, a stream would leave the
// application no time to call.
bool ArmingPolicy::helps_itself(bool in_flight, bool turn_wanted, SinceTimer since) const noexcept {
  if (!since.visited || !since.looked || turn_wanted) return false;
  return !in_flight || state_.backoff_level > tuning_.few_backoffs;
}

// What a timer woke the thread for counts once the port has woken it in vain often enough. More are not counted than make the delay longer.
void ArmingPolicy::note_wake(const Drive& drive) noexcept {
  const bool counts = in_vain() ? backoff_delay() < tuning_.vain_delay && state_.vain_wakes < kMostCounted : drive.announced;
  if (drive.helped)
    state_.vain_wakes = 0;
  else if (counts)
    ++state_.vain_wakes;
}

// An application thread that has called meanwhile has set the timer when it left, and one that drives will.
Order ArmingPolicy::drove(Drive drive, bool in_flight, SinceTimer since, std::int64_t now) noexcept {
  note_wake(drive);
  if (drive.called) return Order::kNothing;
  if (drive.work) return in_flight && in_vain() ? arm_later(now) : arm(in_flight);
  if (state_.timer_set) return Order::kNothing;  // an application thread has set it itself
  if (since.visited) return timer_again(in_flight, now);
  state_.quick_returns = 0;
  if (in_vain())
    back_off();
  else
    state_.backoff_level = 0;
  stays_outside(since.left_in_flight ? Outside::kInFlight : Outside::kAtRest);
  return arm(in_flight);
}

Order ArmingPolicy::arm(bool in_flight) noexcept {
  state_.sources = in_flight ? Sources::kArmed : Sources::kAtRest;
  return in_flight ? Order::kArm : Order::kRestOrArm;
}

Order ArmingPolicy::arm_later(std::int64_t now) noexcept {
  back_off();
  return request_timer(true, now);
}

Order ArmingPolicy::rested_or_not(bool ok) noexcept {
  if (ok) return state_.watch == Watch::kOn ? Order::kNothing : Order::kWatch;
  state_.sources = Sources::kArmed;
  return Order::kArm;
}

}  // namespace lapwing::engine
