// What this machine gives to a job: the processors this process may use, their cores and memory nodes, and the share of
// them that a container's quota leaves. Read from sched_getaffinity, /sys and the cgroup files; nothing is probed, so
// it takes well under a millisecond per few dozen processors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/processor_list.h"

namespace lapwing::launch {

// One core with those of its hardware threads that this process may use.
struct Core {
  int package = 0;
  int node = 0;  // of memory (NUMA)
  int number = 0;
  std::vector<int> processors;
  int cache = 0;  // of the third level: its first processor, once read_caches() was called
};

struct Machine {
  std::vector<Core> cores;          // ordered by node, package, number
  std::optional<double> cpu_quota;  // processors' worth of time per second, when a cgroup limits it
  int processors = 0;               // usable hardware threads
  int processors_online = 0;        // of the whole machine

  // Cores that may compute at the same time: at least 1.
  int usable_cores() const noexcept;
};

Machine read_machine();
// Finds out which cores share a third-level cache; without such caches, those of a package do.
void read_caches(Machine& machine);

// Names the network namespace of this process: a rank elsewhere (in a container, say) is not our neighbour.
std::string network_namespace();

// The content of a small file; empty when it cannot be read.
std::string read_small_file(const std::string& path);

}  // namespace lapwing::launch
