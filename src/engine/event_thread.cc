#include "engine/event_thread.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checked_call.h"
#include "base/delay_point.h"
#include "base/futex.h"
#include "base/internal_error.h"
#include "base/log.h"
#include "base/no_resource.h"
#include "base/tuning.h"
#include "engine/quiet_thread.h"

namespace lapwing::engine {
namespace {

constexpr const char* kWatchLimit = "/proc/sys/fs/epoll/max_user_watches";

void drain(int fd) noexcept {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t bytes = ::read(fd, &count, sizeof count);
}

void notify(int fd) noexcept {
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

// ---- start and end --------------------------------------------------------------------------------------------------

Status EventThread::start() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  control_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (epoll_ < 0 || timer_ < 0 || control_ < 0) return no_descriptor("the event thread's descriptors", errno);
  const struct {
    int fd;
    std::uint32_t events;
    Watched what;
  } watched[] = {{timer_, EPOLLIN, kTimer}, {control_, EPOLLIN, kControl}};
  for (const auto& entry : watched) {
    epoll_event event{};
    event.events = entry.events;
    event.data.u64 = entry.what;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, entry.fd, &event) != 0)
      return Status::error(MPI_ERR_NO_MEM, "cannot watch the event thread's descriptors: %s; raise %s",
                           std::strerror(errno), kWatchLimit);
  }

  policy_.begin(true);
  stopping_.store(false, std::memory_order_relaxed);
  const int error = start_quiet_thread(thread_, &EventThread::main, this);
  if (error != 0) {
    policy_.begin(false);
    return no_thread("the event thread", error, "; LAPWING_PROGRESS=polling goes without it");
  }
  runs_ = true;
  return {};
}

void EventThread::stop() noexcept {
  if (runs_) {
    stopping_.store(true, std::memory_order_release);
    notify(control_);
    pthread_join(thread_, nullptr);
    runs_ = false;
    policy_.begin(false);
  }
  for (int* fd : {&epoll_, &timer_, &control_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

void* EventThread::main(void* event_thread) noexcept {
  prctl(PR_SET_NAME, "lapwing-event");
  ask_for_short_slice();
  static_cast<EventThread*>(event_thread)->run();
  return nullptr;
}

// ---- the thread itself ----------------------------------------------------------------------------------------------

void EventThread::run() noexcept {
  while (!stopping_.load(std::memory_order_acquire)) {
    epoll_event events[3];
    const int count = epoll_wait(epoll_, events, 3, -1);
    if (calibrating_.load(std::memory_order_acquire)) {
      drain(control_);
      calibration_.store(endpoint_.clock.now(), std::memory_order_release);
      continue;
    }
    LAPWING_DELAY_POINT("event.lock");
    endpoint_.lock.lock();
    handle(events, count);
    LAPWING_DELAY_POINT("event.unlock");
    endpoint_.lock.unlock();
  }
}

void EventThread::handle(const epoll_event* events, int count) noexcept {
  ++endpoint_.counters.event_thread_wakeups;
  ++endpoint_.port.system_calls.sleeps;
  const bool unasked = endpoint_.sources.announce_unasked();
  bool announced = false, work = false;
  helped_ = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t what = events[i].data.u64;
    announced |= what == kPort && unasked;
    work |= what == kPort || (what == kControl && policy_.state().notified);  // and not a late answer to a calibration
    hear(what);
  }
  if (count <= 0) return;
  const std::uint64_t visits = progress_.visits().left;
  const bool turn_wanted = progress_.turn_wanted();
  policy_.is_calm(is_calm());
  switch (policy_.woken(work, progress_.application_drives(), completion_.in_flight(), turn_wanted, since_timer())) {
    case ArmingPolicy::Order::kDrive:
      disarm_sources();
      drive(visits);
      break;
    case ArmingPolicy::Order::kDriveOnce:
      disarm_sources();
      progress_.event_thread_turn();
      break;
    case ArmingPolicy::Order::kLeaveThere:
      disarm_sources();
      break;
    default:
      return;
  }
  if (stopping_.load(std::memory_order_relaxed)) return;
  const bool called = progress_.application_drives() || progress_.visits().left != visits;
  policy_.is_calm(is_calm());
  carry_out(
      policy_.drove({work, announced, helped_, called}, completion_.in_flight(), since_timer(), endpoint_.clock.now()));
}

bool EventThread::is_calm() const noexcept {
  return completion_.in_flight() && completion_.calm() && !progress_.turn_wanted();
}

void EventThread::hear(std::uint64_t what) noexcept {
  if (what == kPort) return policy_.heard_port();
  drain(what == kTimer ? timer_ : control_);
  ++endpoint_.port.system_calls.notifications;
  if (what == kTimer)
    policy_.heard_timer(progress_.application_drives());
  else
    policy_.heard_control();
}

// Moves what there is to move. It ends when the application calls: where data comes without a pause, the two would take turns with the
// lock, and messages would come before their receives.
void EventThread::drive(std::uint64_t visits) noexcept {
  while (!progress_.application_drives() && progress_.visits().left == visits && progress_.event_thread_turn()) {
    LAPWING_DELAY_POINT("event.breathe");
    endpoint_.lock.breathe();
  }
}

// A thread that has made only a few MPI_Tests, which have not looked at the port where that counts, has not looked for messages. One
// that takes what the event thread has stored would look if there were nothing stored: were more stored for it, it never would.
ArmingPolicy::SinceTimer EventThread::since_timer() const noexcept {
  const Progress::Visits& now = progress_.visits();
  const bool quick_looks = now.quick != at_timer_.quick && !endpoint_.sources.any(Source::kPollsDearly);
  return {now.left != at_timer_.left, quick_looks || now.full != at_timer_.full || now.found != at_timer_.found, now.left_in_flight};
}

// ---- orders of the arming policy ------------------------------------------------------------------------------------

void EventThread::carry_out(ArmingPolicy::Order order) noexcept {
  using Order = ArmingPolicy::Order;
  while (order != Order::kNothing) {
    switch (order) {
      case Order::kRest:
        order = policy_.rested(rest_sources(), endpoint_.clock.now());
        break;
      case Order::kRestOrArm:
        order = policy_.rested_or_not(rest_sources());
        break;
      case Order::kMoveAndArm:
        move_what_is_here();
        [[fallthrough]];
      case Order::kArm:
        order = policy_.armed(arm_sources());
        break;
      case Order::kWatch:
        order = policy_.watched(watch(), endpoint_.clock.now());
        break;
      case Order::kStandDown:
        disarm_sources();
        if (endpoint_.sources.announce_unasked()) unwatch();
        order = policy_.stood_down(completion_.in_flight(), endpoint_.clock.now());
        break;
      case Order::kSetTimer:
        return set_timer();
      default:  // kNotify
        return notify_event_thread();
    }
  }
}

void EventThread::disarm_sources() noexcept {
  if (policy_.disarmed()) return;
  policy_.sources_disarmed();
  endpoint_.sources.disarm();
}

// All sources rest, or none.
bool EventThread::rest_sources() noexcept {
  if (endpoint_.sources.rest()) return true;
  disarm_sources();
  return false;
}

bool EventThread::arm_sources() noexcept {
  policy_.sources_arm();
  if (endpoint_.sources.arm()) return true;
  disarm_sources();
  return false;
}

// Before leaving, within bounds: cheaper than waking the event thread for it.
void EventThread::move_what_is_here() noexcept {
  for (unsigned push = 0; push < tuning().engine_pushes_before_arming && !arm_sources(); ++push) progress_.turn(!Progress::kFull);
}

bool EventThread::watch() noexcept {
  LAPWING_DELAY_POINT("arm.port");
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = kPort;
  if (epoll_ctl(epoll_, policy_.listed() ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, endpoint_.port.fd(), &event) != 0) {
    refused(errno);
    return false;
  }
  watch_refused_ = false;
  ++endpoint_.counters.arms;
  ++endpoint_.port.system_calls.watches;
  return true;
}

void EventThread::refused(int error) noexcept {
  if (!watch_refused_) {
    log_warn(
        "cannot watch for messages while the application computes: %s. Until that works again this process looks for "
        "them every "
        "millisecond. Raise %s, or run fewer processes under this user",
        std::strerror(error), kWatchLimit);
  }
  watch_refused_ = true;
  disarm_sources();
}

// Takes the port out, rather than only silencing it: for every packet that arrives the kernel would still look which threads the port wakes
// (streaming over loopback TCP: 4.4 instead of 7 to 9 GB/s).
void EventThread::unwatch() noexcept {
  if (!policy_.listed()) return;
  LAPWING_DELAY_POINT("disarm.port");
  LAPWING_CHECK_CALL(epoll_ctl(epoll_, EPOLL_CTL_DEL, endpoint_.port.fd(), nullptr));
  policy_.unwatched();
  ++endpoint_.counters.arms;
  ++endpoint_.port.system_calls.watches;
}

void EventThread::set_timer() noexcept {
  LAPWING_DELAY_POINT("lazy.set");
  at_timer_ = progress_.visits();
  program_timer(policy_.delay());
}

void EventThread::cancel_timer() noexcept {
  policy_.timer_cancelled();
  program_timer(0);
}

// `delay` in ns; 0: never.
void EventThread::program_timer(std::int64_t delay) noexcept {
  itimerspec when{};
  when.it_value = {static_cast<time_t>(delay / 1'000'000'000), static_cast<long>(delay % 1'000'000'000)};
  timerfd_settime(timer_, 0, &when, nullptr);
  ++endpoint_.port.system_calls.timers;
}

void EventThread::notify_event_thread() noexcept {
  LAPWING_DELAY_POINT("control.notify");
  notify(control_);
  ++endpoint_.port.system_calls.notifications;
}

// ---- on behalf of application threads -------------------------------------------------------------------------------

void EventThread::application_leaves() noexcept {
  carry_out(policy_.leave(completion_.in_flight(), progress_.turn_wanted(), endpoint_.clock.now()));
}

void EventThread::driver_begins() noexcept {
  if (policy_.driver_disarms()) disarm_sources();
  if (policy_.listed() && endpoint_.sources.announce_unasked()) unwatch();
}

bool EventThread::driver_arms() noexcept {
  policy_.driver_sleeps(endpoint_.clock.now());
  unwatch();
  if (policy_.state().timer_set) cancel_timer();
  return arm_sources();
}

void EventThread::end_rest() noexcept {
  if (policy_.rest_ends()) sources_changed();
}

void EventThread::sources_changed() noexcept {
  disarm_sources();
  unwatch();
}

// ---- what a wake-up costs -------------------------------------------------------------------------------------------

std::int64_t EventThread::measure_wakeup_cost() noexcept {
  if (endpoint_.options.oversubscribed() || endpoint_.options.cores < 2) return 0;
  constexpr int kRounds = 5;
  std::int64_t costs[kRounds];
  int measured = 0;
  calibrating_.store(true, std::memory_order_release);
  while (measured < kRounds && (costs[measured] = measure_one_wakeup()) != 0) ++measured;
  calibrating_.store(false, std::memory_order_release);
  if (measured < 3) return 0;
  std::sort(costs, costs + measured);
  return costs[measured / 2];
}

std::int64_t EventThread::measure_one_wakeup() noexcept {
  constexpr std::int64_t kPatience = 400'000;   // ns for one round; later means: busy
  constexpr std::int64_t kFallAsleep = 10'000;  // ns, so that the next round measures a real wake-up
  calibration_.store(0, std::memory_order_relaxed);
  const std::int64_t began = endpoint_.clock.now();
  notify(control_);
  std::int64_t woke;
  while ((woke = calibration_.load(std::memory_order_acquire)) == 0 && endpoint_.clock.now() - began < kPatience)
    cpu_relax();
  if (woke == 0) return 0;
  for (const std::int64_t until = endpoint_.clock.now() + kFallAsleep; endpoint_.clock.now() < until;) cpu_relax();
  return woke - began;
}

}  // namespace lapwing::engine
