// mpiexec: starts an MPI job on this machine.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "machine.h"
#include "mpiexec/allocation.h"
#include "mpiexec/command_line.h"
#include "mpiexec/job.h"
#include "version.h"

namespace {

// Later descriptors must not become 0, 1 or 2 because mpiexec was started with those closed.
void occupy_standard_streams() {
  for (int fd = 0; fd >= 0 && fd < 3;) {
    fd = ::open("/dev/null", O_RDWR);
    if (fd > 2) ::close(fd);
  }
}

lapwing::launch::Machine read_machine_with_caches() {
  lapwing::launch::Machine machine = lapwing::launch::read_machine();
  read_caches(machine);
  return machine;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lapwing::launch;
  occupy_standard_streams();
  ::signal(SIGCHLD, SIG_DFL);  // what starts mpiexec may ignore it, and the kernel tells of no rank's end then
  CommandLine command_line;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const lapwing::Status status = parse_command_line(arguments, command_line); !status.ok()) {
    std::fprintf(stderr, "mpiexec: %s\n", status.text());
    return 2;
  }
  if (command_line.show_help) {
    std::fputs(usage_text().c_str(), stdout);
    return 0;
  }
  if (command_line.show_version) {
    std::printf("mpiexec (Lapwing) %s\n", kVersion);
    return 0;
  }
  const Allocation allocation = read_allocation([](const char* name) { return std::getenv(name); });
  if (const lapwing::Status status = place(command_line, allocation, read_machine_with_caches); !status.ok()) {
    std::fprintf(stderr, "mpiexec: %s\n", status.text());
    return 2;
  }
  for (const std::string& note : command_line.notes) std::fprintf(stderr, "mpiexec: %s\n", note.c_str());
  return Job(command_line).run();
}
