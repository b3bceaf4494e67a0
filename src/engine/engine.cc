#include "engine/engine.h"

#include <mutex>

namespace lapwing::engine {

Status Engine::start(const EngineOptions& options) {
  endpoint_.options = options;
  endpoint_.lock.prepare();
  LAPWING_TRY(endpoint_.port.open());
  LAPWING_TRY(Progress::open());
  std::int64_t wakeup_cost = 0;
  if (options.event_thread) {
    LAPWING_TRY(event_thread_.start());
    if (options.spin_budget < 0) wakeup_cost = event_thread_.measure_wakeup_cost();
  }
  const std::lock_guard guard(endpoint_.lock);  // a wake-up that was measured too late looks at the policies already
  WaitPolicy& policy = endpoint_.wait_policy;
  policy.configure(wakeup_cost > 0 ? wakeup_cost : tuning().engine_assumed_wakeup, options.ranks_per_core,
                   options.spin_budget);
  if (!options.oversubscribed()) policy.begins(endpoint_.clock.now());
  endpoint_.arming.configure({.arm_delay = policy.arm_delay()});
  return {};
}

}  // namespace lapwing::engine
