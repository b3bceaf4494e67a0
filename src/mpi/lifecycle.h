// Start and end of this process's part in the job. Called by initialization and finalization (init.cc), which count who needs
// the process and hold a lock over these calls.
#pragma once

#include "base/status.h"

namespace lapwing::mpi {

// Joins the job and opens the network: afterwards process() works. Collective over the job's processes.
Status start_process();
// Flushes everything sent. With `with_all`, also waits for all processes to come here (MPI_Finalize).
Status settle_process(bool with_all);
// Closes and frees everything; process() is null afterwards.
Status stop_process();

// In a child that was forked while MPI ran: leaves the process object where it is, untouched; process() is null afterwards.
void abandon_process() noexcept;
// Whether this process is such a child. To MPI it looks as after MPI_Finalize.
bool is_forked_child() noexcept;

// For MPI_Initialized and MPI_Finalized, and for the shims' checks: the world model's state.
enum class WorldState { kNotInitialized, kInitialized, kFinalized };
WorldState world_state() noexcept;

}  // namespace lapwing::mpi
