// How requests end for their user: what the functions of request.cc share with those that wait for themselves.
#pragma once

#include "base/status.h"
#include "mpi.h"
#include "mpi/handles.h"
#include "request/request.h"

namespace lapwing::mpi {

using request::request_of;

// The status of a completed operation; nothing for MPI_STATUS_IGNORE. MPI_ERROR is left alone.
void fill_status(const request::Result& result, MPI_Status* status) noexcept;
void fill_empty_status(MPI_Status* status) noexcept;

// Has the failure of a call about this request raised on the communicator of the request.
Status noted(const request::Request& request, Status failure);

// Takes the result of a request that is active and done: fills `status`, frees the request (handle becomes
// MPI_REQUEST_NULL) or makes a persistent one inactive. Without the lock. A failure notes its communicator.
Status take_result(MPI_Request& handle, request::Request& request, MPI_Status* status);

// One turn of progress by an application thread that will not wait.
void make_progress() noexcept;

}  // namespace lapwing::mpi
