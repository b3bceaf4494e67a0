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

// For MPI_Initialized and MPI_Finalized, and for the shims' checks: the world model's state.
enum class WorldState { kNotInitialized, kInitialized, kFinalized };
WorldState world_state() noexcept;

}  // namespace lapwing::mpi
