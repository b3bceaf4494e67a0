// The part of the engine that application threads run: operations, the baton, waiting. The event thread's part is in
// event_thread.cc.
#include "engine/engine.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/delay_point.h"
#include "base/futex.h"
#include "base/internal_error.h"
#include "wire/hang_report.h"

namespace lapwing::engine {
namespace {

// A spinning driver looks at the event port, a system call as long as a message takes, only so often, ns.
constexpr std::int64_t kBetweenLooks = 4'000;
// Where a turn costs no system call, reading the clock takes longer than the turn: it is read once in so many.
constexpr unsigned kTurnsPerClock = 16;
// A spinning driver cancels the lazy timer so much before it would fire, ns: early enough that short waits, between which the
// application posts, seldom miss the time. To be woken for nothing would cost a driver that shares its core dozens of microseconds.
constexpr std::int64_t kTimerMargin = 25'000;
constexpr std::int64_t kYieldingTimerMargin = 500'000;

void close_if_open(int& fd) noexcept {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

void Engine::Bell::on_ready(std::uint32_t) noexcept {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t bytes = ::read(fd, &count, sizeof count);
  ++calls_.bells;
  if (timers_ != nullptr) timers_->rang();
}

Engine::Engine(Clock& clock) noexcept : clock_(clock) {}

Engine::~Engine() {
  stop();
  close_if_open(wake_.fd);
  close_if_open(alarm_.fd);
}

Status Engine::start(const EngineOptions& options) {
  options_ = options;
  lock_.prepare();
  LAPWING_TRY(port_.open());
  wake_.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  alarm_.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (wake_.fd < 0 || alarm_.fd < 0)
    return Status::error(MPI_ERR_NO_MEM,
                         "cannot open an eventfd or timerfd: %s; raise the limit of open files (ulimit -n)",
                         std::strerror(errno));
  LAPWING_TRY(port_.add(wake_.fd, EPOLLIN | EPOLLET, wake_));
  LAPWING_TRY(port_.add(alarm_.fd, EPOLLIN | EPOLLET, alarm_));
  std::int64_t wakeup_cost = 0;
  if (options_.event_thread) {
    LAPWING_TRY(start_event_thread());
    if (options_.spin_budget < 0) wakeup_cost = measure_wakeup_cost();
  }
  policy_.configure(wakeup_cost > 0 ? wakeup_cost : WaitPolicy::kAssumedCost, options_.oversubscribed,
                    options_.spin_budget);
  return {};
}

void Engine::stop() noexcept {
  stop_event_thread();
}

void Engine::add_source(Source& source) {
  sources_.push_back(&source);
}

void Engine::remove_source(Source& source) noexcept {
  sources_.erase(std::remove(sources_.begin(), sources_.end(), &source), sources_.end());
}

// ---- operations -----------------------------------------------------------------------------------------------------

void Engine::arrived(Waiter& waiter) noexcept {
  if (waiter.linked())
    signal(waiter);
  else
    wake_driver();
}

void Engine::signal(Waiter& waiter) noexcept {
  waiter.signal_.store(1, std::memory_order_release);
  LAPWING_DELAY_POINT("signal.wake");
  futex_wake(waiter.signal_, 1);
  ++system_calls().bells;
}

void Engine::defer_to_application(Tasklet& tasklet) noexcept {
  application_tasklets_.push_back(tasklet);
  wake_driver();
}

// ---- timers ---------------------------------------------------------------------------------------------------------

void Engine::set_timer(Timer& timer, std::int64_t deadline) noexcept {
  cancel_timer(timer);
  if (!timer.idle_) hold();
  if (timers_.set(timer, deadline)) set_alarm();
}

void Engine::cancel_timer(Timer& timer) noexcept {
  if (!timer.pending_) return;
  timers_.cancel(timer);
  if (!timer.idle_) unhold();
}

void Engine::set_alarm() noexcept {
  const std::int64_t left = std::max<std::int64_t>(timers_.alarm() - clock_.now(), 1);
  itimerspec when{};
  when.it_value = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
  timerfd_settime(alarm_.fd, 0, &when, nullptr);
  ++system_calls().timers;
}

bool Engine::run_timers() noexcept {
  if (timers_.empty()) return false;
  bool ran = false;
  const std::int64_t now = clock_.now();
  timers_.begin_run();
  while (Timer* timer = timers_.take_due(now)) {
    if (!timer->idle_) unhold();
    timer->run_(*timer);
    ran = true;
  }
  if (timers_.end_run(now)) set_alarm();
  return ran;
}

// ---- one turn -------------------------------------------------------------------------------------------------------

bool Engine::turn(bool thorough) noexcept {
  bool moved = false;
  turn_wanted_.store(false, std::memory_order_relaxed);
  for (Source* source : sources_) moved |= source->poll();
  // While a driver sleeps in the port, what it announces is his: collected here, his wake-up would be gone.
  if (!driver_sleeps_ && thorough) {
    EventPort::Batch batch;
    port_.collect(batch, 0);
    ++system_calls().looks;
    moved |= port_.deliver(batch);
    moved |= run_timers();
  }
  moved |= run_tasklets();
  if (!event_thread_drives_) ++(thorough ? turns_.thorough : turns_.quick);
  if (moved) ++(event_thread_drives_ ? counters_.event_thread_turns : counters_.application_turns);
  return moved;
}

bool Engine::run_tasklets() noexcept {
  bool ran = false;
  while (!tasklets_.empty()) {
    Tasklet& tasklet = tasklets_.pop_front();
    tasklet.run_(tasklet);
    ran = true;
  }
  return ran;
}

bool Engine::run_application_tasklets() noexcept {
  bool ran = false;
  while (!application_tasklets_.empty()) {
    Tasklet& tasklet = application_tasklets_.pop_front();
    lock_.unlock();
    tasklet.run_(tasklet);
    lock_.lock();
    run_tasklets();
    ran = true;
  }
  return ran;
}

// ---- waiting --------------------------------------------------------------------------------------------------------

void Engine::wait(Waiter& waiter) noexcept {
  run_tasklets();
  if (sources_armed_ && !baton_taken_ && !waiter.ready()) look_first(waiter);
  while (!waiter.ready()) {
    if (run_application_tasklets()) continue;
    if (baton_taken_)
      sleep_on_waiter(waiter);
    else
      drive(waiter);
  }
  // The baton may have been passed to this thread just when its own wait ended.
  if (!baton_taken_) pass_baton();
}

// What has come while the application computed needs no driver, who would take the flags of the armed event thread down: to put them
// up again the application would set a timer when it leaves, a system call of microseconds.
void Engine::look_first(Waiter& waiter) noexcept {
  driver_ = &waiter;
  turn(!kThorough);
  driver_ = nullptr;
}

void Engine::drive(Waiter& waiter) noexcept {
  baton_taken_ = true;
  driver_ = &waiter;
  LAPWING_DELAY_POINT("drive.disarm");
  disarm_sources();
  if (port_listed_ && sources_ring_unasked()) disarm_event_thread();
  while (!spin(waiter)) {
    sleep_in_port(waiter);
    if (waiter.ready()) break;
  }
  driver_ = nullptr;
  baton_taken_ = false;
}

// Polls until the waiter is ready or a user callback wants an application thread (true), or the budget is spent (false).
bool Engine::spin(Waiter& waiter) noexcept {
  const unsigned turns_per_clock = policy_.yields() || sources_ring_unasked() ? 1 : kTurnsPerClock;
  const unsigned clocks_per_look = policy_.yields() ? kTurnsPerClock : 1;  // a turn may last as long as others want
  // A turn that gives the core away may take long.
  const std::int64_t margin = policy_.yields() ? kYieldingTimerMargin : kTimerMargin;
  unsigned turns = 0, clocks = 0;
  std::int64_t began = 0;  // of this wait for something to move; 0: from the next look at the clock on
  spun_ = 0;
  bool look = false;
  for (;;) {
    const bool moved = turn(look);
    look = false;
    if (waiter.ready() || !application_tasklets_.empty()) {
      policy_.ended_spinning(spun_);
      ++counters_.waits_spun;
      return true;
    }
    LAPWING_DELAY_POINT("spin.breathe");
    lock_.breathe();
    if (long_turn_) {
      long_turn_ = false;
      cancel_lazy_timer_in_time(clock_.now(), margin);
    }
    if (moved) {
      if (spun_ != 0) policy_.ended_spinning(spun_);
      began = spun_ = 0;
    }
    if (++turns >= turns_per_clock) {
      turns = 0;
      const std::int64_t now = clock_.now();
      cancel_lazy_timer_in_time(now, margin);
      const bool due = ++clocks >= clocks_per_look && now - last_look_ >= kBetweenLooks;
      if (due || sources_want_port_looked_at()) {
        look = true;
        last_look_ = now;
        clocks = 0;
      }
      if (began == 0) began = now;
      spun_ = now - began;
      if (spun_ >= policy_.budget()) return false;
    }
    if (policy_.yields(spun_)) {
      ++system_calls().yields;
      sched_yield();
    } else {
      cpu_relax();
    }
  }
}

void Engine::sleep_in_port(Waiter& waiter) noexcept {
  disarm_event_thread();
  if (lazy_pending_) cancel_lazy_timer();
  LAPWING_DELAY_POINT("sleep.arm");
  if (!arm_sources()) {
    disarm_sources();
    return;
  }
  LAPWING_DELAY_POINT("sleep.armed");
  if (waiter.ready() || !application_tasklets_.empty() || !tasklets_.empty()) {
    disarm_sources();
    return;
  }
  ++counters_.waits_slept;
  ++system_calls().sleeps;
  driver_sleeps_ = true;
  const std::int64_t began = clock_.now();
  if (waiter.since_ == 0) waiter.since_ = began;
  lock_.unlock();
  EventPort::Batch batch;
  LAPWING_DELAY_POINT("sleep.collect");
  port_.collect(batch, -1);
  LAPWING_DELAY_POINT("sleep.woken");
  lock_.lock();
  policy_.ended_sleeping(spun_, clock_.now() - began);
  driver_sleeps_ = false;
  disarm_sources();
  port_.deliver(batch);
  run_timers();
  run_tasklets();
}

void Engine::sleep_on_waiter(Waiter& waiter) noexcept {
  waiters_.push_back(waiter);
  ++system_calls().sleeps;
  waiter.signal_.store(0, std::memory_order_relaxed);
  if (waiter.since_ == 0) waiter.since_ = clock_.now();
  lock_.unlock();
  LAPWING_DELAY_POINT("waiter.sleep");
  while (waiter.signal_.load(std::memory_order_acquire) == 0) futex_wait(waiter.signal_, 0);
  LAPWING_DELAY_POINT("waiter.woken");
  lock_.lock();
  waiter.unlink();
}

// Another blocked thread, if any, becomes the driver.
void Engine::pass_baton() noexcept {
  LAPWING_DELAY_POINT("baton.pass");
  if (!waiters_.empty()) signal(waiters_.front());
}

void Engine::wake_driver() noexcept {
  if (!driver_sleeps_) return;
  LAPWING_DELAY_POINT("driver.wake");
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t bytes = ::write(wake_.fd, &one, sizeof one);
  ++system_calls().bells;
}

void Engine::describe(wire::HangReport& report) {
  report.visits = epoch_;
  if (driver_ != nullptr) describe_wait(*driver_, report);
  for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter) describe_wait(*waiter, report);
}

void Engine::describe_wait(const Waiter& waiter, wire::HangReport& report) {
  if (waiter.reason_ == nullptr || waiter.ready()) return;
  wire::HangWait& wait = report.waits.emplace_back();
  wait.call = waiter.reason_->call();
  if (waiter.since_ != 0) wait.age_ms = (clock_.now() - waiter.since_) / 1'000'000;
  waiter.reason_->describe(wait);
}

// The application leaves.
void Engine::see_to_progress() noexcept {
  if (baton_taken_) {
    if (turn_wanted()) wake_driver();
  } else if (event_thread_runs_) {
    if (armed_ && sources_armed_ && stays_armed()) {
      if (!turn_wanted()) do_what_is_here();
      arm_event_thread();
    } else {
      request_lazy_arm();
    }
  }
}

// Before leaving, within bounds: cheaper than waking the event thread for it.
void Engine::do_what_is_here() noexcept {
  constexpr int kPushes = 4;
  for (int push = 0; push < kPushes && !arm_sources(); ++push) {
    disarm_sources();
    turn(!kThorough);
  }
}

// All sources arm, or none: false when one has work.
bool Engine::arm_sources() noexcept {
  sources_armed_ = true;
  for (Source* source : sources_)
    if (!source->arm()) return false;
  return true;
}

bool Engine::sources_ring_unasked() const noexcept {
  return std::any_of(sources_.begin(), sources_.end(), [](const Source* source) { return source->rings_unasked(); });
}

bool Engine::sources_want_port_looked_at() const noexcept {
  return std::any_of(sources_.begin(), sources_.end(),
                     [](const Source* source) { return source->wants_port_looked_at(); });
}

void Engine::disarm_sources() noexcept {
  if (!sources_armed_) return;
  sources_armed_ = false;
  for (Source* source : sources_) source->disarm();
}

}  // namespace lapwing::engine
