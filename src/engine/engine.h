// The engine of one endpoint (there is one per process): messages move by it. All state of an endpoint is protected by one lock.
//
//   completion.h     an operation completes exactly once
//   progress.h       which thread drives, turns, waiting
//   arming_policy.h  when the event thread is asked, decided without system calls
//   event_thread.h   the thread that drives while the application computes
//
// This class puts them together, and is what the other rooms see.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/delay_point.h"
#include "base/status.h"
#include "engine/completion.h"
#include "engine/event_port.h"
#include "engine/event_thread.h"
#include "engine/lock.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/progress.h"
#include "engine/source.h"
#include "engine/system_calls.h"
#include "engine/timers.h"
#include "engine/wait_reason.h"

namespace lapwing::engine {

// Completion is a base, so that its functions are the engine's own and no call is passed on.
class Engine : private Completion {
 public:
  explicit Engine(Clock& clock) noexcept : Completion(progress_), endpoint_(clock) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Opens the event port and starts the event thread if asked for.
  Status start(const EngineOptions& options);
  // Stops the event thread. No operation may be in flight.
  void stop() noexcept { event_thread_.stop(); }

  Lock& lock() noexcept { return endpoint_.lock; }
  EventPort& port() noexcept { return endpoint_.port; }
  Clock& clock() noexcept { return endpoint_.clock; }
  const EngineCounters& counters() const noexcept { return endpoint_.counters; }
  SystemCalls& system_calls() noexcept { return endpoint_.port.system_calls; }
  bool has_event_thread() const noexcept { return endpoint_.options.event_thread; }

  // ---- with the lock held: operations (completion.h) ----

  using Completion::arrive;
  using Completion::begin;
  using Completion::defer;
  using Completion::finish;
  using Completion::hold;
  using Completion::unhold;
  using Completion::unwatch;
  using Completion::watch;

  // ---- for sources ----

  void add_source(Source& source) {
    endpoint_.sources.add(source);
    event_thread_.sources_changed();
  }
  void remove_source(Source& source) noexcept { endpoint_.sources.remove(source); }
  // True while the event thread, not the application, drives: bytes moved now are overlapped with computing.
  bool event_thread_drives() const noexcept { return event_thread_.drives(); }
  // What a peer waits for, or so much that the application should not have to copy it, has been moved: worth waking a thread for.
  void helped() noexcept { event_thread_.helped(); }
  // What could not wait has come, or messages follow each other without a pause. The next leave, or the event thread, sees how to go on.
  void end_rest() noexcept { event_thread_.end_rest(); }
  // True while an application thread waits: spins, sleeps, or is about to.
  bool application_waits() const noexcept { return progress_.driven(); }
  // True when the thread that drives has what it waits for: a source that looks no further lets it post what it wants next.
  bool driver_is_served() const noexcept { return progress_.driver_is_served(); }
  // A source keeps something back that its next poll() does: if the application leaves before that, the event thread does it
  // soon. Only where has_event_thread(), and with something in flight.
  void want_turn() noexcept { progress_.want_turn(); }
  // Whether the next turn has something to do for a source; any thread, without the lock.
  bool turn_wanted() const noexcept { return progress_.turn_wanted(); }
  // An operation that begins has found here what it would have waited for: the application keeps up with what comes.
  void count_found() noexcept { progress_.count_found(); }
  // A source's poll moved so much that time has passed, as in sixteen usual ones.
  void took_long() noexcept { progress_.took_long(); }
  void set_timer(Timer& timer, std::int64_t deadline) noexcept { progress_.set_timer(timer, deadline); }
  void cancel_timer(Timer& timer) noexcept { progress_.cancel_timer(timer); }

  // ---- progress ----

  bool turn() noexcept { return progress_.turn(Progress::kFull); }
  bool quick_turn() noexcept { return progress_.quick_turn(); }
  // Blocks until the waiter is ready. Releases the lock while sleeping.
  void wait(Waiter& waiter) noexcept { progress_.wait(waiter); }
  // For user callbacks: runs on an application thread inside an MPI call, WITHOUT the lock. With MPI_THREAD_MULTIPLE any
  // application thread may be the one; the event thread never is.
  void defer_to_application(Tasklet& tasklet) noexcept { progress_.defer_to_application(tasklet); }
  // Runs what waits for that. Releases the lock around each. True when one ran.
  bool run_application_tasklets() noexcept { return progress_.run_application_tasklets(); }
  // What the application's threads wait for, and how often they have been here.
  void describe(wire::HangReport& report) { progress_.describe(report); }

  // ---- the application enters or leaves the library (see Visit) ----

  void leave() noexcept {
    run_tasklets();
    progress_.count_leave();
    if (progress_.driven()) {
      if (progress_.turn_wanted()) progress_.wake_driver();
    } else if (!event_thread_.leaves_as_it_is()) {
      event_thread_.application_leaves();
    }
    LAPWING_DELAY_POINT("leave.unlock");
    endpoint_.lock.unlock();
  }

 private:
  Endpoint endpoint_;
  Progress progress_{endpoint_, *this, event_thread_};
  EventThread event_thread_{endpoint_, progress_, *this};
};

// One visit of an application thread. Holds the lock; leaving arms the event thread as needed.
class Visit {
 public:
  explicit Visit(Engine& engine) noexcept : engine_(engine) { engine_.lock().lock(); }
  ~Visit() { engine_.leave(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // Blocks until `operation` is done.
  void wait(Operation& operation) noexcept {
    Waiter waiter(1);
    if (engine_.watch(operation, waiter)) engine_.wait(waiter);
  }
  Engine& engine() noexcept { return engine_; }

 private:
  Engine& engine_;
};

}  // namespace lapwing::engine
