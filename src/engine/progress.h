// Progress: which thread drives, and what a turn is. The rule: a thread that waits drives; the event thread drives only when none waits
// (design: paper 1, LA-MPI-ED).
//
//   application, in a blocking call   takes the baton: polls the sources, then sleeps in the event port itself. Others
//                                     that block at the same time sleep each on its own Waiter.
//   application, in any other call    does its own work under the lock, gives one optimistic push, and leaves.
//   event thread                      see event_thread.h
//
// Everything is called with the endpoint's lock held.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/intrusive_list.h"
#include "base/status.h"
#include "engine/completion.h"
#include "engine/event_port.h"
#include "engine/lock.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/source.h"
#include "engine/timers.h"
#include "engine/wait_policy.h"

namespace lapwing::wire {
struct HangReport;
}

namespace lapwing::engine {

class EventThread;

// What the parts of an engine share.
struct Endpoint {
  explicit Endpoint(Clock& clock_in) noexcept : clock(clock_in) {}
  Clock& clock;
  EngineOptions options;
  Lock lock;
  EventPort port;
  SourceSet sources;
  WaitPolicy wait_policy;
  EngineCounters counters;
};

class Progress final : public Waker {
 public:
  // Looks at the event port, a system call, in this turn.
  static constexpr bool kFull = true;

  // How often the application's threads have left the library, taken turns, whether or not something moved, and found what they
  // wanted without one.
  struct Visits {
    std::uint64_t left = 0, quick = 0, full = 0, found = 0;
  };

  Progress(Endpoint& endpoint, Completion& completion, EventThread& event_thread) noexcept
      : endpoint_(endpoint), completion_(completion), event_thread_(event_thread) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  Status open();

  // One turn: polls every source once, looks at the event port, runs timers and tasklets. True when something moved.
  bool turn(bool full) noexcept;
  // The same for an application thread that will not wait (MPI_Test). Looks at the event port, a system call that costs ten times
  // the rest, once in a while only: a thread that tests rarely has the event thread to look for it.
  bool quick_turn() noexcept;
  // Blocks until the waiter is ready. Releases the lock while sleeping.
  void wait(Waiter& waiter) noexcept;
  // An application thread leaves the library.
  void count_leave() noexcept { ++visits_.left; }
  // An application thread has found here what it would have waited for.
  void count_found() noexcept { ++visits_.found; }
  const Visits& visits() const noexcept { return visits_; }

  bool driven() const noexcept { return baton_taken_; }
  bool driver_is_served() const noexcept { return driver_ != nullptr && driver_->ready(); }
  void wake_driver() noexcept;
  void wake(Waiter& waiter) noexcept override;

  void want_turn() noexcept { turn_wanted_.store(true, std::memory_order_relaxed); }
  bool turn_wanted() const noexcept { return turn_wanted_.load(std::memory_order_relaxed); }
  void took_long() noexcept { long_turn_ = true; }

  void defer_to_application(Tasklet& tasklet) noexcept;
  bool run_application_tasklets() noexcept;

  void set_timer(Timer& timer, std::int64_t deadline) noexcept;
  void cancel_timer(Timer& timer) noexcept;

  void describe(wire::HangReport& report);

 private:
  void turn_first(Waiter& waiter) noexcept;
  void drive(Waiter& waiter) noexcept;
  bool spin(Waiter& waiter) noexcept;
  void sleep_in_port(Waiter& waiter) noexcept;
  void sleep_on_waiter(Waiter& waiter) noexcept;
  void signal(Waiter& waiter) noexcept;
  bool run_timers() noexcept;
  void set_alarm() noexcept;
  static void describe_wait(const Waiter& waiter, std::int64_t now, wire::HangReport& report);

  // A descriptor that only wakes: an eventfd, or the timerfd that is the alarm of `timers`; read to silence it.
  class WakeUp final : public FdHandler {
   public:
    explicit WakeUp(SystemCalls& calls, TimerQueue* timers = nullptr) noexcept : calls_(calls), timers_(timers) {}
    void on_ready(std::uint32_t events) noexcept override;
    int fd = -1;

   private:
    SystemCalls& calls_;
    TimerQueue* timers_;
  };

  Endpoint& endpoint_;
  Completion& completion_;
  EventThread& event_thread_;
  TimerQueue timers_;
  IntrusiveList<Tasklet, TaskletTag> application_tasklets_;
  IntrusiveList<Waiter, WaiterTag> waiters_;  // blocked threads that do not drive

  bool baton_taken_ = false;    // an application thread drives
  bool driver_sleeps_ = false;  // ... and sleeps in the port
  bool long_turn_ = false;      // see took_long()
  std::atomic<bool> turn_wanted_{false};
  const Waiter* driver_ = nullptr;  // a thread that drives, or looks first whether it must, does it for this
  Visits visits_;
  unsigned quick_turns_ = 0;
  std::int64_t last_look_ = 0;  // of a spinning driver at the event port
  std::int64_t spun_ = 0;       // by the driver since something moved, as of its last look at the clock

  WakeUp wake_{endpoint_.port.system_calls};             // in the port: wakes a sleeping driver
  WakeUp alarm_{endpoint_.port.system_calls, &timers_};  // in the port: timerfd for timers_
};

}  // namespace lapwing::engine
