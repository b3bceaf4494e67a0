// Handles to objects and back; communicators are in resolve.h. And the process object, which most chapters need.
#pragma once

#include "comm/error_handler.h"
#include "comm/info.h"
#include "comm/session.h"
#include "mpi.h"
#include "mpi/resolve.h"
#include "process/process.h"
#include "request/request.h"

namespace lapwing::mpi {

using process::process;
using process::Process;
using process::process_or_null;

// Null when the handle is of no living object of that kind. MPI_INFO_ENV resolves; predefined error handlers have no
// object.
comm::Group* resolve(MPI_Group handle) noexcept;
request::Request* resolve(MPI_Request handle) noexcept;
comm::Info* resolve(MPI_Info handle) noexcept;
comm::ErrorHandler* resolve(MPI_Errhandler handle) noexcept;
comm::Session* resolve(MPI_Session handle) noexcept;

// MPI_ERR_ERRHANDLER when a user's handler was made for another kind of object than `target` (error.cc).
Status check_handler_for(MPI_Errhandler handler, comm::ErrorHandler::Target target);

// True for the predefined error handlers that may be attached, and for living objects.
bool is_error_handler(MPI_Errhandler handle) noexcept;

// The handle of a group, with one reference for the user: MPI_GROUP_EMPTY when it has no members.
MPI_Group give_handle(comm::Group* group) noexcept;
inline MPI_Info handle_of(comm::Info* info) noexcept {
  return reinterpret_cast<MPI_Info>(info);
}

}  // namespace lapwing::mpi
