#include "mpiexec/foreign_options.h"

#include <algorithm>

namespace lapwing::launch {
namespace {

constexpr const char* kOneMachine = "all ranks are on this machine and are started directly";
constexpr const char* kNoHelpers = "there is no remote helper to configure";

// Of MPICH's Hydra and Open MPI: what is found in scripts and manuals.
constexpr ForeignOption kForeignOptions[] = {
    // Always so here.
    {"oversubscribe allow-run-as-root envall genvall auto-cleanup", 0, Foreign::kFulfilled, ""},
    {"genvlist envlist", 1, Foreign::kFulfilled, ""},
    {"q quiet silent print-all-exitcodes disable-hostname-propagation bynode byslot show-progress", 0,
     Foreign::kFulfilled, ""},
    {"enable-x disable-x forward-signals", 0, Foreign::kFulfilled, ""},
    // Starting on other machines.
    {"launcher bootstrap launcher-exec bootstrap-exec rmk launch-agent plm", 1, Foreign::kIgnored, kOneMachine},
    {"nameserver localhost proxy-id demux topolib", 1, Foreign::kIgnored, kNoHelpers},
    {"pmi-port hybrid-hosts order-nodes", 0, Foreign::kIgnored, kNoHelpers},
    {"prefix", 1, Foreign::kIgnored, "programs find the library by their own path, or by LD_LIBRARY_PATH"},
    {"personality pset", 1, Foreign::kIgnored, kNoHelpers},
    {"debug-daemons leave-session-attached do-not-resolve noprefix", 0, Foreign::kIgnored, kNoHelpers},
    {"iface", 1, Foreign::kIgnored, "to choose the interface, set LAPWING_TCP_INTERFACE"},
    {"envnone genvnone", 0, Foreign::kIgnored, "ranks inherit mpiexec's variables; env -i mpiexec ... starts without"},
    {"usize", 1, Foreign::kIgnored, "MPI_UNIVERSE_SIZE is the number of ranks"},
    {"membind", 1, Foreign::kIgnored, "memory is taken near the processors of a rank; see --bind-to"},
    {"gpus-per-proc memory-alloc-kinds", 1, Foreign::kIgnored, "this version knows no GPUs"},
    {"rank-by", 1, Foreign::kIgnored, "ranks are numbered in the order of --map-by"},
    {"use-hwthread-cpus", 0, Foreign::kIgnored, "cores are counted; --bind-to hwthread uses their threads"},
    {"nooversubscribe", 0, Foreign::kIgnored, "ranks may outnumber cores"},
    {"display-map display-devel-map display-allocation display-topo print-rank-map profile", 0, Foreign::kIgnored,
     "--report-bindings says which rank runs where"},
    {"timestamp-output", 0, Foreign::kIgnored, "pipe the output through ts (package moreutils)"},
    {"report-state-on-timeout get-stack-traces", 0, Foreign::kIgnored, "a time limit says what each rank was doing (--timeout)"},
    {"am tune", 1, Foreign::kIgnored, "settings are variables: lapwing info --settings"},
    {"tmpdir", 1, Foreign::kIgnored, "what ranks share lies in memory that has no name"},
    {"stream-buffering", 1, Foreign::kIgnored, "output is passed on line by line"},
    // Another job would come of it.
    {"app", 1, Foreign::kRefused, "-configfile FILE reads the command lines of several programs"},
    {"gtool", 1, Foreign::kRefused, "mpiexec -n 4 TOOL PROGRAM runs the tool with each rank"},
    {"dvm", 1, Foreign::kRefused, "this mpiexec starts ranks itself"},
    {"skip-launch-node nolocal", 0, Foreign::kRefused, "this mpiexec starts ranks on this machine only"},
    {"rankfile rf rankmap", 1, Foreign::kRefused, "--map-by and --bind-to place ranks"},
    {"cpu-set cpu-list", 1, Foreign::kRefused, "taskset -c LIST mpiexec ... restricts the job to processors"},
    {"output-filename", 1, Foreign::kRefused,
     "-outfile-pattern 'NAME.%r' -errfile-pattern 'NAME.%r.err' writes a file per "
     "rank"},
    {"prepend-pattern", 1, Foreign::kRefused, "-l labels lines with the rank"},
    {"merge-stderr-to-stdout", 0, Foreign::kRefused, "2>&1 behind the command does so"},
    {"stdin s", 1, Foreign::kRefused, "standard input goes to rank 0"},
    {"preload-binary preload-files do-not-launch", 0, Foreign::kRefused,
     "this mpiexec starts ranks on this machine only"},
    {"runtime-options", 1, Foreign::kRefused, "--continuous lets the others go on when a rank fails"},
    {"gdb debug tv xterm", 0, Foreign::kRefused, "mpiexec -n 2 xterm -e gdb --args PROGRAM shows a debugger per rank"},
    {"path", 1, Foreign::kRefused, "PATH=DIRECTORY:$PATH mpiexec ... adds to where programs are found"},
    {"soft arch file", 1, Foreign::kRefused, "-n gives the number of ranks; all are on this machine"},
};

struct Parameter {
  const char* name;
  const char* advice;  // with the value behind it when it ends in '='
};

constexpr Parameter kParameters[] = {
    {"btl", "LAPWING_TRANSPORTS=self,shm,tcp chooses transports"},
    {"btl_tcp_if_include", "LAPWING_TCP_INTERFACE="},
    {"oob_tcp_if_include", "LAPWING_TCP_INTERFACE="},
    {"btl_tcp_if_exclude", "LAPWING_TCP_INTERFACE names the interfaces to use"},
    {"btl_tcp_port_min_v4", "LAPWING_TCP_PORTS=lo-hi chooses ports"},
    {"btl_sm_eager_limit", "LAPWING_EAGER_LIMIT_SHM="},
    {"btl_vader_eager_limit", "LAPWING_EAGER_LIMIT_SHM="},
    {"btl_tcp_eager_limit", "LAPWING_EAGER_LIMIT_TCP="},
    {"btl_vader_single_copy_mechanism", "LAPWING_SINGLE_COPY=on or off"},
    {"btl_sm_single_copy_mechanism", "LAPWING_SINGLE_COPY=on or off"},
    {"hwloc_base_binding_policy", "--bind-to "},
    {"rmaps_base_mapping_policy", "--map-by "},
    {"rmaps_base_oversubscribe", "ranks may outnumber cores, nothing is needed"},
    {"mpi_yield_when_idle", "waiting ranks sleep, nothing is needed"},
    {"pml", "there is one way to match messages, nothing is needed"},
};

}  // namespace

bool is_one_of(std::string_view name, std::string_view names) {
  while (!names.empty()) {
    const std::size_t space = std::min(names.find(' '), names.size());
    if (names.substr(0, space) == name) return true;
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return false;
}

const ForeignOption* find_foreign_option(std::string_view name) {
  for (const ForeignOption& option : kForeignOptions) {
    if (is_one_of(name, option.names)) return &option;
  }
  return nullptr;
}

std::string advice_about_mca(std::string_view name, std::string_view value) {
  for (const Parameter& parameter : kParameters) {
    if (name != parameter.name) continue;
    std::string advice = parameter.advice;
    if (advice.back() == '=' || advice.back() == ' ') advice += value;
    return advice;
  }
  return "Lapwing has no such parameters; lapwing info --settings lists what can be set";
}

}  // namespace lapwing::launch
