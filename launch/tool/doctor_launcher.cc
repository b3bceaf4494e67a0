// What a program that is started here and now would find out about its launcher.
#include <cstdlib>

#include "runtime/launcher_search.h"
#include "tool/doctor.h"

extern char** environ;

namespace lapwing::launch {

Finding check_launcher() {
  const runtime::FoundLauncher launcher = runtime::find_launcher(environ);
  const char* singleton = std::getenv("LAPWING_SINGLETON");
  if (singleton != nullptr && singleton[0] == '1')
    return {Verdict::kOk, "launcher", "not asked: LAPWING_SINGLETON=1 makes every process a job of its own", ""};
  switch (launcher.kind) {
    case runtime::FoundLauncher::Kind::kNone:
      return {Verdict::kOk, "launcher",
              "none: a program that is started like this is a job of one process; mpiexec, Hydra and srun --mpi=pmi2 "
              "start more",
              ""};
    case runtime::FoundLauncher::Kind::kDescriptor:
      return {Verdict::kOk, "launcher", "PMI-1 over an inherited connection (PMI_FD)", ""};
    case runtime::FoundLauncher::Kind::kPort:
      return {Verdict::kOk, "launcher", "PMI-1 over TCP (PMI_PORT)", ""};
    case runtime::FoundLauncher::Kind::kOfAnother:
      return {Verdict::kWarning, "launcher", launcher.text, ""};
    case runtime::FoundLauncher::Kind::kForeign:
      return {Verdict::kError, "launcher", launcher.text, "start the program as the text says"};
  }
  return {};
}

}  // namespace lapwing::launch
