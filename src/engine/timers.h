// Deadlines, and when the alarm must ring for the next of them. Has no clock and no alarm of its own: the engine tells it the time, and
// programs a timerfd when it is told to. Protected by the endpoint's lock.
//
// The rule: while a timer is pending, the alarm is set for its deadline or earlier. A timer that is cancelled leaves the alarm
// alone, because to set it costs microseconds and most timers are cancelled: it rings once in vain, and is set for the next timer then.
#pragma once

#include <cstdint>
#include <limits>
#include <set>

namespace lapwing::engine {

// A deadline. Runs once, with the lock held, not before its time. While it is set it counts as work under way, so that the
// event thread is armed for it; an idle one does not, and is late when no thread is there.
class Timer {
 public:
  using Function = void (*)(Timer&) noexcept;
  static constexpr bool kIdle = true;
  explicit Timer(Function run, bool idle = false) noexcept : run_(run), idle_(idle) {}
  bool pending() const noexcept { return pending_; }

 private:
  friend class Progress;
  friend class TimerQueue;
  Function run_;
  bool idle_;
  bool pending_ = false;
  std::int64_t deadline_ = 0;
  std::uint64_t stamp_ = 0;  // counts all that were ever set
};

class TimerQueue {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  bool empty() const noexcept { return timers_.empty(); }
  // What the alarm is to be set for, after a function that has returned true.
  std::int64_t alarm() const noexcept { return alarm_; }

  // `timer` is not pending. True when the alarm must be set.
  bool set(Timer& timer, std::int64_t deadline);
  // `timer` is pending.
  void cancel(Timer& timer) noexcept;

  // The alarm has rung, and is set no more.
  void went_off() noexcept { alarm_ = kNever; }
  // A run takes the timers that are due one by one, the earliest first, of equal ones the one that was set first; then it ends. What
  // is set meanwhile waits for the next run, so that a timer that sets itself again does not keep the lock for ever.
  void begin_run() noexcept { last_of_run_ = stamps_; }
  Timer* take_due(std::int64_t now) noexcept;
  // True when the alarm must be set. `now` as in the run's last take_due().
  bool end_run(std::int64_t now) noexcept;

 private:
  struct Earlier {
    bool operator()(const Timer* a, const Timer* b) const noexcept {
      return a->deadline_ != b->deadline_ ? a->deadline_ < b->deadline_ : a->stamp_ < b->stamp_;
    }
  };

  std::set<Timer*, Earlier> timers_;
  std::int64_t alarm_ = kNever;
  std::uint64_t stamps_ = 0;
  std::uint64_t last_of_run_ = 0;
};

}  // namespace lapwing::engine
