// `--bind-to queue`: each rank on the processors that serve its receive queue of raw Ethernet (paper 3).
//
// The launcher plans; the rank then takes a queue that its processors serve (net/ether/queue_choice.h), so neither need tell the other which. Ranks
// beyond the queues share the other cores as they otherwise would. A rank that a command has led to another host, whose queues the launcher does not
// see, finds its own and binds itself (LAPWING_ETHER_BIND).
#pragma once

#include <string>
#include <vector>

#include "machine.h"

namespace lapwing::launch {

struct QueueSets {
  std::vector<ProcessorSet> served;  // by receive queue; empty: it is not known what serves it
  std::string interface;
  std::string why;                // why there are none
};

// What this host's interface has that raw Ethernet would use by these settings, given as an environment.
QueueSets read_queue_sets(char** environment);

// One set per rank; empty: not to be had so. `places` says for each rank in words which queues are served there.
std::vector<ProcessorSet> plan_queue_binding(const Machine& machine, const QueueSets& queues, int ranks, std::vector<std::string>& places);

}  // namespace lapwing::launch
