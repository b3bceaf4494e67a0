// Error handlers made by the program (MPI 5.0, section 9.3). The predefined ones have no object: the handle says it
// all.
//
// Each communicator or session that uses one holds a reference, so MPI_Errhandler_free ends only the user's own.
#pragma once

#include "base/object.h"
#include "mpi.h"

namespace lapwing::comm {

class ErrorHandler : public Object {
 public:
  enum class Target { kCommunicator, kSession, kWindow, kFile };

  static ErrorHandler* make(MPI_Comm_errhandler_function* function);
  static ErrorHandler* make(MPI_Session_errhandler_function* function);
  static ErrorHandler* make(MPI_Win_errhandler_function* function);
  static ErrorHandler* make(MPI_File_errhandler_function* function);

  Target target() const noexcept { return target_; }
  MPI_Comm_errhandler_function* for_communicator() const noexcept { return communicator_; }
  MPI_Session_errhandler_function* for_session() const noexcept { return session_; }

  MPI_Errhandler handle() noexcept { return reinterpret_cast<MPI_Errhandler>(this); }

 private:
  friend void drop_error_handler(MPI_Errhandler handle) noexcept;
  explicit ErrorHandler(Target target) noexcept : Object(ObjectKind::kErrorHandler), target_(target) {}
  ~ErrorHandler() = default;

  Target target_;
  MPI_Comm_errhandler_function* communicator_ = nullptr;
  MPI_Session_errhandler_function* session_ = nullptr;
  MPI_Win_errhandler_function* window_ = nullptr;
  MPI_File_errhandler_function* file_ = nullptr;
};

// One more, one less holder of what a handle stands for; predefined handles are not counted.
void retain_error_handler(MPI_Errhandler handle) noexcept;
void drop_error_handler(MPI_Errhandler handle) noexcept;

}  // namespace lapwing::comm
