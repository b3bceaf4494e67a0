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
#include "engine/arming_policy.h"
#include "engine/completion.h"
#include "engine/event_port.h"
#include "engine/lock.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/source.h"
#include "engine/test_loop.h"
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
  ArmingPolicy arming;
  EngineCounters counters;
};

class Progress : public Waker {
 public:
  // Looks at the event port, a system call, in this turn.
  static constexpr bool kFull = true;

  // How often the application's threads have left the library, taken turns, whether or not something moved, and found what they
  // wanted without one.
  struct Visits {
    std::uint64_t left = 0, quick = 0, full = 0, found = 0;
    bool left_in_flight = false;  // there were operations in flight the last time
  };

  Progress(Endpoint& endpoint, Completion& completion, EventThread& event_thread) noexcept
      : endpoint_(endpoint), completion_(completion), event_thread_(event_thread) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  Status open();

  // One turn: polls every source once, looks at the event port, runs timers and tasklets. True when something moved.
  bool turn(bool full) noexcept;
  // A full one by the event thread.
  bool event_thread_turn() noexcept;
  // The same for an application thread that will not wait (MPI_Test). Looks at the event port, a system call that costs ten times
  // the rest, as seldom as a thread that waits: one that tests rarely has the event thread to look for it. One that tests in a loop
  // may give its core away first, without the lock (test_loop.h).
  bool quick_turn() noexcept;
  // This thread is about to wait for an answer that may come at once, on this core: that is not to wake the event thread, which would only be in its way.
  void expect_wait() noexcept;
  // Blocks until the waiter is ready. Releases the lock while sleeping.
  void wait(Waiter& waiter) noexcept;
  // An application thread leaves the library.
  void count_leave(bool in_flight) noexcept {
    ++visits_.left;
    visits_.left_in_flight = in_flight;
  }
  // An operation that begins has found here what it would have waited for: the application keeps up with what comes.
  void count_found() noexcept { ++visits_.found; }
  const Visits& visits() const noexcept { return visits_; }

  // True while an application thread waits: spins, sleeps, or is about to.
  bool application_drives() const noexcept { return baton_taken_; }
  // True while the event thread does: bytes moved now are overlapped with computing.
  bool event_thread_drives() const noexcept { return event_thread_drives_; }
  // True when the thread that drives has what it waits for: a source that looks no further lets it post what it wants next.
  bool driver_is_served() const noexcept { return driver_ != nullptr && driver_->ready(); }
  void wake_driver() noexcept;
  void wake(Waiter& waiter) noexcept override;

  // A source keeps something back that its next poll() does: if the application leaves before that, the event thread does it
  // soon. Only where has_event_thread(), and with something in flight.
  void want_turn() noexcept { wish_.store(Wish::kNew, std::memory_order_relaxed); }
  // Whether the next turn has something to do for a source; any thread, without the lock.
  bool turn_wanted() const noexcept { return wish_.load(std::memory_order_relaxed) != Wish::kNone; }
  // The same for a wait that finds its one operation done, as far as such waits should take that turn: not the first one after a wish.
  // Where each operation is waited for before the next begins, more is kept back with each, as with calls that block.
  bool turn_is_due() noexcept {
    Wish wish = Wish::kNew;
    return !wish_.compare_exchange_strong(wish, Wish::kSeen, std::memory_order_relaxed) && wish == Wish::kSeen;
  }
  // A source's poll moved so much that time has passed, as in sixteen usual ones.
  void took_long() noexcept { long_turn_ = true; }

  // For user callbacks: runs on an application thread inside an MPI call, WITHOUT the lock. With MPI_THREAD_MULTIPLE any
  // application thread may be the one; the event thread never is.
  void defer_to_application(Tasklet& tasklet) noexcept;
  // Runs what waits for that. Releases the lock around each. True when one ran.
  bool run_application_tasklets() noexcept;

  void set_timer(Timer& timer, std::int64_t deadline) noexcept;
  void cancel_timer(Timer& timer) noexcept;

  // What the application's threads wait for, and how often they have been here.
  void describe(wire::HangReport& report);

 private:
  // What a thread that polls has done since its last look at the clock, and at the event port.
  struct Pace {
    unsigned turns = 0, clocks = 0;
    bool moved = false;  // something, since the last look at the clock
    bool look = false;   // at the port, in the next turn
  };

  void turn_first(Waiter& waiter) noexcept;
  void drive(Waiter& waiter) noexcept;
  bool spin(Waiter& waiter) noexcept;
  bool look_at_clock(Pace& pace, bool due) noexcept;
  void relax() noexcept;
  bool looks_between_tests() noexcept;
  void keep_timer_away(std::int64_t now) noexcept;
  void sleep_in_port(Waiter& waiter) noexcept;
  void sleep(Waiter& waiter, EventPort::Batch& batch) noexcept;
  bool is_served(const Waiter& waiter) const noexcept { return waiter.ready() || !application_tasklets_.empty(); }
  void sleep_on_waiter(Waiter& waiter) noexcept;
  void pass_baton() noexcept;
  void signal(Waiter& waiter) noexcept;
  bool run_timers() noexcept;
  void set_alarm() noexcept;
  static void describe_wait(const Waiter& waiter, std::int64_t now, wire::HangReport& report);

  // For a turn: of a source, and whether a wait that needed none has passed since.
  enum class Wish : std::uint8_t { kNone, kNew, kSeen };

  // A descriptor that only wakes: an eventfd, or the timerfd that is the alarm of `timers`; read to silence it.
  class WakeUp final : public FdHandler {
   public:
    explicit WakeUp(Endpoint& endpoint, TimerQueue* timers = nullptr) noexcept : endpoint_(endpoint), timers_(timers) {}
    void on_ready(std::uint32_t events) noexcept override;
    int fd = -1;

   private:
    Endpoint& endpoint_;
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
  bool event_thread_drives_ = false;
  bool long_turn_ = false;  // see took_long()
  std::atomic<Wish> wish_{Wish::kNone};
  const Waiter* driver_ = nullptr;  // a thread that drives, or looks first whether it must, does it for this
  Visits visits_;
  TestLoop test_loop_;
  std::int64_t last_look_ = 0;  // of a thread that spins, or tests in a loop, at the event port

  WakeUp wake_{endpoint_};             // in the port: wakes a sleeping driver
  WakeUp alarm_{endpoint_, &timers_};  // in the port: timerfd for timers_
};

}  // namespace lapwing::engine
