#include "engine/wait_policy.h"

namespace lapwing::engine {

void WaitPolicy::configure(std::int64_t wakeup_cost, int ranks_per_core, std::int64_t fixed_budget) noexcept {
  wakeup_cost_ = std::clamp<std::int64_t>(wakeup_cost, kLeastCost, kMostCost);
  ranks_per_core_ = ranks_per_core;
  fixed_budget_ = fixed_budget;
  earns_ = fixed_budget < 0;
  contended_yields_ = 0;
  keeps_core_until_ = computed_ = 0;
  computing_until_ = kLongAgo;
  met_computing_ = 0;
  saved_ = nap_ = spun_ = polling_since_ = 0;
  prediction_ = {};
  window_.fill(0);
  count_.fill(0);
  count_[0] = kWindow;
  choose();
}

void WaitPolicy::record(std::int64_t waited) noexcept {
  int kind = 0;
  while (kind < kLongKind && waited > budget_of(kind)) ++kind;
  std::uint8_t& oldest = window_[oldest_];
  oldest_ = (oldest_ + 1) % kWindow;
  if (oldest == kind) return;
  --count_[oldest];
  ++count_[static_cast<unsigned>(kind)];
  oldest = static_cast<std::uint8_t>(kind);
  choose();
}

// The cheapest budget for the waits in the window. Costs are counted in quarters of C/16.
void WaitPolicy::choose() noexcept {
  const int waking = static_cast<int>(tuning().engine_wakeup_worth) << kWakeupKind;
  const int home = oversubscribed() ? kOversubscribedKind : kWakeupKind;
  int costs[kBudgets];
  int covered = 0, beyond = 4 * kWindow + 1;  // what the covered waits cost; how many are longer
  for (int kind = 0; kind < kBudgets; ++kind) {
    const int here =
        4 * count_[static_cast<unsigned>(kind)] + (kind == home);  // a quarter of a wait that the past has not shown
    covered += here << kind;
    beyond -= here;
    costs[kind] = covered + beyond * ((1 << kind) + waking);
  }
  int best = home;
  for (int kind = 0; kind < kBudgets; ++kind)
    if (costs[kind] < costs[best]) best = kind;
  budget_ = fixed_budget_ >= 0 ? fixed_budget_ : budget_of(best);
  as_ever_ = best == home;
}

}  // namespace lapwing::engine
