// The engine of one endpoint (there is one per process): messages move by it. All state of an endpoint is protected by one lock.
//
//   completion.h     an operation completes exactly once
//   progress.h       which thread drives, turns, waiting
//   arming_policy.h  when the event thread is asked, decided without system calls
//   event_thread.h   the thread that drives while the application computes
//   executor.h       the thread for work that blocks
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
#include "engine/executor.h"
#include "engine/lock.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/progress.h"
#include "engine/source.h"
#include "engine/system_calls.h"
#include "engine/timers.h"
#include "engine/wait_reason.h"

namespace lapwing::engine {

// Completion and progress are bases, so that their functions are the engine's own and no call is passed on.
class Engine : private Progress, private Completion {
 public:
  explicit Engine(Clock& clock) noexcept
      : Progress(endpoint_, *this, event_thread_), Completion(static_cast<Progress&>(*this)), endpoint_(clock) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Opens the event port and starts the event thread if asked for.
  Status start(const EngineOptions& options);
  // Stops the event thread and the executor, without the lock. No operation may be in flight.
  void stop() noexcept {
    executor_.stop();
    event_thread_.stop();
  }

  Lock& lock() noexcept { return endpoint_.lock; }
  EventPort& port() noexcept { return endpoint_.port; }
  Clock& clock() noexcept { return endpoint_.clock; }
  const EngineCounters& counters() const noexcept { return endpoint_.counters; }
  SystemCalls& system_calls() noexcept { return endpoint_.port.system_calls; }
  bool has_event_thread() const noexcept { return endpoint_.options.event_thread; }
  // More ranks than cores on this machine, as the launcher has told.
  bool oversubscribed() const noexcept { return endpoint_.options.oversubscribed(); }

  // ---- with the lock held: operations (completion.h) ----

  using Completion::arrive;
  using Completion::begin;
  using Completion::defer;
  using Completion::finish;
  using Completion::hold;
  using Completion::in_flight;
  using Completion::need_nothing;
  using Completion::unhold;
  using Completion::unwatch;
  using Completion::watch;

  // ---- for sources (progress.h) ----

  void add_source(Source& source) {
    endpoint_.sources.add(source);
    event_thread_.sources_changed();
  }
  void remove_source(Source& source) noexcept { endpoint_.sources.remove(source); }
  // What a peer waits for, or so much that the application should not have to copy it, has been moved by the thread that drives: worth waking a
  // thread for.
  void helped() noexcept { event_thread_.helped(); }
  // What could not wait has come, or messages follow each other without a pause. The next leave, or the event thread, sees how to go on.
  void end_rest() noexcept { event_thread_.end_rest(); }
  using Progress::application_drives;
  using Progress::cancel_timer;
  using Progress::count_found;
  using Progress::driver_is_served;
  using Progress::event_thread_drives;
  using Progress::expect_wait;
  using Progress::set_timer;
  using Progress::took_long;
  using Progress::turn_is_due;
  using Progress::turn_wanted;
  using Progress::want_turn;

  // Work that blocks (executor.h).
  Status submit(Work& work) noexcept { return executor_.submit(work); }

  // ---- progress ----

  bool turn() noexcept { return Progress::turn(kFull); }
  // What is here without a look at the event port: for a wait that may be over before it begins.
  bool look() noexcept { return Progress::turn(!kFull); }
  using Progress::defer_to_application;
  using Progress::describe;
  using Progress::quick_turn;
  using Progress::run_application_tasklets;
  using Progress::wait;

  // ---- the application enters or leaves the library (see Visit) ----

  void leave() noexcept {
    run_tasklets();
    const bool in_flight = Completion::in_flight();
    count_leave(in_flight);
    endpoint_.arming.is_calm(in_flight && calm() && !turn_wanted());
    if (application_drives()) {
      if (turn_wanted()) wake_driver();
    } else if (!endpoint_.arming.leaves_as_it_is(in_flight)) {
      event_thread_.application_leaves();
    }
    LAPWING_DELAY_POINT("leave.unlock");
    endpoint_.lock.unlock();
  }

 private:
  Endpoint endpoint_;
  EventThread event_thread_{endpoint_, *this, *this};
  Executor executor_{*this};
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
