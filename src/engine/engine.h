// The engine: who makes messages move, and when.
//
// The rule: whoever waits drives; the event thread drives only when nobody waits (design: paper 1, LA-MPI-ED, without its
// price). All state of an endpoint is protected by one lock. These threads take part:
//
//   application, in a blocking call   takes the baton: polls the sources, then sleeps in the event port itself. Others
//                                     that block at the same time sleep each on its own Waiter.
//   application, in any other call    does its own work under the lock, gives one optimistic push, and leaves.
//   event thread                      sleeps in an outer epoll that watches the port. It is armed lazily: when the
//                                     application has been outside for about as long as a wake-up costs, with operations
//                                     in flight, or for about a millisecond, with none. So calls in quick succession
//                                     neither arm nor are rung for, and it is never woken by what a waiter handles.
//
// Every Operation completes exactly once, through finish(). Continuations and tasklets run under the lock at a safe point.
// User callbacks run on application threads only, without the lock: see defer_to_application().
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/delay_point.h"
#include "base/internal_error.h"
#include "base/intrusive_list.h"
#include "base/status.h"
#include "engine/event_port.h"
#include "engine/lock.h"
#include "engine/operation.h"
#include "engine/system_calls.h"
#include "engine/timers.h"
#include "engine/wait_policy.h"
#include "engine/wait_reason.h"

namespace lapwing::engine {

// Something that makes progress when looked at: a transport. All calls come with the lock held.
class Source {
 public:
  // One bounded look; true when something moved.
  virtual bool poll() noexcept = 0;
  // Somebody is about to sleep on the event port: from now on, peers must make a descriptor ready when they have work for
  // us. False when there is work already (then nobody sleeps, and disarm() follows).
  virtual bool arm() noexcept = 0;
  // Somebody polls again: peers need not ring.
  virtual void disarm() noexcept = 0;
  // True when descriptors of this source become ready even while it is disarmed (sockets do). Otherwise the event thread may
  // stay armed while a thread spins, and the two system calls of disarming and arming it again are saved.
  virtual bool rings_unasked() const noexcept { return false; }
  // True when a turn that leaves out the event port would see little of this source at present.
  virtual bool wants_port_looked_at() const noexcept { return false; }

 protected:
  ~Source() = default;
};

struct EngineOptions {
  bool event_thread = true;       // LAPWING_PROGRESS=thread; false: progress only inside MPI calls
  bool oversubscribed = false;    // more ranks on this machine than cores they may use
  int cores = 2;                  // that this process may use: with one, a wake-up cannot be measured by spinning
  std::int64_t spin_budget = -1;  // nanoseconds; -1: from the wait policy
};

// What the engine did, for LAPWING_STATS=1 and the demo's report. Written under the lock.
struct EngineCounters {
  std::uint64_t waits_spun = 0;   // waits that ended while polling
  std::uint64_t waits_slept = 0;  // waits that went to sleep in the event port
  std::uint64_t event_thread_wakeups = 0;
  std::uint64_t arms = 0;                // system calls to arm or disarm the event thread
  std::uint64_t application_turns = 0;   // drives by application threads that moved something
  std::uint64_t event_thread_turns = 0;  // drives by the event thread that moved something
};

class Engine {
 public:
  explicit Engine(Clock& clock) noexcept;
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Opens the event port and starts the event thread if asked for.
  Status start(const EngineOptions& options);
  // Stops the event thread. No operation may be in flight.
  void stop() noexcept;

  Lock& lock() noexcept { return lock_; }
  EventPort& port() noexcept { return port_; }
  Clock& clock() noexcept { return clock_; }
  const EngineCounters& counters() const noexcept { return counters_; }
  SystemCalls& system_calls() noexcept { return port_.system_calls; }
  // True while the event thread, not the application, drives: bytes moved now are overlapped with computing.
  bool event_thread_drives() const noexcept { return event_thread_drives_; }
  bool has_event_thread() const noexcept { return options_.event_thread; }
  // True while an application thread waits: spins, sleeps, or is about to. With the lock held.
  bool somebody_waits() const noexcept { return baton_taken_; }
  // True when the thread that drives has what it waits for: a source that looks no further lets it post what it wants next.
  // With the lock held.
  bool driver_is_served() const noexcept { return driver_ != nullptr && driver_->ready(); }

  // ---- with the lock held ----

  void add_source(Source& source);
  void remove_source(Source& source) noexcept;

  // An operation begins, and is in flight until finish().
  void begin(Operation& operation) noexcept {
    LAPWING_CHECK(operation.done());
    operation.done_.store(false, std::memory_order_relaxed);
    operation.waiter_ = nullptr;
    hold();
  }
  // Completes `operation`: wakes its waiter, queues its continuation. The only function that completes anything.
  void finish(Operation& operation) noexcept {
    LAPWING_CHECK(!operation.done());
    unhold();
    Waiter* waiter = operation.waiter_;
    operation.waiter_ = nullptr;
    // Once done is visible, a thread that looks without the lock may free the operation, unless it continues.
    if (operation.continuation_ != nullptr) defer(operation);
    operation.done_.store(true, std::memory_order_release);
    LAPWING_DELAY_POINT("finish.arrive");
    if (waiter != nullptr) arrive(*waiter);
  }
  // Work that is in flight without being an Operation (bytes queued in a transport, say) and needs the event thread.
  void hold() noexcept { ++in_flight_; }
  void unhold() noexcept { --in_flight_; }

  void defer(Tasklet& tasklet) noexcept { tasklets_.push_back(tasklet); }
  // A source keeps something back that its next poll() does: if the application leaves before that, the event thread does it
  // soon. Only where has_event_thread(), and with something in flight.
  void want_turn() noexcept { turn_wanted_.store(true, std::memory_order_relaxed); }
  // A source's poll moved so much that time has passed, as in sixteen usual ones.
  void took_long() noexcept { long_turn_ = true; }
  // Whether the next turn has something to do for a source; any thread, without the lock.
  bool turn_wanted() const noexcept { return turn_wanted_.load(std::memory_order_relaxed); }
  // For user callbacks: runs on an application thread inside an MPI call, WITHOUT the lock. With MPI_THREAD_MULTIPLE any
  // application thread may be the one; the event thread never is.
  void defer_to_application(Tasklet& tasklet) noexcept;

  void set_timer(Timer& timer, std::int64_t deadline) noexcept;
  void cancel_timer(Timer& timer) noexcept;

  // `waiter` will arrive() when `operation` completes. False when it is complete already (no arrival will follow).
  bool watch(Operation& operation, Waiter& waiter) noexcept {
    if (operation.done()) return false;
    operation.waiter_ = &waiter;
    return true;
  }
  void unwatch(Operation& operation) noexcept { operation.waiter_ = nullptr; }
  // One arrival; used by finish(), and by matching for a blocked probe.
  void arrive(Waiter& waiter) noexcept {
    if (--waiter.missing_ <= 0) arrived(waiter);
  }

  // One turn of progress: polls every source once, looks at the event port, runs timers and tasklets. True when something
  // moved.
  bool turn() noexcept { return turn(kThorough); }
  // The same for an application thread that will not wait (MPI_Test). Looks at the event port, a system call that costs ten times
  // the rest, once in a while only: whoever tests rarely has the event thread to look for him.
  bool glance() noexcept {
    return turn(!options_.event_thread || ++glances_ % kGlancesPerLook == 0 || sources_want_port_looked_at());
  }
  // What the application's threads wait for, and how often they have been here.
  void describe(wire::HangReport& report);
  // Blocks until the waiter is ready. Releases the lock while sleeping.
  void wait(Waiter& waiter) noexcept;
  // Runs user callbacks that wait for an application thread. Releases the lock around each. True when one ran.
  bool run_application_tasklets() noexcept;

  // The application enters or leaves the library (see Call).
  void enter() noexcept { lock_.lock(); }
  void leave() noexcept {
    if (!tasklets_.empty()) run_tasklets();
    ++epoch_;
    if (!lazy_timer_suffices()) see_to_progress();
    LAPWING_DELAY_POINT("leave.unlock");
    lock_.unlock();
  }

 private:
  // Looks at the event port, a system call, in this turn.
  static constexpr bool kThorough = true;
  static constexpr unsigned kGlancesPerLook = 16;

  bool turn(bool thorough) noexcept;
  void look_first(Waiter& waiter) noexcept;
  void drive(Waiter& waiter) noexcept;
  bool spin(Waiter& waiter) noexcept;
  void sleep_in_port(Waiter& waiter) noexcept;
  void sleep_on_waiter(Waiter& waiter) noexcept;
  void describe_wait(const Waiter& waiter, wire::HangReport& report);
  void pass_baton() noexcept;
  void do_what_is_here() noexcept;
  void see_to_progress() noexcept;
  // The application leaves and the event thread is not armed, but the timer runs already that will look after what is in flight.
  bool lazy_timer_suffices() const noexcept {
    return lazy_pending_ && !baton_taken_ && !armed_ && (lazy_brisk_ || in_flight_ <= 0);
  }
  void arrived(Waiter& waiter) noexcept;
  void signal(Waiter& waiter) noexcept;
  bool run_tasklets() noexcept;
  bool run_timers() noexcept;
  void set_alarm() noexcept;
  void wake_driver() noexcept;

  Status start_event_thread();
  void stop_event_thread() noexcept;
  void arm_event_thread() noexcept;
  void tick_instead(int error) noexcept;
  void ring_control() noexcept;
  void disarm_event_thread() noexcept;
  bool stays_armed() noexcept;
  void request_lazy_arm() noexcept;
  std::int64_t lazy_delay() const noexcept;
  void set_lazy_timer(std::int64_t delay) noexcept;
  void cancel_lazy_timer() noexcept;
  void cancel_lazy_timer_in_time(std::int64_t now, std::int64_t margin) noexcept {
    if (lazy_pending_ && now >= lazy_deadline_ - margin) cancel_lazy_timer();
  }
  void renew_later() noexcept;
  bool application_was_here() noexcept;
  bool application_helps_itself() const noexcept;
  bool arm_sources() noexcept;
  bool sources_ring_unasked() const noexcept;
  bool sources_want_port_looked_at() const noexcept;
  void disarm_sources() noexcept;
  static void* event_thread_main(void* engine) noexcept;
  void run_event_thread() noexcept;
  void event_thread_drive(bool arms_at_once) noexcept;
  std::int64_t measure_wakeup_cost() noexcept;

  // A descriptor that only wakes: an eventfd, or the timerfd that is the alarm of `timers`; read to silence it.
  class Bell final : public FdHandler {
   public:
    explicit Bell(SystemCalls& calls, TimerQueue* timers = nullptr) noexcept : calls_(calls), timers_(timers) {}
    void on_ready(std::uint32_t events) noexcept override;
    int fd = -1;

   private:
    SystemCalls& calls_;
    TimerQueue* timers_;
  };

  Clock& clock_;
  EngineOptions options_;
  Lock lock_;
  EventPort port_;
  std::vector<Source*> sources_;
  IntrusiveList<Tasklet, TaskletTag> tasklets_;
  IntrusiveList<Tasklet, TaskletTag> application_tasklets_;
  TimerQueue timers_;
  IntrusiveList<Waiter, WaiterTag> waiters_;  // blocked threads that do not drive
  WaitPolicy policy_;
  EngineCounters counters_;

  std::int64_t in_flight_ = 0;
  bool baton_taken_ = false;    // an application thread drives
  bool driver_sleeps_ = false;  // ... and sleeps in the port
  const Waiter* driver_ = nullptr;  // who drives, or looks first whether he must, does it for this
  bool event_thread_drives_ = false;
  bool sources_armed_ = false;
  unsigned glances_ = 0;
  std::int64_t last_look_ = 0;  // of a spinning driver at the event port
  std::int64_t spun_ = 0;       // by the driver since something moved, as of its last look at the clock
  bool long_turn_ = false;      // see took_long()
  std::atomic<bool> turn_wanted_{false};  // see want_turn()

  Bell wake_{port_.system_calls};             // in the port: wakes a sleeping driver
  Bell alarm_{port_.system_calls, &timers_};  // in the port: timerfd for timers_

  // The event thread and how it is armed.
  pthread_t thread_{};
  bool event_thread_runs_ = false;
  int outer_epoll_ = -1;  // watches the port (one-shot), the lazy timer and the control eventfd
  int lazy_timer_ = -1;
  int control_ = -1;
  bool armed_ = false;
  bool port_listed_ = false;  // in the outer epoll, armed or fired
  bool ticks_ = false;         // the port could not be put there: see tick_instead()
  bool control_rung_ = false;  // and not heard yet
  bool lazy_pending_ = false;
  bool lazy_brisk_ = false;         // set by a leave with operations in flight
  bool lazy_soon_ = false;          // it fired in vain, and was set for a short time
  std::int64_t lazy_deadline_ = 0;  // when it fires, while pending
  unsigned lazy_renewals_ = 0;      // how often in a row it found that the application had been here, or was cancelled
  std::uint64_t epoch_ = 0;         // counts leaves: tells the lazy timer whether the application was here since
  std::uint64_t lazy_epoch_ = 0;
  struct Turns {
    std::uint64_t quick = 0, thorough = 0;
  };
  Turns turns_, lazy_turns_;  // of application threads, whether or not they moved something: so far, and when the lazy timer was set
  std::int64_t last_visit_ = 0;  // while armed
  unsigned quick_visits_ = 0;    // while armed, in a row
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> calibration_{0};  // when the event thread last answered a calibration call; 0: not yet
  std::atomic<bool> calibrating_{false};
};

// One visit of an application thread. Holds the lock; leaving arms the event thread as needed.
class Call {
 public:
  explicit Call(Engine& engine) noexcept : engine_(engine) { engine_.enter(); }
  ~Call() { engine_.leave(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Blocks until `operation` is done.
  void wait(Operation& operation) noexcept {
    Waiter waiter(1);
    if (engine_.watch(operation, waiter)) engine_.wait(waiter);
  }
  // The same; the WaitReason is made only if there is something to wait for.
  template <typename Reason, typename... Arguments>
  void wait_because(Operation& operation, const Arguments&... arguments) noexcept {
    Waiter waiter(1);
    if (!engine_.watch(operation, waiter)) return;
    const Reason reason(arguments...);
    waiter.explain(reason);
    engine_.wait(waiter);
  }

 private:
  Engine& engine_;
};

}  // namespace lapwing::engine
