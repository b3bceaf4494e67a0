// Start and end of this process's part in the job. Called by models.cc, which knows which model needs the process, and holds a lock over
// these calls.
#pragma once

#include "base/status.h"

namespace lapwing::process {

// Joins the job and opens the network: afterwards process() works. Collective over the job's processes.
Status start_process();
// Flushes everything sent. With `with_all`, also waits for all processes to come here (MPI_Finalize).
Status settle_process(bool with_all);
// Closes and frees everything; process() is null afterwards.
Status stop_process();

// In a child that was forked while MPI ran: leaves the process object where it is, untouched; process() is null afterwards.
void abandon_process() noexcept;

}  // namespace lapwing::process
