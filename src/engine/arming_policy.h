// When the event thread is asked to look after messages: now, later, or not at all (design: paper 1, without its price).
//
// The event thread must never be in the way of an application that comes by itself: it is for what no other thread would move. So what
// counts is not whether something may arrive, but whether something waits that needs moving. With operations in flight the thread is
// armed when the application has been outside for about as long as a wake-up costs (arming then is at most twice as dear as the
// best choice in hindsight), by a timer that is set once and not per call. Where the port has stayed watched, arming takes no system call,
// and an application that is known to stay outside is armed when it leaves. With nothing in flight the engine comes to rest (source.h).
//
// A socket wakes for every message, and to be woken costs the computation more than a short message's copy. So where the event thread has
// been woken in vain time and again, by messages that the application's next call would have had as well, it is armed ever later, and
// the delay goes on growing as long as nothing helps (engine.vain_delay): no program pays for more than one such wake-up in the longest
// delay. The first that helps ends that, and so does a wait that finds at once what it would have helped with (put_off): a program that computes
// for less than the delay is back before the thread could show that it helps again.
//
// Of some operations that is known when they begin: the last messages of a collective, short ones that nothing waits for but the application's
// next call. As long as there are no others in flight (is_calm) a wake-up would be in vain, and the longest delay is in force at once.
//
// Pure: a policy makes no system call and reads no clock. Each function takes an event and gives the order that follows; event_thread.cc
// carries orders out and tells how they went, and the model checker does the same (test/model/engine_model.h), with this very code.
// Everything is called with the endpoint's lock held. Times and delays are in nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/tuning.h"

namespace lapwing::engine {

class ArmingPolicy {
 public:
  // What the sources make the event port ready for.
  enum class Sources : std::uint8_t {
    kDisarmed,  // nothing (sockets: everything): a thread polls, or the timer will see to them
    kAtRest,    // what cannot wait for the application's next call
    kArmed,     // everything that is worth waking a thread for
  };
  // The port in the event thread's epoll instance.
  enum class Watch : std::uint8_t {
    kNone,   // not in there
    kSpent,  // in there, and the one-shot has fired
    kOn,
  };
  enum class Timer : std::uint8_t {
    kIdle,     // set with nothing in flight, or where the kernel refuses the watch
    kBackoff,  // with operations in flight: the longer the application has kept calling, the longer
    kRetry,    // for a short time, after such a long one
  };

  // What is to be done next, and the function that hears how it went.
  enum class Order : std::uint8_t {
    kNothing,
    kRest,        // ask the sources to rest: rested()
    kRestOrArm,   // the same, by the event thread: rested_or_not()
    kArm,         // ask them to make the port ready: armed()
    kMoveAndArm,  // the same, but move first what is here, within bounds: armed()
    kWatch,       // put the port into the epoll instance: watched()
    kStandDown,   // disarm the sources, take the port out if they announce unasked: stood_down()
    kSetTimer,    // for delay(); nothing is heard until it fires
    kNotify,      // the event thread itself, through control
    kDrive,       // disarm the sources, take turns as long as something moves: drove()
    kDriveOnce,   // disarm them and take one turn: drove()
    kLeaveThere,  // disarm them: drove()
  };

  // For how long the application lately stayed outside: for a short time only; for a long one with nothing in flight, so it rests
  // when it leaves; for a long one with operations in flight as well, so it is armed when it leaves with any.
  enum class Outside : std::uint8_t { kShort, kAtRest, kInFlight };

  // What the application's threads have done since the timer was set.
  struct SinceTimer {
    bool visited = false;         // made a call
    bool looked = false;          // looked for messages themselves, or found them stored
    bool left_in_flight = false;  // there were operations in flight when one left last
  };

  // How the event thread has driven.
  struct Drive {
    bool work = false;       // because it heard of some, from the port or control
    bool announced = false;  // from the port, which sources make ready whatever comes
    // It moved what cannot wait for the application's next call: a peer or the next round waits, or it is much.
    bool helped = false;
    bool called = false;  // an application thread has called meanwhile, and left or drives
  };

  // In force when the policy is made, but for what a wake-up costs, which is measured (engine.cc).
  struct Tuning {
    std::int64_t arm_delay = tuning().engine_assumed_wakeup;
    std::int64_t idle_delay = tuning().engine_idle_delay;
    std::int64_t short_rest = tuning().engine_short_rest;
    unsigned most_backoff = tuning().engine_most_backoff;
    unsigned most_idle_backoff = tuning().engine_most_idle_backoff;
    unsigned few_backoffs = tuning().engine_few_backoffs;
    unsigned backoffs_per_turn = tuning().engine_backoffs_per_turn;
    unsigned quick_returns = tuning().engine_quick_returns;
    unsigned vain_wakes = tuning().engine_vain_wakes;
    std::int64_t vain_delay = tuning().engine_vain_delay;
  };

  static constexpr std::int64_t kInside = -1;

  // All that a policy remembers; without padding, because the model checker compares states as memory.
  struct State {
    std::int64_t deadline = 0;       // of the timer, while it is set
    std::int64_t rested_at = 0;      // when the application last began a rest that lasts
    std::int64_t left_at = kInside;  // when the application left with the event thread armed; kInside: it has come back
    Sources sources = Sources::kDisarmed;
    Watch watch = Watch::kNone;
    Timer timer = Timer::kIdle;  // the one that is set, or was last
    bool timer_set = false;
    // How often in a row the timer found that the application had been here, or was cancelled.
    std::uint8_t backoff_level = 0;
    std::uint8_t quick_returns = 0;  // of an application that had left with the event thread armed, in a row
    Outside outside = Outside::kInFlight;
    bool notified = false;        // control, and not heard yet
    std::uint8_t vain_wakes = 0;  // of the event thread, in a row
    bool calm = false;            // nothing is in flight that would need a thread before the application's next call
    bool timer_for_calm = false;  // the timer was set when that was so
    std::uint8_t reserved[5] = {};
  };

  ArmingPolicy() noexcept = default;
  ArmingPolicy(const Tuning& tuning, const State& state) noexcept : tuning_(tuning), state_(state), has_thread_(true) {}
  void configure(const Tuning& tuning) noexcept { tuning_ = tuning; }
  // A new event thread begins, or none is there any more: nothing is watched, and no timer set.
  void begin(bool has_thread) noexcept {
    has_thread_ = has_thread;
    state_.watch = Watch::kNone, state_.timer_set = false, state_.notified = false;
  }

  const State& state() const noexcept { return state_; }
  // While the sources are armed, a wait may find at once what has come.
  bool sources_armed() const noexcept { return state_.sources == Sources::kArmed; }
  // Nothing is asked of the sources or of the event thread: a thread that begins to drive has nothing to take back.
  bool asks_nothing() const noexcept { return state_.sources == Sources::kDisarmed && state_.watch == Watch::kNone; }
  bool listed() const noexcept { return state_.watch != Watch::kNone; }
  bool listens() const noexcept { return state_.watch == Watch::kOn && state_.sources == Sources::kArmed; }
  bool at_rest() const noexcept { return state_.watch == Watch::kOn && state_.sources == Sources::kAtRest; }
  bool disarmed() const noexcept { return state_.sources == Sources::kDisarmed; }
  // The event thread has been woken in vain time and again, or would be.
  bool in_vain() const noexcept { return state_.calm || state_.vain_wakes >= tuning_.vain_wakes; }
  // To be told before leaves_as_it_is(), and before whatever takes `in_flight`.
  void is_calm(bool calm) noexcept { state_.calm = calm; }

  // ---- an application thread leaves, and no other drives ----

  // True when it may just go: the engine is at rest, or the timer is set that will look after what is in flight, or there is no event thread.
  bool leaves_as_it_is(bool in_flight) const noexcept {
    if (!has_thread_) return true;
    if (timer_does(in_flight)) return !listens();
    return at_rest() && !in_flight;
  }
  Order leave(bool in_flight, bool turn_wanted, std::int64_t now) noexcept;
  // It has come back, and waits.
  void comes_back(std::int64_t now) noexcept;
  // With the sources disarmed: only because wake-ups were in vain has the timer not fired yet. Then the first turn of the wait tells whether the
  // event thread has been missed.
  bool put_off(std::int64_t now) const noexcept;
  void missed() noexcept { state_.vain_wakes = 0; }
  Order rested(bool ok, std::int64_t now) noexcept;
  Order armed(bool ok) noexcept;
  Order watched(bool ok, std::int64_t now) noexcept;
  Order stood_down(bool in_flight, std::int64_t now) noexcept;
  // Of the order kSetTimer.
  std::int64_t delay() const noexcept;

  // ---- a driver ----

  // It begins to poll. At rest the sources stay as they are: rest outlasts waits that end without sleep.
  bool driver_disarms() const noexcept { return state_.sources != Sources::kDisarmed && !at_rest(); }
  // It is about to sleep in the port, which the event thread must not watch then.
  void driver_sleeps(std::int64_t now) noexcept;
  // It has been there for so long that the timer would fire for nothing: true when the timer is to be cancelled.
  bool timer_is_near(std::int64_t now, std::int64_t margin) const noexcept {
    return state_.timer_set && now >= state_.deadline - margin;
  }
  void timer_cancelled() noexcept;

  // ---- what the sources are told, and what happens to the watch ----

  void sources_arm() noexcept { state_.sources = Sources::kArmed; }
  void sources_disarmed() noexcept { state_.sources = Sources::kDisarmed; }
  void unwatched() noexcept { state_.watch = Watch::kNone; }
  // What could not wait has come, or messages follow each other without a pause. True when the engine was at rest: then the sources
  // are to be disarmed and the port is to be taken out.
  bool rest_ends() noexcept;

  // ---- the event thread ----

  void heard_port() noexcept;
  void heard_timer(bool driven) noexcept;
  void heard_control() noexcept { state_.notified = false; }
  // After these. `work`: the port or control was heard; `driven`: an application thread drives.
  Order woken(bool work, bool driven, bool in_flight, bool turn_wanted, SinceTimer since) noexcept;
  Order drove(Drive drive, bool in_flight, SinceTimer since, std::int64_t now) noexcept;
  Order rested_or_not(bool ok) noexcept;

 private:
  // The timer that is set looks after what is in flight, and soon enough.
  bool timer_does(bool in_flight) const noexcept {
    return state_.timer_set && (!in_flight || (state_.timer != Timer::kIdle && (state_.calm || !state_.timer_for_calm)));
  }
  bool stays_armed(std::int64_t now) noexcept;
  std::int64_t backoff_delay() const noexcept;
  void note_wake(const Drive& drive) noexcept;
  void stays_outside(Outside how) noexcept { state_.outside = std::max(state_.outside, how); }
  Order request_timer(bool in_flight, std::int64_t now) noexcept;
  Order set_timer(Timer timer, std::int64_t now) noexcept;
  Order arm(bool in_flight) noexcept;
  Order arm_later(std::int64_t now) noexcept;
  Order timer_again(bool in_flight, std::int64_t now) noexcept;
  void back_off() noexcept;
  bool helps_itself(bool in_flight, bool turn_wanted, SinceTimer since) const noexcept;

  Tuning tuning_;
  State state_;
  bool has_thread_ = false;
};

}  // namespace lapwing::engine
