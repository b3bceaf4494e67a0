#include "engine/lock.h"

#include <climits>

#include "base/delay_point.h"
#include "base/futex.h"
#include "base/tuning.h"

namespace lapwing::engine {

void Lock::lock_slow() noexcept {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  LAPWING_DELAY_POINT("lock.contend");
  for (unsigned i = 0; i < tuning().engine_lock_spins && state_.load(std::memory_order_relaxed) != kFree; ++i)
    cpu_relax();
  if (!try_lock()) sleep_until_locked();
  LAPWING_DELAY_POINT("lock.admitted");
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  announce_admission();
}

void Lock::sleep_until_locked() noexcept {
  sleepers_.fetch_add(1, std::memory_order_relaxed);
  LAPWING_DELAY_POINT("lock.sleeper");
  fence_.heavy();  // pairs with the light one in unlock()
  for (;;) {
    const std::uint32_t before = wake_ups_.load(std::memory_order_acquire);
    LAPWING_DELAY_POINT("lock.read");
    // Pairs with wake_one(): it sees 0, or this thread sees the lock free.
    waking_.exchange(0, std::memory_order_acq_rel);
    LAPWING_DELAY_POINT("lock.try");
    if (try_lock()) break;
    futex_wait(wake_ups_, before);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void Lock::announce_admission() noexcept {
  // Pairs with wait_for_admission(): this thread sees that one sleep, or it sees the admission.
  admissions_.fetch_add(1, std::memory_order_seq_cst);
  LAPWING_DELAY_POINT("lock.announce");
  if (awaiting_.load(std::memory_order_seq_cst) != 0) futex_wake(admissions_, INT_MAX);
}

void Lock::breathe_slow() noexcept {
  // Waits until one of the waiting threads has been admitted, so that unlock-and-lock-again cannot starve it.
  const std::uint32_t before = admissions_.load(std::memory_order_acquire);
  unlock();
  LAPWING_DELAY_POINT("breathe.unlocked");
  for (unsigned i = 0; i < tuning().engine_handover_spins && admissions_.load(std::memory_order_acquire) == before; ++i)
    cpu_relax();
  if (admissions_.load(std::memory_order_acquire) == before && waiting_.load(std::memory_order_relaxed) != 0)
    wait_for_admission(before);
  lock();
}

void Lock::wait_for_admission(std::uint32_t before) noexcept {
  constexpr std::int64_t kAtMost = 1'000'000;  // ns: no sleep is for ever, whatever became of the waiter
  awaiting_.fetch_add(1, std::memory_order_seq_cst);
  LAPWING_DELAY_POINT("breathe.sleep");
  futex_wait_for(admissions_, before, kAtMost);
  awaiting_.fetch_sub(1, std::memory_order_relaxed);
}

void Lock::wake_one() noexcept {
  LAPWING_DELAY_POINT("lock.wake");
  if (waking_.exchange(1, std::memory_order_acq_rel) != 0) return;  // the thread that was woken will find the lock free
  LAPWING_DELAY_POINT("lock.woken");
  wake_ups_.fetch_add(1, std::memory_order_release);
  futex_wake(wake_ups_, 1);
}

}  // namespace lapwing::engine
