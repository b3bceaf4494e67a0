// LAPWING_STATS=1: what this rank did, at the end of the job.
#pragma once

#include "mpi/process.h"

namespace lapwing::mpi {

void print_statistics(Process& process);

}  // namespace lapwing::mpi
