// Operations, and what waits for them.
//
// An Operation is anything that starts, takes a while, and completes exactly once: a send, a receive, a collective. It is
// completed only by Engine::finish(), with the endpoint's lock held. Three parties may want to know: a thread that waits
// (Waiter), a piece of code that goes on from there (continuation, run later as a tasklet by the thread that drives), and any
// thread that asks (done(), without a lock).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/intrusive_list.h"

namespace lapwing::engine {

class Completion;
class Progress;
class WaitReason;

struct WaiterTag;

// One thread's wait for one or several operations. It lives on that thread's stack. Everything but `signal_` is
// protected by the endpoint's lock.
class Waiter : public ListNode<WaiterTag> {
 public:
  // Ready after `arrivals_needed` arrivals: the number of operations for wait-all, 1 for wait-any. `reason`, for a report on a hang, outlives it.
  explicit Waiter(std::int64_t arrivals_needed, const WaitReason* reason = nullptr) noexcept
      : missing_(arrivals_needed), reason_(reason) {}
  // One arrival more, before the wait.
  void expect_one_more() noexcept { ++missing_; }

  bool ready() const noexcept { return missing_ <= 0; }

 private:
  friend class Completion;
  friend class Progress;
  std::int64_t missing_;
  const WaitReason* const reason_;
  std::int64_t since_ = 0;                // when it first went to sleep; 0: not yet
  std::atomic<std::uint32_t> signal_{0};  // futex: 0 asleep or not waiting, 1 look again
};

struct TaskletTag;

// A small piece of work that must not run where it was discovered. Run once per defer(), with the lock held, by the
// thread that drives, at a point where no queue is being walked.
class Tasklet : public ListNode<TaskletTag> {
 public:
  using Function = void (*)(Tasklet&) noexcept;
  explicit Tasklet(Function run) noexcept : run_(run) {}

 protected:
  ~Tasklet() = default;

 private:
  friend class Completion;
  friend class Progress;
  Function run_;
};

class Operation : private Tasklet {
 public:
  using Continuation = void (*)(Operation&) noexcept;

  Operation() noexcept : Tasklet(&Operation::run_continuation) {}

  // True once completed; everything the completer wrote is then visible.
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }

  // What runs after completion, as a tasklet. Set before the operation starts, or with the lock held while it is not done. It may destroy the operation.
  void set_continuation(Continuation continuation) noexcept { continuation_ = continuation; }
  Continuation continuation() const noexcept { return continuation_; }

 protected:
  ~Operation() = default;

 private:
  friend class Completion;
  static void run_continuation(Tasklet& tasklet) noexcept {
    auto& operation = static_cast<Operation&>(tasklet);
    operation.continuation_(operation);
  }

  std::atomic<bool> done_{true};  // not started yet counts as done, like an inactive request
  Waiter* waiter_ = nullptr;
  Continuation continuation_ = nullptr;
};

}  // namespace lapwing::engine
