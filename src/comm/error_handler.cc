#include "comm/error_handler.h"

namespace lapwing::comm {

ErrorHandler* ErrorHandler::make(MPI_Comm_errhandler_function* function) {
  auto* handler = new ErrorHandler(Target::kCommunicator);
  handler->communicator_ = function;
  return handler;
}

ErrorHandler* ErrorHandler::make(MPI_Session_errhandler_function* function) {
  auto* handler = new ErrorHandler(Target::kSession);
  handler->session_ = function;
  return handler;
}

ErrorHandler* ErrorHandler::make(MPI_Win_errhandler_function* function) {
  auto* handler = new ErrorHandler(Target::kWindow);
  handler->window_ = function;
  return handler;
}

ErrorHandler* ErrorHandler::make(MPI_File_errhandler_function* function) {
  auto* handler = new ErrorHandler(Target::kFile);
  handler->file_ = function;
  return handler;
}

void retain_error_handler(MPI_Errhandler handle) noexcept {
  if (!is_predefined(handle)) reinterpret_cast<ErrorHandler*>(handle)->retain();
}

void drop_error_handler(MPI_Errhandler handle) noexcept {
  if (is_predefined(handle)) return;
  auto* handler = reinterpret_cast<ErrorHandler*>(handle);
  if (handler->release()) delete handler;
}

}  // namespace lapwing::comm
