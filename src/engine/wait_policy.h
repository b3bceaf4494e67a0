// Spin, then block: how long a waiting thread polls before it sleeps (design: paper 4, PIOMan).
//
// Spinning for as long as a wake-up costs is at most twice as dear as the best possible choice, whatever comes. The policy
// starts there and learns: after waits that were long anyway it spins less, after waits that a little more spinning would
// have caught it spins in full again. With more ranks than cores every turn of the spin gives the core away.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::engine {

class WaitPolicy {
 public:
  // Where nothing could be measured.
  static constexpr std::int64_t kAssumedCost = 50'000;

  // `wakeup_cost` in nanoseconds as measured; `fixed_budget` >= 0 overrides everything.
  void configure(std::int64_t wakeup_cost, bool oversubscribed, std::int64_t fixed_budget) noexcept {
    wakeup_cost_ = std::clamp<std::int64_t>(wakeup_cost, kLeastCost, kMostCost);
    oversubscribed_ = oversubscribed;
    fixed_budget_ = fixed_budget;
  }

  // Nanoseconds that the next wait may spin.
  std::int64_t budget() const noexcept {
    if (fixed_budget_ >= 0) return fixed_budget_;
    // Who gives the core away at every turn takes it from nobody, and being woken costs others more than being asked.
    return (oversubscribed_ ? kYieldingFactor * wakeup_cost_ : wakeup_cost_) >> patience_shift_;
  }
  // How long the application may be outside before the event thread is armed: by the same reasoning, arming when a wake-up's
  // worth of time has passed is at most twice as dear as the best possible.
  std::int64_t arm_delay() const noexcept { return std::clamp(wakeup_cost_, kLeastArmDelay, kMostCost); }
  // Whether the spinning thread gives its core away at every turn.
  bool yields() const noexcept { return oversubscribed_; }

  // How the last wait ended. `slept_for` counts from going to sleep to waking.
  void ended_spinning() noexcept { patience_shift_ = 0; }
  void ended_sleeping(std::int64_t slept_for) noexcept {
    if (slept_for <= 2 * wakeup_cost_)
      patience_shift_ = 0;  // what we waited for came while we fell asleep
    else if (slept_for > kLongWaits * wakeup_cost_)
      patience_shift_ = std::min(patience_shift_ + 1, kMostImpatient);
  }

 private:
  static constexpr std::int64_t kLeastCost = 2'000, kMostCost = 100'000, kLongWaits = 8;
  static constexpr std::int64_t kLeastArmDelay = 50'000;
  static constexpr int kMostImpatient = 4, kYieldingFactor = 8;
  std::int64_t wakeup_cost_ = kAssumedCost;
  std::int64_t fixed_budget_ = -1;
  bool oversubscribed_ = false;
  int patience_shift_ = 0;
};

}  // namespace lapwing::engine
