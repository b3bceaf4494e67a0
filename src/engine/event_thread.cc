// The event thread: progress while the application computes (design: paper 1, LA-MPI-ED).
//
// It sleeps in an outer epoll that watches three descriptors:
//
//   the port        one-shot: disarmed by firing or by a thread that begins to drive, which also takes it out of the epoll. Putting
//                   it back may fail, and then the lazy timer goes on
//   the lazy timer  set by an application thread that leaves; when it fires the thread moves what there is to move, and if the
//                   application has been outside since, arms the port; then nothing ticks. An application that looks for messages
//                   itself is left alone, with a longer delay each time
//   control         stop, calibration, and work that was found while arming
//
// No wake-up is lost: arming first asks the sources to ring (each checks for work after it said so), then arms the port, whose
// readiness is a level seen from outside. Whoever arms holds the lock.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/delay_point.h"
#include "base/futex.h"
#include "base/internal_error.h"
#include "base/log.h"
#include "engine/engine.h"

namespace lapwing::engine {
namespace {

constexpr std::int64_t kLazyDelay = 1'000'000;  // ns, with nothing in flight
constexpr unsigned kMostRenewals = 5;           // with a delay that doubles, for an application that keeps calling
constexpr unsigned kFewRenewals = 1;            // until then the application may have looked just once or twice
constexpr unsigned kRenewalsPerTurn = 16;       // for one that keeps calling and needs no help
constexpr unsigned kQuickVisits = 4;            // so many in a row, and an armed event thread would only be in the way
constexpr const char* kWatchLimit = "/proc/sys/fs/epoll/max_user_watches";
enum Watched : std::uint64_t { kPort = 1, kLazyTimer = 2, kControl = 3 };

void drain(int fd) noexcept {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t bytes = ::read(fd, &count, sizeof count);
}

void ring(int fd) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t bytes = ::write(fd, &one, sizeof one);
}

// Asks for the shortest slice that Linux 6.12 and later give (0.1 ms): a thread that wakes for a moment then goes before the
// computation it shares a core with, instead of waiting for the end of that one's slice (4 ms and more). It gets no larger share
// of the processor, so no privilege is needed; older kernels take no notice.
void ask_for_short_slice() noexcept {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } attributes{};
  constexpr std::uint64_t kKeepPolicy = 0x08;  // SCHED_FLAG_KEEP_POLICY
  attributes.size = sizeof attributes;
  attributes.flags = kKeepPolicy;
  attributes.nice = getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
  attributes.runtime = 100'000;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

Status Engine::start_event_thread() {
  outer_epoll_ = epoll_create1(EPOLL_CLOEXEC);
  lazy_timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  control_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (outer_epoll_ < 0 || lazy_timer_ < 0 || control_ < 0)
    return Status::error(MPI_ERR_NO_MEM,
                         "cannot open the event thread's descriptors: %s; raise the limit of open files (ulimit -n)",
                         std::strerror(errno));
  const struct {
    int fd;
    std::uint32_t events;
    Watched what;
  } watched[] = {{lazy_timer_, EPOLLIN, kLazyTimer}, {control_, EPOLLIN, kControl}};
  for (const auto& entry : watched) {
    epoll_event event{};
    event.events = entry.events;
    event.data.u64 = entry.what;
    if (epoll_ctl(outer_epoll_, EPOLL_CTL_ADD, entry.fd, &event) != 0)
      return Status::error(MPI_ERR_NO_MEM, "cannot watch the event thread's descriptors: %s; raise %s", std::strerror(errno),
                           kWatchLimit);
  }

  // Signals belong to the application's threads: the new thread inherits a mask that blocks all.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  stopping_.store(false, std::memory_order_relaxed);
  const int error = pthread_create(&thread_, nullptr, &Engine::event_thread_main, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    return Status::error(
        MPI_ERR_NO_MEM,
        "cannot start the event thread: %s; raise the limit of processes (ulimit -u) or set LAPWING_PROGRESS=polling",
        std::strerror(error));
  event_thread_runs_ = true;
  return {};
}

void Engine::stop_event_thread() noexcept {
  if (event_thread_runs_) {
    stopping_.store(true, std::memory_order_release);
    ring(control_);
    pthread_join(thread_, nullptr);
    event_thread_runs_ = false;
    armed_ = port_listed_ = lazy_pending_ = false;
  }
  for (int* fd : {&outer_epoll_, &lazy_timer_, &control_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

void* Engine::event_thread_main(void* engine) noexcept {
  prctl(PR_SET_NAME, "lapwing-event");
  ask_for_short_slice();
  static_cast<Engine*>(engine)->run_event_thread();
  return nullptr;
}

void Engine::run_event_thread() noexcept {
  while (!stopping_.load(std::memory_order_acquire)) {
    epoll_event events[3];
    const int count = epoll_wait(outer_epoll_, events, 3, -1);
    if (calibrating_.load(std::memory_order_acquire)) {
      drain(control_);
      calibration_.store(clock_.now(), std::memory_order_release);
      continue;
    }
    LAPWING_DELAY_POINT("event.lock");
    lock_.lock();
    ++counters_.event_thread_wakeups;
    ++system_calls().sleeps;
    bool work = false, timer_fired = false;
    for (int i = 0; i < count; ++i) {
      switch (events[i].data.u64) {
        case kPort:
          armed_ = false;  // the one-shot has fired, whether or not there is something left to do
          work = true;
          break;
        case kLazyTimer:
          drain(lazy_timer_);
          ++system_calls().bells;
          lazy_pending_ = false;
          if (baton_taken_) renew_later();  // the application drives
          timer_fired = true;
          break;
        case kControl:
          drain(control_);
          ++system_calls().bells;
          control_rung_ = false;
          work = true;
          break;
      }
    }
    const bool watches = armed_ && sources_armed_;
    if (!baton_taken_ && (work || (timer_fired && !watches))) event_thread_drive(work);
    LAPWING_DELAY_POINT("event.unlock");
    lock_.unlock();
  }
}

// Moves what there is to move; then arms again, or waits once more for the application to stay outside. It ends when the application
// calls: where data comes without a pause, the two would take turns with the lock, and messages would come before their receives.
void Engine::event_thread_drive(bool arms_at_once) noexcept {
  disarm_sources();
  const std::uint64_t visits = epoch_;
  event_thread_drives_ = true;
  if (!arms_at_once && application_helps_itself()) {
    // What has come is for its next call. Taken now it would be stored and copied again, and where the two share a core, a stream
    // would leave the application no time to call. Peers may wait for room, though.
    if ((lazy_renewals_ + 1) % kRenewalsPerTurn == 0) turn(kThorough);
  } else {
    while (!baton_taken_ && epoch_ == visits && turn(kThorough)) {
      LAPWING_DELAY_POINT("event.breathe");
      lock_.breathe();
    }
  }
  event_thread_drives_ = false;
  // Who has called meanwhile has set the lazy timer when it left, and who drives will.
  if (baton_taken_ || epoch_ != visits || stopping_.load(std::memory_order_relaxed)) return;
  if (arms_at_once || !application_was_here()) arm_event_thread();
}

// With the lock held, no driver. Afterwards either the thread will wake for the next event, or control has been rung.
// The sources are armed anew even when the thread is armed: a peer that rings disarms its source, and the ring may have been
// heard by a turn of an application thread (MPI_Test) rather than by the event thread.
void Engine::arm_event_thread() noexcept {
  if (!arm_sources()) {
    disarm_sources();
    ring_control();  // work is here already: the event thread does it, not the application, which wants to compute
    return;
  }
  if (armed_) return;
  LAPWING_DELAY_POINT("arm.port");
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = kPort;
  if (epoll_ctl(outer_epoll_, port_listed_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, port_.fd(), &event) != 0)
    return tick_instead(errno);
  port_listed_ = true;
  armed_ = true;
  ticks_ = false;
  ++counters_.arms;
  ++system_calls().watches;
}

// The kernel has no room for one more watch (a limit per user, which other processes may have used up since the start): the event
// thread looks once in a while, and tries again to be told.
void Engine::tick_instead(int error) noexcept {
  if (!ticks_) {
    log_warn(
        "cannot watch for messages while the application computes: %s. Until that works again this process looks for them every "
        "millisecond. Raise %s, or run fewer processes under this user",
        std::strerror(error), kWatchLimit);
  }
  ticks_ = true;
  disarm_sources();
  lazy_brisk_ = false;
  set_lazy_timer(lazy_delay());
}

void Engine::ring_control() noexcept {
  if (control_rung_) return;
  control_rung_ = true;
  LAPWING_DELAY_POINT("control.ring");
  ring(control_);
  ++system_calls().bells;
}

// Takes the port out of the outer epoll, rather than only silencing it: for every packet that arrives the kernel would still look
// whom the port wakes (streaming over loopback TCP: 4.4 instead of 7 to 9 GB/s).
void Engine::disarm_event_thread() noexcept {
  if (!port_listed_) return;
  LAPWING_DELAY_POINT("disarm.port");
  LAPWING_CHECK(epoll_ctl(outer_epoll_, EPOLL_CTL_DEL, port_.fd(), nullptr) == 0);
  port_listed_ = false;
  armed_ = false;
  ++counters_.arms;
  ++system_calls().watches;
}

// The application leaves and the event thread is armed. It stays so unless calls follow each other quickly: then peers would ring
// for what the next call finds anyway.
bool Engine::stays_armed() noexcept {
  const std::int64_t now = clock_.now();
  quick_visits_ = now - last_visit_ < policy_.arm_delay() ? quick_visits_ + 1 : 0;
  last_visit_ = now;
  if (quick_visits_ < kQuickVisits) return true;
  quick_visits_ = 0;
  disarm_sources();
  if (sources_ring_unasked()) disarm_event_thread();
  return false;
}

// The event thread is to look after what is in flight when the application has stayed outside for a while.
void Engine::request_lazy_arm() noexcept {
  const bool brisk = in_flight_ > 0;
  if (lazy_pending_ && (lazy_brisk_ || !brisk)) return;
  lazy_brisk_ = brisk;
  set_lazy_timer(lazy_delay());
}

// The longer the application keeps calling, the longer.
std::int64_t Engine::lazy_delay() const noexcept {
  if (!lazy_brisk_) return kLazyDelay;
  return policy_.arm_delay() << (lazy_renewals_ > 0 ? std::min(lazy_renewals_, kMostRenewals) - 1 : 0);
}

void Engine::set_lazy_timer(std::int64_t delay) noexcept {
  LAPWING_DELAY_POINT("lazy.set");
  lazy_pending_ = true;
  lazy_epoch_ = epoch_;
  lazy_turns_ = turns_;
  lazy_deadline_ = clock_.now() + delay;
  itimerspec when{};
  when.it_value.tv_nsec = delay;
  timerfd_settime(lazy_timer_, 0, &when, nullptr);
  ++system_calls().timers;
}

// It was set for nothing: the next one is set for longer.
void Engine::renew_later() noexcept {
  lazy_renewals_ = std::min(lazy_renewals_ + 1, kMostRenewals);
}

void Engine::cancel_lazy_timer() noexcept {
  lazy_pending_ = false;
  renew_later();
  const itimerspec never{};
  timerfd_settime(lazy_timer_, 0, &never, nullptr);
  ++system_calls().timers;
}

// The lazy timer has fired. If the application has been here since it was set, it is set again.
bool Engine::application_was_here() noexcept {
  if (lazy_pending_) return true;  // and has set it itself
  if (epoch_ == lazy_epoch_) {
    lazy_renewals_ = 0;
    return false;
  }
  ++lazy_renewals_;
  if (lazy_renewals_ > kMostRenewals && in_flight_ == 0) lazy_brisk_ = false;
  // After a long delay soon once more: it may just have begun to compute.
  lazy_soon_ = lazy_brisk_ && !lazy_soon_;
  set_lazy_timer(lazy_soon_ ? policy_.arm_delay() : lazy_delay());
  return true;
}

// The lazy timer has fired and found an application that has meanwhile looked for messages itself: with nothing in flight, or time
// and again. (One that only sends now and then has not, and neither has one whose few MPI_Tests have not looked at the port, where
// it counts.)
bool Engine::application_helps_itself() const noexcept {
  if (epoch_ == lazy_epoch_ || turn_wanted()) return false;
  const bool looked =
      turns_.thorough != lazy_turns_.thorough || (turns_.quick != lazy_turns_.quick && !sources_ring_unasked());
  return looked && (in_flight_ <= 0 || lazy_renewals_ > kFewRenewals);
}

// The median of a few wake-ups of the event thread, in nanoseconds; 0 when this machine is too busy to tell.
std::int64_t Engine::measure_wakeup_cost() noexcept {
  if (options_.oversubscribed || options_.cores < 2) return 0;
  constexpr int kRounds = 5;
  constexpr std::int64_t kPatience = 400'000;  // ns for one round; later means: busy
  std::int64_t costs[kRounds];
  int measured = 0;
  calibrating_.store(true, std::memory_order_release);
  for (int round = 0; round < kRounds; ++round) {
    calibration_.store(0, std::memory_order_relaxed);
    const std::int64_t began = clock_.now();
    ring(control_);
    std::int64_t woke;
    while ((woke = calibration_.load(std::memory_order_acquire)) == 0 && clock_.now() - began < kPatience) cpu_relax();
    if (woke == 0) break;
    costs[measured++] = woke - began;
    // Time to fall asleep again, so that the next round measures a real wake-up.
    for (const std::int64_t until = clock_.now() + 10'000; clock_.now() < until;) cpu_relax();
  }
  calibrating_.store(false, std::memory_order_release);
  if (measured < 3) return 0;
  std::sort(costs, costs + measured);
  return costs[measured / 2];
}

}  // namespace lapwing::engine
