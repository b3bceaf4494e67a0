// The world model (MPI_Init .. MPI_Finalize) and the sessions model: which of them needs the process object, and so when the process
// joins the job and leaves it.
//
// The process joins at the first initialization of either model. MPI_Finalize waits for all ranks, and, where no session is open, for all sends. Sessions may come and go before,
// during and without the world model; a process that only used sessions leaves the job when it exits. Transitions exclude each other, but for the meeting of
// all ranks in MPI_Finalize, in which others may open sessions and end them.
//
// A child that was forked meanwhile (and has executed no other program) has a copy of everything but the threads. It is no rank and
// must not be taken for one: it closes the connections, so that peers notice when its parent ends, and forgets the process object. No
// destructor of the library and no handler at its exit then finds anything to do. (vfork and posix_spawn run no handlers; what
// they execute gets no connection, because all close on execution.)
#pragma once

#include "base/status.h"
#include "runtime/job.h"

namespace lapwing::process {

// The world model, for MPI_Initialized and MPI_Finalized.
enum class WorldState { kNotInitialized, kInitialized, kFinalized };
WorldState world_state() noexcept;
// Whether this process is a forked child. To MPI it looks as after MPI_Finalize.
bool is_forked_child() noexcept;

// The job that an error ends: this process's, or the one that a start which failed has joined. Null: none.
runtime::Job* job_to_end() noexcept;

// MPI_Init_thread, with a valid level of thread support, which is given as it was asked for. Collective.
Status enter_world(int thread_level);
// Whether MPI_Finalize may be called.
Status check_in_world();
// MPI_Finalize, but for the attributes that it deletes first. Collective.
Status leave_world();
// The thread that has called enter_world().
bool is_main_thread() noexcept;

// MPI_Session_init and MPI_Session_finalize. What belongs to the session is freed between the last two. Only the last one there is waits for what was
// sent: while there are others, or the world model, it goes on, and may depend on what the program does after the end of this session.
Status enter_session();
Status settle_session();
Status leave_session();

}  // namespace lapwing::process
