// What an engine is started with, and what it counts.
#pragma once

#include <cstdint>

namespace lapwing::engine {

struct EngineOptions {
  bool event_thread = true;       // LAPWING_PROGRESS=thread; false: progress only inside MPI calls
  int ranks_per_core = 1;         // of this machine; 2 or more where there are more ranks than cores that they may use
  int cores = 2;                  // that this process may use: with one, a wake-up cannot be measured by spinning
  std::int64_t spin_budget = -1;  // nanoseconds; -1: from the wait policy

  bool oversubscribed() const noexcept { return ranks_per_core > 1; }
};

// What the engine did, for LAPWING_STATS=1 and the demo's report. Written under the lock.
struct EngineCounters {
  std::uint64_t waits_spun = 0;         // waits that ended while polling
  std::uint64_t waits_slept = 0;        // waits that went to sleep in the event port until they were notified
  std::uint64_t waits_predicted = 0;    // waits that slept first, until shortly before their expected end
  std::uint64_t predictions_right = 0;  // ... and had not ended by then
  std::uint64_t event_thread_wakeups = 0;
  std::uint64_t arms = 0;                // system calls to arm or disarm the event thread
  std::uint64_t application_turns = 0;   // drives by application threads that moved something
  std::uint64_t event_thread_turns = 0;  // drives by the event thread that moved something
};

}  // namespace lapwing::engine
