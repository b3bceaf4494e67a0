// The endpoint's lock: a futex mutex whose holder can see that a thread waits for it.
//
// A driver holds it while it polls. Between two polls it calls breathe(), which hands the lock over if, and only if, another
// thread wants it, so that one thread's spinning never shuts out another thread's MPI_Isend.
//
// Every call of MPI takes it and gives it back, so giving back is a plain store and a look for sleepers. A thread that goes to
// sleep, which is seldom, makes sure that the holder sees it (base/asymmetric_fence.h).
//
// One wake-up is on its way at a time: a thread that takes the lock and gives it back many times before a woken thread runs makes one
// system call, not one each time. Every sleeper reads `wake_ups_`, takes `waking_` down, tries, and sleeps while `wake_ups_` is what
// it read; every waker puts `waking_` up first and counts second. So a wake-up that comes after a sleeper has taken `waking_` down ends
// that sleep, or another one, which takes `waking_` down in turn; and one that came before has freed the lock before the sleeper tried.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/asymmetric_fence.h"

namespace lapwing::engine {

class Lock {
 public:
  Lock() noexcept = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // Makes giving back cheap; before there are several threads.
  void prepare() noexcept { fence_.enable(); }

  void lock() noexcept {
    std::uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) lock_slow();
  }
  void unlock() noexcept {
    state_.store(kFree, std::memory_order_release);
    fence_.light();  // pairs with the heavy one in sleep_until_locked: we see the sleeper, or it sees the lock free
    if (sleepers_.load(std::memory_order_relaxed) != 0) wake_one();
  }

  // Lets another thread in if one is waiting. The caller holds the lock before and after.
  void breathe() noexcept {
    if (waiting_.load(std::memory_order_relaxed) != 0) breathe_slow();
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1;

  bool try_lock() noexcept {
    std::uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire);
  }
  void lock_slow() noexcept;
  void sleep_until_locked() noexcept;
  void announce_admission() noexcept;
  void breathe_slow() noexcept;
  void wait_for_admission(std::uint32_t before) noexcept;
  void wake_one() noexcept;

  std::atomic<std::uint32_t> state_{kFree};
  std::atomic<std::uint32_t> sleepers_{0};    // threads that sleep on wake_ups_, or are about to
  std::atomic<std::uint32_t> wake_ups_{0};    // how often one of them was to be woken
  std::atomic<std::uint32_t> waking_{0};      // 1: a woken thread has not tried yet
  std::atomic<std::uint32_t> waiting_{0};     // threads inside lock_slow
  std::atomic<std::uint32_t> admissions_{0};  // how often lock_slow succeeded: breathe waits for one
  std::atomic<std::uint32_t> awaiting_{0};    // threads that sleep on admissions_, or are about to
  AsymmetricFence fence_;
};

}  // namespace lapwing::engine
