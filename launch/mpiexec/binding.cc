#include "mpiexec/binding.h"

#include <cstddef>

namespace lapwing::launch {
namespace {

void add_core(const Core& core, cpu_set_t& set) {
  for (const int processor : core.processors) CPU_SET(processor, &set);
}

cpu_set_t share_of_cores(const Machine& machine, std::size_t rank, std::size_t ranks) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const std::size_t count = machine.cores.size();
  for (std::size_t i = rank * count / ranks; i < (rank + 1) * count / ranks; ++i) add_core(machine.cores[i], set);
  return set;
}

// Ranks are laid out in order over the nodes, each node taking ranks in proportion to its cores.
cpu_set_t node_of_rank(const Machine& machine, std::size_t rank, std::size_t ranks) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int node = machine.cores[rank * machine.cores.size() / ranks].node;
  for (const Core& core : machine.cores) {
    if (core.node == node) add_core(core, set);
  }
  return set;
}

}  // namespace

std::vector<cpu_set_t> plan_binding(const Machine& machine, BindPolicy policy, int ranks) {
  const bool limited_by_quota = machine.usable_cores() < static_cast<int>(machine.cores.size());
  if (policy == BindPolicy::kNone || machine.cores.empty() || ranks > machine.usable_cores()) return {};
  if (policy == BindPolicy::kShare && (limited_by_quota || ranks == 1)) return {};

  std::vector<cpu_set_t> plan;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const auto count = static_cast<std::size_t>(ranks);
    if (policy == BindPolicy::kShare) {
      plan.push_back(share_of_cores(machine, index, count));
    } else if (policy == BindPolicy::kCore) {
      cpu_set_t set;
      CPU_ZERO(&set);
      add_core(machine.cores[index], set);
      plan.push_back(set);
    } else {
      plan.push_back(node_of_rank(machine, index, count));
    }
  }
  return plan;
}

}  // namespace lapwing::launch
