// Which processors each rank may use.
#pragma once

#include <sched.h>

#include <vector>

#include "machine.h"

namespace lapwing::launch {

enum class BindPolicy {
  kShare,  // the default: every rank gets an equal share of neighbouring cores, when there is a whole core for each
  kCore,   // one core per rank
  kNode,   // the cores of one memory node per rank
  kNone,
};

// One set per rank; empty when the ranks are not to be bound: by wish, because they outnumber the usable cores (then
// the scheduler does better), or because a quota hands out time rather than cores.
std::vector<cpu_set_t> plan_binding(const Machine& machine, BindPolicy policy, int ranks);

}  // namespace lapwing::launch
