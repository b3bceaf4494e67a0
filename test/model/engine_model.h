// The engine (src/engine/progress.cc, event_thread.cc) as a model: application threads that start operations, test, wait
// and compute; the event thread with its one-shot watch over the port, timer and control; a peer whose messages
// complete operations or come unexpected; the clock. One step is what happens between two moments at which others can
// tell. All decisions on arming are those of the policy itself (src/engine/arming_policy.h): here is what carries its orders out.
//
//
// The source of messages is one of two kinds: a mailbox that rings while a flag is up (shared memory; its own protocol
// has a model of its own), or a socket that rings unasked and may be read at any time. Some messages are pressing: the peer is
// held up. At rest, which is when the application has left with nothing in flight, only those ring: the flag says so, or a
// watermark hides the others from the port. All others may lie until the application calls. The lock is taken for granted here.
// That the watch over the port is a one-shot only spares wake-ups: without it everything here holds too, because the port is taken
// out of the outer epoll before a thread sleeps in it.
// What depends on how much time has passed (a spin's budget, visits in quick succession, a timer) may go either way: the policy is
// told a time that is either near to or far from all that it remembers.
#pragma once

#include <cstdint>

#include "checker.h"
#include "engine/arming_policy.h"

namespace lapwing::model {

// A step of the protocol that is left out or done wrong, to see whether the checker finds the bug.
enum class Mutant {
  kNone,
  kCheckBeforeArm,        // a source looks for work first and asks to be rung then
  kNoNewArmOnLeave,       // leaving with the event thread armed does not arm the sources anew
  kNoControl,             // work found while arming is left to no thread
  kArmedForEver,          // the event thread believes that the one-shot is still on after it fired
  kNoArmAfterDrive,       // the event thread goes to sleep without arming again
  kNoLazyTimer,           // leaving sets no timer
  kLeftToDriver,          // ... while the event thread drives, which ends when the application has been here
  kLazyOnce,              // the lazy timer gives up when the application was back
  kLazyForEver,           // the lazy timer is set again for ever
  kCancelledPending,      // a driver cancels the timer, and a thread that leaves believes that it still runs
  kWatchWithoutSources,   // the timer leaves it to the watch over the port though the sources do not ring
  kOthersCollect,         // a thread that tests collects from the port in which a driver sleeps
  kNoPassing,             // a leaving driver does not hand the baton on
  kPassOnlyAsDriver,      // a waiter that gets the baton just when its own wait ended keeps it to itself
  kNoWakeForDriver,       // what another thread completes does not wake the sleeping driver
  kLateSignalReset,       // a waiter lowers its signal after it has let go of the lock
  kKeptBackSilently,      // the tail of a burst: the sleeping driver is not told, and arming does not look
  kNoAnnounceAgain,       // a socket that was not read empty is left
  kListedForEver,         // the engine believes that the port is in the outer epoll after it was taken out
  kListedByArming,        // ... that it is not in there after it fired
  kNoTicking,             // the kernel refuses the watch over the port, and that is that
  kLookBeforeRest,        // a source looks for what presses first and comes to rest then
  kRestForFlights,        // the timer leaves it to the rest though operations are in flight
  kRestGoesOn,            // a thread hears the bell and takes the engine to be at rest as before
  kSleepBelowMark,        // a driver goes to sleep in the port with the watermark up
  kRestUnwatched,         // a driver that has slept leaves to rest, and the port is not watched
};

struct EngineModel {
  static constexpr int kMaxApps = 3;

  struct Options {
    int apps = 1, calls = 3, messages = 2;
    bool socket = false;
    bool polling = false;  // no event thread (LAPWING_PROGRESS=polling): only those inside MPI count
    int refusals = 0;      // how often the kernel may refuse to take the port into the outer epoll
    Mutant mutant = Mutant::kNone;
  };

  struct Actor {
    std::uint8_t at, back;    // where it is; where the subroutine it is in returns to
    std::uint8_t moved, ok;   // what the last turn and the last arming said
    std::uint8_t heard;       // collected from the port or the outer epoll, not delivered yet
    std::uint8_t order;       // of the arming policy, which is being carried out
    std::uint8_t work;        // the event thread has heard of work
    std::uint8_t calls, spun, operation, waits, linked, signal;
  };
  struct State {
    // The kernel
    // (the port is listed in the outer epoll; watched until the one-shot fires)
    std::uint8_t bell, wake, listed, watched, refused, control, timer_runs, timer_fired;
    // The peer and the source
    std::uint8_t peer_at, sent, mailbox, pressing, flag, watermark;
    // The engine
    std::uint8_t holder, baton, driver_sleeps, wrong_call, stale, visited, left_in_flight, turn_wanted, kept_back, expected, in_flight, posted, unexpected;
    std::uint8_t blocked[kMaxApps], blocked_count;
    Actor actor[kMaxApps + 1];  // the last in use is the event thread
    std::uint8_t padding[5];
    engine::ArmingPolicy::State arming;
  };

  explicit EngineModel(const Options& options) : options(options) {}
  int threads() const { return options.apps + 3; }
  int event_thread() const { return options.apps; }
  void begin(State& s) const;
  bool step(State& s, int thread, Step& step) const;
  const char* broken(const State& s) const;
  const char* unfinished(const State& s) const;

  const Options options;

 private:
  bool is(Mutant mutant) const { return options.mutant == mutant; }
  bool application(State& s, int me, Step& step) const;
  bool event(State& s, int me, Step& step) const;
  bool subroutine(State& s, int me, Step& step) const;
  bool peer(State& s, Step& step) const;
  bool clock(State& s, Step& step) const;
  void enter(State& s, int me, Step& step) const;
  void start(State& s, int me) const;
  void take_message(State& s, Step& step) const;
  bool complete_one(State& s, Step& step) const;
  void wake_driver(State& s) const;
  void disarm_sources(State& s) const;
  void end_rest(State& s) const;
  void unwatch(State& s) const;
  bool watch(State& s, Step& step) const;
  void leave(State& s, int me, Step& step) const;
  void carry_out(State& s, int me, engine::ArmingPolicy::Order order, Step& step) const;
  bool obeys(const State& s, int me, engine::ArmingPolicy::Order order) const;
  void stop_timer(State& s) const;
};

}  // namespace lapwing::model
