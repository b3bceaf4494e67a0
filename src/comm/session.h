// A session: a handle through which a part of a program asks for groups of processes (MPI 5.0, section 11.3).
// Made and destroyed by src/mpi/init.cc; everything a user can ask of it is in src/mpi/session_objects.cc.
#pragma once

#include <memory>
#include <utility>

#include "base/object.h"
#include "comm/communicator.h"
#include "comm/error_handler.h"
#include "comm/info.h"
#include "mpi.h"

namespace lapwing::comm {

class Session : public Object {
 public:
  Session() noexcept : Object(ObjectKind::kSession) {}
  ~Session() { drop_error_handler(error_handler_); }

  MPI_Session handle() noexcept { return reinterpret_cast<MPI_Session>(this); }
  MPI_Errhandler error_handler() const noexcept { return error_handler_; }
  // Takes over one reference to `handler`, and gives the one to the handler before to the caller.
  MPI_Errhandler exchange_error_handler(MPI_Errhandler handler) noexcept {
    return std::exchange(error_handler_, handler);
  }
  // Counts the references of both handlers. MPI_ERRHANDLER_NULL changes nothing.
  void set_error_handler(MPI_Errhandler handler) noexcept {
    if (handler == MPI_ERRHANDLER_NULL) return;
    retain_error_handler(handler);
    drop_error_handler(error_handler_);
    error_handler_ = handler;
  }

  int thread_level = MPI_THREAD_SINGLE;
  std::unique_ptr<Extra> buffer;  // MPI_Session_attach_buffer

 private:
  MPI_Errhandler error_handler_ = MPI_ERRORS_ARE_FATAL;
};

}  // namespace lapwing::comm
