// The event thread: progress while the application computes (design: paper 1, LA-MPI-ED). When it is asked is decided by the arming
// policy; here are the descriptors and system calls by which that happens.
//
// It sleeps in an epoll instance of its own that watches three descriptors:
//
//   the port     one-shot: disarmed by firing or by a thread that begins to drive, which also takes it out. Putting it back may
//                fail, and then the timer goes on
//   the timer    set by an application thread that leaves, unless the engine is at rest; when it fires the thread moves what there
//                is to move, and if the application has been outside since, arms the port or comes to rest; then nothing ticks.
//                An application that looks for messages itself is left alone, with a longer delay each time
//   control      stop, calibration, and work that was found while arming
//
// No wake-up is lost: arming first asks the sources to notify (each checks for work after it said so), then arms the port, whose
// readiness is a level seen from outside. Any thread that arms holds the endpoint's lock.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/status.h"
#include "engine/arming_policy.h"
#include "engine/completion.h"
#include "engine/progress.h"

struct epoll_event;

namespace lapwing::engine {

class EventThread {
 public:
  EventThread(Endpoint& endpoint, Progress& progress, Completion& completion) noexcept
      : endpoint_(endpoint), progress_(progress), completion_(completion), policy_(endpoint.arming) {}
  ~EventThread() { stop(); }
  EventThread(const EventThread&) = delete;
  EventThread& operator=(const EventThread&) = delete;

  Status start();
  void stop() noexcept;
  // The median of a few wake-ups of the event thread, in nanoseconds; 0 when this machine is too busy to tell. Before other threads call.
  std::int64_t measure_wakeup_cost() noexcept;

  // ---- with the lock held ----

  // What could not wait for the application has been moved.
  void helped() noexcept { helped_ = true; }
  // An application thread leaves, no other drives, and something is to be done for that (ArmingPolicy::leaves_as_it_is).
  void application_leaves() noexcept;

  // One waits, with the sources armed.
  void application_returns() noexcept { policy_.comes_back(endpoint_.clock.now()); }
  // One waits, with the sources disarmed: its first turn is to tell whether this thread would have helped meanwhile (ArmingPolicy::put_off).
  bool is_put_off() const noexcept { return policy_.in_vain() && policy_.put_off(endpoint_.clock.now()); }
  void first_turn_begins() noexcept { helped_ = false; }
  void first_turn_ended() noexcept {
    if (helped_) policy_.missed();
  }
  // One begins to drive, and something is asked (ArmingPolicy::asks_nothing); has driven until the timer would fire for nothing
  // (ArmingPolicy::timer_is_near); is about to sleep in the port: false when there is work already.
  void driver_begins() noexcept;
  void cancel_timer() noexcept;
  bool driver_arms() noexcept;
  void disarm_sources() noexcept;

  void end_rest() noexcept;
  // A source more, which was not asked to rest or to arm with the others.
  void sources_changed() noexcept;

 private:
  enum Watched : std::uint64_t { kPort = 1, kTimer = 2, kControl = 3 };

  static void* main(void* event_thread) noexcept;
  void run() noexcept;
  void handle(const epoll_event* events, int count) noexcept;
  void hear(std::uint64_t what) noexcept;
  void drive(std::uint64_t visits) noexcept;
  bool is_calm() const noexcept;
  ArmingPolicy::SinceTimer since_timer() const noexcept;

  void carry_out(ArmingPolicy::Order order) noexcept;
  bool rest_sources() noexcept;
  bool arm_sources() noexcept;
  void move_what_is_here() noexcept;
  bool watch() noexcept;
  void refused(int error) noexcept;
  void unwatch() noexcept;
  void set_timer() noexcept;
  void program_timer(std::int64_t delay) noexcept;
  void notify_event_thread() noexcept;
  std::int64_t measure_one_wakeup() noexcept;

  Endpoint& endpoint_;
  Progress& progress_;
  Completion& completion_;
  ArmingPolicy& policy_;
  Progress::Visits at_timer_;  // when the timer was set
  bool runs_ = false;
  bool helped_ = false;  // since it was woken, or such a first turn began
  bool watch_refused_ = false;
  int epoll_ = -1;
  int timer_ = -1;
  int control_ = -1;
  pthread_t thread_{};
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> calibration_{0};  // when the event thread last answered a calibration call; 0: not yet
  std::atomic<bool> calibrating_{false};
};

}  // namespace lapwing::engine
