// lapwing: the tool beside the library.
#include <cstdio>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"
#include "tool/bench.h"
#include "tool/doctor.h"
#include "tool/info.h"
#include "tool/key.h"
#include "tool/model.h"
#include "tool/why.h"
#include "version.h"

namespace {

constexpr const char* kUsage =
    "usage: lapwing info      version, transports, settings, coverage of the standard\n"
    "       lapwing doctor    checks this machine and says what to do\n"
    "       lapwing key       makes the key file that the ranks of a user's jobs share (lapwing key --help)\n"
    "       lapwing why       says what the ranks of a running job wait for (lapwing why --help)\n"
    "       lapwing model     measures this machine for the choice of collective algorithms, and explains it (lapwing model --help)\n"
    "       lapwing bench     measures this library, alone or beside others (lapwing bench --help)\n"
    "       lapwing accelerator   a service: receive in the kernel for users who may load no programs (lapwing accelerator --help)\n"
    "       lapwing --version\n"
    "Programs are compiled with mpicc or mpicxx and started with mpiexec.\n";

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string command = arguments.empty() ? "--help" : arguments[0];
  const std::vector<std::string> rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (command == "info") return lapwing::launch::run_info(rest);
  if (command == "doctor") return lapwing::launch::run_doctor(rest);
  if (command == "key") return lapwing::launch::run_key(rest);
  if (command == "why") return lapwing::launch::run_why(rest);
  if (command == "model") return lapwing::launch::run_model(rest);
  if (command == "bench") return lapwing::launch::run_bench(rest);
  if (command == "accelerator") return lapwing::launch::run_accelerator(rest);
  if (command == "--version" || command == "version") {
    std::printf("lapwing %s\n", lapwing::launch::kVersion);
    return 0;
  }
  if (command == "--help" || command == "-h" || command == "help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  std::fprintf(stderr, "lapwing: '%s' is not a command\n%s", command.c_str(), kUsage);
  return 2;
}
