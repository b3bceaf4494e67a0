#include "engine/timers.h"

namespace lapwing::engine {

bool TimerQueue::set(Timer& timer, std::int64_t deadline) {
  timer.deadline_ = deadline;
  timer.stamp_ = ++stamps_;
  timer.pending_ = true;
  timers_.insert(&timer);
  if (deadline >= alarm_) return false;
  alarm_ = deadline;
  return true;
}

void TimerQueue::cancel(Timer& timer) noexcept {
  timers_.erase(&timer);
  timer.pending_ = false;
}

Timer* TimerQueue::take_due(std::int64_t now) noexcept {
  if (timers_.empty()) return nullptr;
  Timer* first = *timers_.begin();
  if (first->deadline_ > now || first->stamp_ > last_of_run_) return nullptr;
  cancel(*first);
  return first;
}

// An alarm whose time has come has rung or is just ringing, even where that was not heard yet: it is of no use any more.
bool TimerQueue::end_run(std::int64_t now) noexcept {
  if (alarm_ <= now) alarm_ = kNever;
  if (timers_.empty() || (*timers_.begin())->deadline_ >= alarm_) return false;
  alarm_ = (*timers_.begin())->deadline_;
  return true;
}

}  // namespace lapwing::engine
