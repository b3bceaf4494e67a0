// Which processors each rank may use.
//
// A rank has a home core, which the mapping chooses, and is bound to the unit around it: the core, its memory node, and
// so on. Read from /sys (machine.h): the levels that are asked for in practice are five, which is less than an interface
// to hwloc takes, and costs a millisecond where hwloc's whole topology takes longer than starting two ranks.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "machine.h"

namespace lapwing::launch {

enum class BindPolicy {
  kShare,   // the default: every rank gets an equal share of neighbouring cores, or every core an equal number of ranks, where that is a whole number
  kThread,  // one hardware thread per rank
  kCore,    // one core, or `width` of them, per rank
  kCache,   // the cores that share a third-level cache
  kNode,    // the cores of one memory node
  kSocket,
  kQueue,   // the processors that serve the receive queue of each rank (queue_binding.h)
  kNone,
};

struct Binding {
  BindPolicy bind = BindPolicy::kShare;
  BindPolicy map = BindPolicy::kShare;  // ranks go round these units; kShare, kCore: neighbours lie side by side
  int per_unit = 0;                     // ranks that fill a unit before the next is taken (ppr); 0: one, and round again
  int width = 1;                        // cores per rank
};

// The words of --bind-to and --map-by, Hydra's and Open MPI's. The error is one line that lists what is known.
Status parse_bind_to(const std::string& text, Binding& binding);
Status parse_map_by(const std::string& text, Binding& binding);

// How many of the units that `map` names this machine has for the job; kShare: one, the machine itself. 0: they are not known. For caches
// read_caches() must have been called.
int count_units(const Machine& machine, BindPolicy map);

// One set per rank; empty when the ranks are not to be bound: by wish, because they do not fit as asked, or because a quota hands out time rather than
// cores. Ranks that outnumber the usable processors take a core each in turn, as many on each: the scheduler may leave three of four on one of two cores,
// because ranks that wait for each other yield it rather than sleep. Where the cores would have unequal numbers it does better.
std::vector<ProcessorSet> plan_binding(const Machine& machine, Binding binding, int ranks);
// Whether a processor is in the sets of several ranks.
bool shares_processors(const std::vector<ProcessorSet>& plan);
// Whether ranks take turns on cores: more ranks than usable cores without a hardware thread each, or several on each core by wish (ppr:N:core).
bool is_oversubscribed(const Machine& machine, const Binding& binding, const std::vector<ProcessorSet>& plan, int ranks);

}  // namespace lapwing::launch
