// How requests end for their user: what the functions of request.cc share with those that wait for themselves.
#pragma once

#include "base/status.h"
#include "mpi.h"
#include "mpi/process.h"
#include "p2p/request.h"

namespace lapwing::mpi {

inline MPI_Request handle_of(p2p::Request& request) noexcept {
  return reinterpret_cast<MPI_Request>(&request);
}

// The same object as resolve(), for handles that the shims have checked. Null for MPI_REQUEST_NULL.
inline p2p::Request* request_of(MPI_Request handle) noexcept {
  return handle == MPI_REQUEST_NULL ? nullptr : reinterpret_cast<p2p::Request*>(handle);
}

// The status of a completed operation; nothing for MPI_STATUS_IGNORE. MPI_ERROR is left alone.
void fill_status(const p2p::Result& result, MPI_Status* status) noexcept;
void fill_empty_status(MPI_Status* status) noexcept;

// Takes the result of a request that is active and done: fills `status`, frees the request (handle becomes
// MPI_REQUEST_NULL) or makes a persistent one inactive. Without the lock. A failure notes its communicator.
Status take_result(MPI_Request& handle, p2p::Request& request, MPI_Status* status);

// Gives up the user's reference to a request that is done. Takes the lock.
void destroy_request(p2p::Request& request) noexcept;

// One turn of progress by an application thread that will not wait.
void make_progress() noexcept;

}  // namespace lapwing::mpi
