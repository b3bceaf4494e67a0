// What a batch system has given to the job that mpiexec was started in: Slurm, PBS, LSF or Grid Engine, by the variables
// they set.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "machine.h"
#include "mpiexec/command_line.h"

namespace lapwing::launch {

struct Allocation {
  const char* system = nullptr;  // null: not in a batch job
  const char* remedy = "";       // how to use all nodes
  int nodes = 1;
  int ranks = 0;              // that were asked for; 0: not told
  std::string unreadable;     // why the file is not known that tells the number of ranks
  std::string other_machine;  // the only node, when it is not this machine
};

using Lookup = std::function<const char*(const char* name)>;  // std::getenv, or a test's

Allocation read_allocation(const Lookup& variable);

using MachineReader = std::function<Machine()>;  // with its caches, or a test's; called only when units are to be counted

// Gives a number of ranks to the programs for which the user gave none. Fails inside an allocation that would be left
// unused for the most part, unless the user has named this machine, and where ranks per unit (ppr) do not tell how many there are.
Status place(CommandLine& command_line, const Allocation& allocation, const MachineReader& read);

}  // namespace lapwing::launch
