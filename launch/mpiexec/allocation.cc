#include "mpiexec/allocation.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "mpiexec/hosts.h"

namespace lapwing::launch {
namespace {

constexpr const char* kUseHydra =
    "start the program with MPICH's mpiexec (Hydra), which starts Lapwing programs on all of them";

// Beginning of the text as a number: Slurm writes "4(x2)". 0 when there is none.
int number(const char* text) {
  return text != nullptr ? static_cast<int>(std::clamp(std::strtol(text, nullptr, 10), 0l, 1000000l)) : 0;
}

int first_number(const Lookup& variable, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const int found = number(variable(name)); found > 0) return found;
  }
  return 0;
}

// A job step of its own knows better than the allocation around it. Numbers near 2^32 are batch scripts and shells.
bool is_in_slurm_step(const Lookup& variable) {
  const char* step = variable("SLURM_STEP_ID");
  return step != nullptr && std::strtoll(step, nullptr, 10) < 0xfffffff0ll;
}

Allocation read_slurm(const Lookup& variable) {
  Allocation result;
  result.system = "Slurm";
  result.remedy = "start the program with srun --mpi=pmi2, or with MPICH's mpiexec (Hydra)";
  const bool step = is_in_slurm_step(variable);
  result.nodes = std::max(first_number(variable, {step ? "SLURM_STEP_NUM_NODES" : "SLURM_JOB_NUM_NODES",
                                                  step ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES"}),
                          1);
  result.ranks = step ? first_number(variable, {"SLURM_STEP_NUM_TASKS"})
                      : first_number(variable, {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE"});
  // salloc may leave its shell on the login node, where nothing of the allocation is.
  const char* node = variable("SLURM_JOB_NODELIST");
  const bool on_a_node = variable("SLURMD_NODENAME") != nullptr;
  if (result.nodes == 1 && !on_a_node && node != nullptr && !is_this_machine(node)) result.other_machine = node;
  return result;
}

// Lines whose first word is a host and whose second, in Grid Engine's file, a number of ranks.
void read_node_file(const char* path, Allocation& result) {
  std::ifstream file(path);
  if (!file) result.unreadable = std::string(path) + ": " + std::strerror(errno);
  std::set<std::string> hosts;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    std::string host;
    int count = 1;
    if (!(words >> host)) continue;
    if (!(words >> count)) count = 1;
    hosts.insert(host);
    result.ranks += count;
  }
  result.nodes = std::max(static_cast<int>(hosts.size()), 1);
}

Allocation read_with_file(const char* system, const char* path, int ranks) {
  Allocation result;
  result.system = system;
  result.remedy = kUseHydra;
  read_node_file(path, result);
  if (ranks > 0) result.ranks = ranks;
  return result;
}

// "hostA 4 hostB 4"
Allocation read_lsf(const Lookup& variable) {
  Allocation result;
  result.system = "LSF";
  result.remedy = kUseHydra;
  std::istringstream words(variable("LSB_MCPU_HOSTS"));
  std::set<std::string> hosts;
  std::string host;
  for (int count = 0; words >> host >> count;) {
    hosts.insert(host);
    result.ranks += count;
  }
  result.nodes = std::max(static_cast<int>(hosts.size()), 1);
  return result;
}

// One machine is used, so that an allocation of several, or of another one, would be left unused.
Status refuse_other_machines(const Allocation& allocation) {
  constexpr const char* kHere = "or, to use this machine alone, say -host localhost";
  if (allocation.nodes > 1) {
    return Status::error(MPI_ERR_ARG,
                         "this %s allocation has %d nodes, but this mpiexec starts ranks on one machine; %s, %s",
                         allocation.system, allocation.nodes, allocation.remedy, kHere);
  }
  if (!allocation.other_machine.empty()) {
    return Status::error(
        MPI_ERR_ARG,
        "the node of this %s allocation, %s, is not this machine (%s), where mpiexec would start the "
        "ranks; %s, %s",
        allocation.system, allocation.other_machine.c_str(), name_of_this_machine().c_str(), allocation.remedy,
        kHere);
  }
  return {};
}

bool has_program_without_ranks(const CommandLine& command_line) {
  return std::any_of(command_line.programs.begin(), command_line.programs.end(),
                     [](const Program& program) { return program.ranks == 0; });
}

// Every unit of this machine is filled.
Status ranks_by_units(const CommandLine& command_line, const MachineReader& read, int& ranks) {
  const int units = count_units(read(), command_line.binding.map);
  if (units == 0) {
    return Status::error(MPI_ERR_ARG,
                         "a number of ranks is given per unit (ppr, -npersocket), but this system does not tell how many units there are; give -n");
  }
  ranks = static_cast<int>(std::min(static_cast<long long>(command_line.binding.per_unit) * units, kMaxRanks + 1ll));
  return {};
}

// What the options and the batch system say, the nearest first.
Status default_ranks(const CommandLine& command_line, const Allocation& allocation, const MachineReader& read, int& ranks) {
  const bool per_unit = command_line.binding.per_unit > 0;
  if (per_unit && command_line.programs.size() > 1) {
    return Status::error(MPI_ERR_ARG,
                         "a number of ranks per unit (ppr, -npersocket) does not tell how many are of each program; give every program its -n");
  }
  ranks = command_line.ranks_per_host;
  if (ranks == 0) ranks = command_line.slots;
  if (ranks == 0 && per_unit) return ranks_by_units(command_line, read, ranks);
  if (ranks == 0) ranks = allocation.ranks;
  if (ranks == 0 && !allocation.unreadable.empty()) {
    return Status::error(MPI_ERR_ARG, "cannot read the file in which %s says how many ranks there are to be, %s; give -n", allocation.system,
                         allocation.unreadable.c_str());
  }
  // Several programs share what there is in a way that only the user knows.
  if (command_line.programs.size() > 1 || ranks == 0) ranks = 1;
  return {};
}

}  // namespace

Allocation read_allocation(const Lookup& variable) {
  if (variable("SLURM_JOB_ID") != nullptr) return read_slurm(variable);
  if (const char* file = variable("PBS_NODEFILE")) {
    return read_with_file("PBS", file, first_number(variable, {"PBS_NP"}));
  }
  if (variable("LSB_MCPU_HOSTS") != nullptr) return read_lsf(variable);
  if (const char* file = variable("PE_HOSTFILE")) {
    return read_with_file("Grid Engine", file, first_number(variable, {"NSLOTS"}));
  }
  return {};
}

Status place(CommandLine& command_line, const Allocation& allocation, const MachineReader& read) {
  if (allocation.system != nullptr && command_line.slots == 0) LAPWING_TRY(refuse_other_machines(allocation));
  if (has_program_without_ranks(command_line)) {
    int ranks = 0;
    LAPWING_TRY(default_ranks(command_line, allocation, read, ranks));
    for (Program& program : command_line.programs) {
      if (program.ranks == 0) program.ranks = ranks;
    }
  }
  if (command_line.ranks() > kMaxRanks) {
    return Status::error(MPI_ERR_ARG, "%d ranks are too many: at most %d", command_line.ranks(), kMaxRanks);
  }
  if (command_line.ranks_per_host > 0 && command_line.ranks() > command_line.ranks_per_host) {
    command_line.notes.push_back("all " + std::to_string(command_line.ranks()) + " ranks are on this machine, not " +
                                 std::to_string(command_line.ranks_per_host) + " on each of several; " +
                                 kSeveralMachines);
  }
  return {};
}

}  // namespace lapwing::launch
