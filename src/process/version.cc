#include "process/version.h"

#include "mpi.h"

#ifndef LAPWING_VERSION
#define LAPWING_VERSION "0.1.0"
#endif

namespace lapwing::process {

std::string version() {
  const auto pair = [](int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); };
  return "Lapwing " LAPWING_VERSION " (MPI " + pair(MPI_VERSION, MPI_SUBVERSION) + ", ABI " +
         pair(MPI_ABI_VERSION, MPI_ABI_SUBVERSION) + ")";
}

}  // namespace lapwing::process
