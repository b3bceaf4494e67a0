#include "engine/progress.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/delay_point.h"
#include "base/futex.h"
#include "base/no_resource.h"
#include "base/tuning.h"
#include "engine/event_thread.h"
#include "engine/wait_reason.h"
#include "wire/hang_report.h"

namespace lapwing::engine {
namespace {

void close_if_open(int& fd) noexcept {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

void Progress::WakeUp::on_ready(std::uint32_t) noexcept {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t bytes = ::read(fd, &count, sizeof count);
  ++endpoint_.port.system_calls.notifications;
  if (timers_ != nullptr) timers_->went_off();
}

Progress::~Progress() {
  close_if_open(wake_.fd);
  close_if_open(alarm_.fd);
}

Status Progress::open() {
  wake_.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  alarm_.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (wake_.fd < 0 || alarm_.fd < 0) return no_descriptor("an eventfd or timerfd", errno);
  LAPWING_TRY(endpoint_.port.add(wake_.fd, EPOLLIN | EPOLLET, wake_));
  return endpoint_.port.add(alarm_.fd, EPOLLIN | EPOLLET, alarm_);
}

// ---- one turn -------------------------------------------------------------------------------------------------------

bool Progress::turn(bool full) noexcept {
  wish_.store(Wish::kNone, std::memory_order_relaxed);
  bool moved = endpoint_.sources.poll();
  // While a driver sleeps in the port, what it announces is the driver's: collected here, its wake-up would be gone.
  if (!driver_sleeps_ && full) {
    EventPort::Batch batch;
    endpoint_.port.collect(batch, 0);
    ++endpoint_.port.system_calls.polls;
    if (batch.count != 0) moved |= endpoint_.port.deliver(batch);
    moved |= run_timers();
  }
  moved |= completion_.run_tasklets();
  if (!event_thread_drives_) ++(full ? visits_.full : visits_.quick);
  if (moved) ++(event_thread_drives_ ? endpoint_.counters.event_thread_turns : endpoint_.counters.application_turns);
  return moved;
}

bool Progress::event_thread_turn() noexcept {
  event_thread_drives_ = true;
  const bool moved = turn(kFull);
  event_thread_drives_ = false;
  return moved;
}

bool Progress::quick_turn() noexcept {
  const bool looks = test_loop_.counts(endpoint_.wait_policy.is_contended()) && looks_between_tests();
  const bool moved = turn(looks || !endpoint_.options.event_thread || endpoint_.sources.any(Source::kWantsPortLookedAt));
  if (moved) test_loop_.ends();
  return moved;
}

// Looks at the clock. Whether the next turn is to look at the event port.
bool Progress::looks_between_tests() noexcept {
  WaitPolicy& policy = endpoint_.wait_policy;
  const bool contended = policy.is_contended();
  const std::int64_t now = endpoint_.clock.now();
  // Where others have the core in between, as many times seldomer as for a thread that waits.
  const bool looks = now - last_look_ >= tuning().engine_between_port_looks * (contended ? tuning().engine_turns_per_clock : 1);
  if (looks) last_look_ = now;
  if (policy.yields_after(test_loop_.lasts(now), now) && (looks || contended)) {
    keep_timer_away(now);
    ++endpoint_.port.system_calls.yields;
    endpoint_.lock.unlock();
    LAPWING_DELAY_POINT("test.yield");
    sched_yield();
    endpoint_.lock.lock();
    const std::int64_t back = endpoint_.clock.now();
    policy.yielded(back - now, back);
  }
  return looks;
}

// ---- callbacks of the user ------------------------------------------------------------------------------------------

void Progress::defer_to_application(Tasklet& tasklet) noexcept {
  application_tasklets_.push_back(tasklet);
  wake_driver();
}

bool Progress::run_application_tasklets() noexcept {
  bool ran = false;
  while (!application_tasklets_.empty()) {
    Tasklet& tasklet = application_tasklets_.pop_front();
    if (!baton_taken_) pass_baton();  // it may take long, or wait for what another thread receives
    endpoint_.lock.unlock();
    tasklet.run_(tasklet);
    endpoint_.lock.lock();
    completion_.run_tasklets();
    ran = true;
  }
  return ran;
}

// ---- timers ---------------------------------------------------------------------------------------------------------

void Progress::set_timer(Timer& timer, std::int64_t deadline) noexcept {
  cancel_timer(timer);
  if (!timer.idle_) completion_.hold();
  if (timers_.set(timer, deadline)) set_alarm();
}

void Progress::cancel_timer(Timer& timer) noexcept {
  if (!timer.pending_) return;
  timers_.cancel(timer);
  if (!timer.idle_) completion_.unhold();
}

void Progress::set_alarm() noexcept {
  const std::int64_t left = std::max<std::int64_t>(timers_.alarm() - endpoint_.clock.now(), 1);
  itimerspec when{};
  when.it_value = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
  timerfd_settime(alarm_.fd, 0, &when, nullptr);
  ++endpoint_.port.system_calls.timers;
}

bool Progress::run_timers() noexcept {
  if (timers_.empty()) return false;
  bool ran = false;
  const std::int64_t now = endpoint_.clock.now();
  timers_.begin_run();
  while (Timer* timer = timers_.take_due(now)) {
    if (!timer->idle_) completion_.unhold();
    timer->run_(*timer);
    ran = true;
  }
  if (timers_.end_run(now)) set_alarm();
  return ran;
}

// ---- waiting --------------------------------------------------------------------------------------------------------

void Progress::expect_wait() noexcept {
  if (baton_taken_) return;
  event_thread_.end_rest();
  if (!endpoint_.arming.asks_nothing()) event_thread_.driver_begins();
}

void Progress::wait(Waiter& waiter) noexcept {
  completion_.run_tasklets();
  if (endpoint_.arming.sources_armed()) {
    event_thread_.application_returns();
    if (!baton_taken_ && !waiter.ready()) turn_first(waiter);
  } else if (visits_.left_in_flight && !baton_taken_ && !waiter.ready() && event_thread_.is_put_off()) {
    event_thread_.first_turn_begins();
    turn_first(waiter);
    event_thread_.first_turn_ended();
  }
  while (!waiter.ready()) {
    if (!application_tasklets_.empty())
      run_application_tasklets();
    else if (baton_taken_)
      sleep_on_waiter(waiter);
    else
      drive(waiter);
  }
  // The baton may have been passed to this thread just when its own wait ended: another blocked thread, if any, becomes the driver.
  LAPWING_DELAY_POINT("baton.pass");
  if (!baton_taken_) pass_baton();
}

// One that was signalled is on its way: it drives, or passes the baton on.
void Progress::pass_baton() noexcept {
  if (!waiters_.empty() && waiters_.front().signal_.load(std::memory_order_relaxed) == 0) signal(waiters_.front());
}

// What has come while the application computed needs no driver, which would take the flags of the armed event thread down: to put them
// up again the application would set a timer when it leaves, a system call of microseconds.
void Progress::turn_first(Waiter& waiter) noexcept {
  driver_ = &waiter;
  turn(!kFull);
  driver_ = nullptr;
}

void Progress::drive(Waiter& waiter) noexcept {
  baton_taken_ = true;
  driver_ = &waiter;
  LAPWING_DELAY_POINT("drive.disarm");
  if (!endpoint_.arming.asks_nothing()) event_thread_.driver_begins();
  while (!spin(waiter)) {
    sleep_in_port(waiter);
    if (waiter.ready()) break;
  }
  driver_ = nullptr;
  baton_taken_ = false;
}

// Polls until the waiter is ready or a user callback wants an application thread (true), or it is time to sleep (false).
bool Progress::spin(Waiter& waiter) noexcept {
  const bool dear = endpoint_.options.oversubscribed() || endpoint_.sources.any(Source::kPollsDearly);
  const unsigned turns_per_clock = dear ? 1 : tuning().engine_turns_per_clock;
  Pace pace;
  for (;;) {
    pace.moved |= turn(std::exchange(pace.look, false));
    if (is_served(waiter)) break;
    LAPWING_DELAY_POINT("spin.breathe");
    endpoint_.lock.breathe();
    const bool due = ++pace.turns >= turns_per_clock || (pace.moved && endpoint_.wait_policy.yields());
    if ((due || long_turn_) && !look_at_clock(pace, due)) return false;
    relax();
  }
  endpoint_.wait_policy.ended_spinning();
  ++endpoint_.counters.waits_spun;
  return true;
}

// Not at the port, unless it is `due`: after turns that take long the timer alone is kept away. False: it is time to sleep.
bool Progress::look_at_clock(Pace& pace, bool due) noexcept {
  const std::int64_t now = endpoint_.clock.now();
  const bool oversubscribed = endpoint_.options.oversubscribed();
  long_turn_ = false;
  keep_timer_away(now);
  if (!due) return true;
  pace.turns = 0;
  const bool often_enough = ++pace.clocks >= (oversubscribed ? tuning().engine_turns_per_clock : 1);
  pace.look = (often_enough && now - last_look_ >= tuning().engine_between_port_looks) ||
              endpoint_.sources.any(Source::kWantsPortLookedAt);
  if (pace.look) {
    pace.clocks = 0;
    last_look_ = now;
  }
  return endpoint_.wait_policy.polls_on(now, std::exchange(pace.moved, false));
}

// Of the event thread, which would be woken for nothing.
void Progress::keep_timer_away(std::int64_t now) noexcept {
  const bool oversubscribed = endpoint_.options.oversubscribed();  // a turn may last as long as others want
  const std::int64_t margin = oversubscribed ? tuning().engine_yielding_timer_margin : tuning().engine_timer_margin;
  if (endpoint_.arming.timer_is_near(now, margin)) event_thread_.cancel_timer();
}

void Progress::relax() noexcept {
  if (!endpoint_.wait_policy.yields()) return cpu_relax();
  ++endpoint_.port.system_calls.yields;
  const std::int64_t began = endpoint_.clock.now();
  endpoint_.lock.unlock();
  LAPWING_DELAY_POINT("spin.yield");
  sched_yield();
  endpoint_.lock.lock();
  const std::int64_t back = endpoint_.clock.now();
  endpoint_.wait_policy.yielded(back - began, back);
}

void Progress::sleep_in_port(Waiter& waiter) noexcept {
  LAPWING_DELAY_POINT("sleep.arm");
  const bool armed = event_thread_.driver_arms();
  LAPWING_DELAY_POINT("sleep.armed");
  if (!armed || is_served(waiter) || completion_.has_tasklets()) {
    endpoint_.wait_policy.stays_awake();
    return event_thread_.disarm_sources();
  }
  EventPort::Batch batch;
  sleep(waiter, batch);
  event_thread_.disarm_sources();
  endpoint_.port.deliver(batch);
  run_timers();
  completion_.run_tasklets();
}

// Releases the lock, until something is ready in the port, or until shortly before it is expected.
void Progress::sleep(Waiter& waiter, EventPort::Batch& batch) noexcept {
  WaitPolicy& policy = endpoint_.wait_policy;
  const std::int64_t nap = policy.nap(), began = endpoint_.clock.now();
  ++(nap != 0 ? endpoint_.counters.waits_predicted : endpoint_.counters.waits_slept);
  ++endpoint_.port.system_calls.sleeps;
  if (waiter.since_ == 0) waiter.since_ = began;
  driver_sleeps_ = true;
  endpoint_.lock.unlock();
  LAPWING_DELAY_POINT("sleep.collect");
  if (nap != 0)
    endpoint_.port.collect_within(batch, nap);
  else
    endpoint_.port.collect(batch, -1);
  LAPWING_DELAY_POINT("sleep.woken");
  endpoint_.lock.lock();
  driver_sleeps_ = false;
  const std::int64_t now = endpoint_.clock.now();
  if (nap == 0 || batch.count != 0) return policy.ended_sleeping(now, now - began);
  policy.napped(now);
  ++endpoint_.counters.predictions_right;
}

void Progress::sleep_on_waiter(Waiter& waiter) noexcept {
  // What this thread has posted may have given a source work since the driver went to sleep.
  if (driver_sleeps_ && !endpoint_.sources.arm()) wake_driver();
  waiters_.push_back(waiter);
  ++endpoint_.port.system_calls.sleeps;
  waiter.signal_.store(0, std::memory_order_relaxed);
  if (waiter.since_ == 0) waiter.since_ = endpoint_.clock.now();
  endpoint_.lock.unlock();
  LAPWING_DELAY_POINT("waiter.sleep");
  while (waiter.signal_.load(std::memory_order_acquire) == 0) futex_wait(waiter.signal_, 0);
  LAPWING_DELAY_POINT("waiter.woken");
  endpoint_.lock.lock();
  waiter.unlink();
}

void Progress::wake(Waiter& waiter) noexcept {
  if (waiter.linked())
    signal(waiter);
  else
    wake_driver();
}

void Progress::signal(Waiter& waiter) noexcept {
  waiter.signal_.store(1, std::memory_order_release);
  LAPWING_DELAY_POINT("signal.wake");
  futex_wake(waiter.signal_, 1);
  ++endpoint_.port.system_calls.notifications;
}

void Progress::wake_driver() noexcept {
  if (!driver_sleeps_) return;
  LAPWING_DELAY_POINT("driver.wake");
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t bytes = ::write(wake_.fd, &one, sizeof one);
  ++endpoint_.port.system_calls.notifications;
}

// ---- what a report on a hang says -----------------------------------------------------------------------------------

void Progress::describe(wire::HangReport& report) {
  const std::int64_t now = endpoint_.clock.now();
  report.visits = visits_.left;
  if (driver_ != nullptr) describe_wait(*driver_, now, report);
  for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter) describe_wait(*waiter, now, report);
}

void Progress::describe_wait(const Waiter& waiter, std::int64_t now, wire::HangReport& report) {
  if (waiter.reason_ == nullptr || waiter.ready()) return;
  wire::HangWait& wait = report.waits.emplace_back();
  wait.call = waiter.reason_->call();
  if (waiter.since_ != 0) wait.age_ms = (now - waiter.since_) / 1'000'000;
  waiter.reason_->describe(wait);
}

}  // namespace lapwing::engine
