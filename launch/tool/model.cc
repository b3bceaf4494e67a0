#include "tool/model.h"

#include <cstdio>

#include "base/settings.h"
#include "runtime/host_identity.h"

extern char** environ;

namespace lapwing::launch {
namespace {

namespace model = coll::model;

constexpr const char* kUsage =
    "usage: lapwing model               measures this machine's links and memory in some seconds, and keeps the result,\n"
    "                                   and a plot of the fit beside it (.svg),\n"
    "                                   by which collective operations choose their algorithms. Started by a launcher\n"
    "                                   on two hosts (mpiexec.hydra -n 2 -hosts a,b lapwing model, or srun --mpi=pmi2 -N 2\n"
    "                                   -n 2 lapwing model) it measures what lies between\n"
    "       lapwing model show          the parameters in force, and where they come from\n"
    "       lapwing model explain COLLECTIVE BYTES RANKS [--link shared|local_tcp|hosts] [--messages] [--nonblocking]\n"
    "                                   [--cores N]\n"
    "                                   which algorithm is chosen and why (lapwing model explain allreduce 64k 16).\n"
    "                                   BYTES: of a rank's operand; of one block in gather, scatter, allgather, alltoall.\n"
    "                                   --messages: without a shared area; --cores: that the ranks share, if they are more\n"
    "The parameters are those of LogGP; docs/collectives.md says what they mean. LAPWING_MODEL names another file to keep\n"
    "and to use, or none.\n";

void print_link(const model::Parameters& parameters, model::LinkKind kind) {
  const model::Link& link = parameters.link(kind);
  std::printf("  %-16s %9.2f %9.2f %9.2f %9.3f %9.3f %9.2f\n", model::meaning(kind), link.latency / 1000,
              link.overhead / 1000, link.gap / 1000, link.per_byte, link.overhead_per_byte, link.long_share);
}

int show() {
  const model::Loaded loaded = model_in_force();
  const model::Memory& memory = loaded.parameters.memory;
  std::printf("source: %s\n\n", source_of(loaded).c_str());
  std::printf("  %-16s %9s %9s %9s %9s %9s %9s\n", "messages", "L us", "o us", "g us", "G ns/B", "O ns/B", "k (long)");
  for (int kind = 0; kind < model::kLinkKinds; ++kind) print_link(loaded.parameters, static_cast<model::LinkKind>(kind));
  std::printf("\n  memory           copy C %.3f ns/B, reduction y %.3f ns/B, cache line l %.0f ns,\n"
              "                   wake-up w %.1f us, turn at a core W %.2f us\n",
              memory.copy, memory.reduce, memory.post, memory.wakeup / 1000, memory.turn / 1000);
  return 0;
}

}  // namespace

std::string model_setting() {
  Settings settings;
  const Status status = settings.load(environ);
  if (!status.ok()) std::fprintf(stderr, "lapwing: %s\n", status.text());
  return settings.model;
}

model::Loaded model_in_force() {
  model::Loaded loaded = model::load(model_setting(), runtime::host_name());
  if (!loaded.notice.empty()) std::fprintf(stderr, "lapwing: %s\n", loaded.notice.c_str());
  return loaded;
}

std::string source_of(const model::Loaded& loaded) {
  return loaded.path.empty() ? "the defaults (nothing was measured for this user and host)" : loaded.path;
}

int run_model(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "measure" : arguments[0];
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (command == "measure" && rest.empty()) return measure_model(rest);
  if (command == "show" && rest.empty()) return show();
  if (command == "explain" && rest.size() >= 3) return explain_model(rest);
  const bool asks_help = command == "--help" || command == "-h";
  if (command == "explain")
    std::fputs("lapwing model explain: a collective, a number of bytes and a number of ranks are needed\n", stderr);
  else if (!asks_help)
    std::fprintf(stderr, "lapwing model: '%s' is not understood\n", (rest.empty() ? command : rest[0]).c_str());
  std::fputs(kUsage, asks_help ? stdout : stderr);
  return asks_help ? 0 : 2;
}

}  // namespace lapwing::launch
