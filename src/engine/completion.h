// Completion: every Operation completes exactly once, through finish(). Nothing else is here: which thread discovers that something
// is complete is a matter of progress.h.
//
// Continuations and tasklets run under the endpoint's lock at a safe point, where no queue is being walked. Everything is called
// with that lock held.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/delay_point.h"
#include "base/internal_error.h"
#include "base/intrusive_list.h"
#include "engine/operation.h"

namespace lapwing::engine {

// Wakes a thread whose wait is over, should it sleep.
class Waker {
 public:
  virtual void wake(Waiter& waiter) noexcept = 0;

 protected:
  ~Waker() = default;
};

class Completion {
 public:
  explicit Completion(Waker& waker) noexcept : waker_(waker) {}

  // An operation begins, and is in flight until finish().
  void begin(Operation& operation) noexcept {
    LAPWING_CHECK(operation.done());
    operation.done_.store(false, std::memory_order_relaxed);
    operation.waiter_ = nullptr;
    ++in_flight_;
    ++begun_;
  }
  // Completes `operation`: wakes its waiter, queues its continuation. The only function that completes anything.
  void finish(Operation& operation) noexcept {
    LAPWING_CHECK(!operation.done());
    --in_flight_;
    Waiter* waiter = operation.waiter_;
    operation.waiter_ = nullptr;
    // Once done is visible, a thread that looks without the lock may free the operation, unless it continues.
    if (operation.continuation_ != nullptr) defer(operation);
    operation.done_.store(true, std::memory_order_release);
    LAPWING_DELAY_POINT("finish.arrive");
    if (waiter != nullptr) arrive(*waiter);
  }
  // Work that is in flight without being an Operation (bytes queued in a transport, say) and needs the event thread.
  void hold() noexcept { ++in_flight_, ++begun_; }
  void unhold() noexcept { --in_flight_; }
  bool in_flight() const noexcept { return in_flight_ > 0; }
  // `count` operations have begun for which no thread is needed before the application's next call. If they are all that is in flight, it is calm
  // until something else begins.
  void need_nothing(std::int64_t count) noexcept {
    if (count == in_flight_) calm_since_ = begun_;
  }
  bool calm() const noexcept { return calm_since_ == begun_; }

  // `waiter` will arrive() when `operation` completes. False when it is complete already (no arrival will follow).
  bool watch(Operation& operation, Waiter& waiter) noexcept {
    if (operation.done()) return false;
    operation.waiter_ = &waiter;
    return true;
  }
  void unwatch(Operation& operation) noexcept { operation.waiter_ = nullptr; }
  // One arrival; used by finish(), and by matching for a blocked probe.
  void arrive(Waiter& waiter) noexcept {
    if (--waiter.missing_ <= 0) waker_.wake(waiter);
  }

  void defer(Tasklet& tasklet) noexcept { tasklets_.push_back(tasklet); }
  bool has_tasklets() const noexcept { return !tasklets_.empty(); }
  // Until none is left. True when one ran.
  bool run_tasklets() noexcept {
    bool ran = false;
    while (!tasklets_.empty()) {
      Tasklet& tasklet = tasklets_.pop_front();
      tasklet.run_(tasklet);
      ran = true;
    }
    return ran;
  }

 private:
  Waker& waker_;
  std::int64_t in_flight_ = 0;
  std::uint64_t begun_ = 0;                  // operations and holds, in all
  std::uint64_t calm_since_ = ~std::uint64_t{0};  // so many had begun when it was calm
  IntrusiveList<Tasklet, TaskletTag> tasklets_;
};

}  // namespace lapwing::engine
