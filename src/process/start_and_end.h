// Start and end of this process's part in the job. Called by models.cc, which knows which model needs the process. Start and stop
// exclude each other and all else.
#pragma once

#include <mutex>

#include "base/status.h"
#include "runtime/job.h"

namespace lapwing::process {

// Joins the job and opens the network: afterwards process() works. Collective over the job's processes.
Status start_process();
// Waits until everything that was sent, for any model, has met its receiver: before the process leaves the job.
void settle_process();
// Waits for all processes to come here (MPI_Finalize). `leaves`: the process leaves the job then, and settles first.
Status meet_at_the_end(bool leaves);
// Closes and frees everything; process() is null afterwards.
Status stop_process();

// Tools look at the process from any thread at any time (MPI 5.0, chapter 15). While a thread holds this, the process does not end.
std::mutex& end_mutex() noexcept;

// The job of a process that could not start, so that what ends then can tell the launcher. Null: none. Until the next start.
runtime::Job* job_of_failed_start() noexcept;
// In a forked child: it is not the child's.
void abandon_failed_start() noexcept;

// In a child that was forked while MPI ran: leaves the process object where it is, untouched; process() is null afterwards.
void abandon_process() noexcept;

}  // namespace lapwing::process
