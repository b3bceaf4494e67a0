#include "engine/lock.h"

#include <climits>

#include "base/delay_point.h"
#include "base/futex.h"
#include "base/tuning.h"

namespace lapwing::engine {

void Lock::lock_slow() noexcept {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  LAPWING_DELAY_POINT("lock.contend");
  for (unsigned i = 0; i < tuning().engine_lock_spins && state_.load(std::memory_order_relaxed) != kFree; ++i) cpu_relax();
  if (!try_lock()) {
    sleepers_.fetch_add(1, std::memory_order_relaxed);
    LAPWING_DELAY_POINT("lock.sleeper");
    fence_.heavy();  // pairs with the light one in unlock()
    LAPWING_DELAY_POINT("lock.try");
    while (!try_lock()) futex_wait(state_, kHeld);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  LAPWING_DELAY_POINT("lock.admitted");
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  admissions_.fetch_add(1, std::memory_order_release);
  LAPWING_DELAY_POINT("lock.announce");
  futex_wake(admissions_, INT_MAX);
}

void Lock::breathe_slow() noexcept {
  // Waits until one of the waiting threads has been admitted, so that unlock-and-lock-again cannot starve it.
  const std::uint32_t before = admissions_.load(std::memory_order_acquire);
  unlock();
  LAPWING_DELAY_POINT("breathe.unlocked");
  for (unsigned i = 0; i < tuning().engine_handover_spins && admissions_.load(std::memory_order_acquire) == before; ++i) cpu_relax();
  if (admissions_.load(std::memory_order_acquire) == before && waiting_.load(std::memory_order_relaxed) != 0) {
    constexpr std::int64_t kAtMost = 1'000'000;  // a waiter that was admitted between our two reads wakes no thread
    LAPWING_DELAY_POINT("breathe.sleep");
    futex_wait_for(admissions_, before, kAtMost);
  }
  lock();
}

void Lock::wake_one() noexcept {
  LAPWING_DELAY_POINT("lock.wake");
  futex_wake(state_, 1);
}

}  // namespace lapwing::engine
