// What mpiexec tells the user when a rank comes to a bad end: what happened, and where to look.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lapwing::launch {

// The rank that it is about.
struct RankName {
  int rank = 0;
  int ranks = 1;
  pid_t process = 0;
  std::vector<std::string> arguments;
  bool others_go_on = false;  // after its end
};

// Whether a signal does not end this process: it is handled, ignored or blocked.
bool survives_signal(pid_t process, int signal);

std::string signal_name(int signal);         // "SIGSEGV (Segmentation fault)"
std::string describe(const RankName& name);  // "rank 1 of 4 (./heat, pid 1234)"

// Several lines, each with mpiexec's prefix.
std::string killed_report(const RankName& name, int signal, bool dumped_core);
std::string exited_report(const RankName& name, int code, bool inside_mpi);
std::string late_failure_report(const RankName& name, int code);  // after MPI_Finalize: the others go on
std::string aborted_report(const RankName& name, int code, const std::string& text);

}  // namespace lapwing::launch
