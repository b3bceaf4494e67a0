// The endpoint's lock: a futex mutex whose holder can see that somebody waits for it.
//
// A driver holds it while it polls. Between two polls it calls breathe(), which hands the lock over if, and only if, another
// thread wants it, so that one thread's spinning never shuts out another thread's MPI_Isend.
#pragma once

#include <atomic>
#include <cstdint>

namespace lapwing::engine {

class Lock {
 public:
  Lock() noexcept = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() noexcept {
    std::uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) lock_slow();
  }
  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kContended) wake_one();
  }

  // Lets another thread in if one is waiting. The caller holds the lock before and after.
  void breathe() noexcept {
    if (waiting_.load(std::memory_order_relaxed) != 0) breathe_slow();
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kContended = 2;

  void lock_slow() noexcept;
  void breathe_slow() noexcept;
  void wake_one() noexcept;

  std::atomic<std::uint32_t> state_{kFree};
  std::atomic<std::uint32_t> waiting_{0};     // threads inside lock_slow
  std::atomic<std::uint32_t> admissions_{0};  // how often lock_slow succeeded: breathe waits for one
};

}  // namespace lapwing::engine
