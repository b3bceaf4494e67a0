// MPI 5.0, chapter 11: the world model (MPI_Init .. MPI_Finalize), the sessions model, and MPI_Abort.
// Which model needs the process, and when it joins the job: process/models.h.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/exit_code.h"
#include "base/flush_streams.h"
#include "comm/error_handler.h"
#include "comm/session.h"
#include "mpi/attribute.h"
#include "mpi/buffer.h"
#include "mpi/handle_numbers.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "mpi/shim_support.h"
#include "process/models.h"

namespace lapwing::mpi {
namespace {

bool is_thread_level(int level) {
  return level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED || level == MPI_THREAD_SERIALIZED ||
         level == MPI_THREAD_MULTIPLE;
}

// It is no rank: the job goes on.
[[noreturn]] void end_forked_child(int errorcode) {
  std::fprintf(stderr, "lapwing: a forked child of a rank, pid %d, called MPI_Abort: this process ends with code %d, and the job goes on\n",
               static_cast<int>(getpid()), exit_code_of(errorcode));
  flush_streams();
  _exit(exit_code_of(errorcode));
}

}  // namespace

Status init_thread(int*, char***, int required, int* provided) {
  if (!is_thread_level(required)) return Status::error(MPI_ERR_ARG, "%d is not a level of thread support", required);
  LAPWING_TRY(process::enter_world(required));
  *provided = required;
  return {};
}

Status init(int* argc, char*** argv) {
  int provided;
  return init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

// A callback that refuses is told of while there are error handlers; MPI ends all the same.
Status finalize() {
  LAPWING_TRY(process::check_in_world());
  Status deleted = delete_attributes(*process().self);  // while everything still works (section 11.2.2)
  if (deleted.ok()) deleted = delete_attributes(*process().world);
  if (deleted.ok()) return process::leave_world();
  raise_without_object(deleted.copy(), "MPI_Finalize");
  LAPWING_TRY(process::leave_world());
  note_raised();
  return deleted;
}

Status initialized(int* flag) {
  *flag = process::world_state() != process::WorldState::kNotInitialized;
  return {};
}

Status finalized(int* flag) {
  *flag = process::world_state() == process::WorldState::kFinalized;
  return {};
}

Status query_thread(int* provided) {
  *provided = process().thread_level;
  return {};
}

Status is_thread_main(int* flag) {
  *flag = process::is_main_thread();
  return {};
}

Status abort(MPI_Comm comm, int errorcode) {
  if (process::is_forked_child()) end_forked_child(errorcode);
  LAPWING_TRY(check_running());
  comm::Communicator* communicator = resolve(comm);
  char text[256];
  std::snprintf(
      text, sizeof text, "rank %d called MPI_Abort(%s, %d)", process().job.rank(),
      communicator != nullptr && !communicator->name.empty() ? communicator->name.c_str() : "an unnamed communicator",
      errorcode);
  runtime::LastWords words{errorcode, text, {}, false, {}};
  words.block = std::string("lapwing: ") + text + " on host " + process().job.host_name() + "\n";
  process().job.abort(words);
}

Status session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  LAPWING_TRY(check_handler_for(errhandler, comm::ErrorHandler::Target::kSession));
  LAPWING_TRY(process::enter_session());
  auto* object = new comm::Session;
  object->thread_level = MPI_THREAD_MULTIPLE;
  object->set_error_handler(errhandler);
  *session = object->handle();
  return {};
}

Status session_finalize(MPI_Session* session) {
  auto* object = reinterpret_cast<comm::Session*>(*session);
  LAPWING_TRY(detach_at_end(object->buffer));
  LAPWING_TRY(process::settle_session());
  forget_handle_number(*object);
  delete object;
  *session = MPI_SESSION_NULL;
  return process::leave_session();
}

}  // namespace lapwing::mpi
