// MPI 5.0, chapter 11: the world model (MPI_Init .. MPI_Finalize), the sessions model, and MPI_Abort.
//
// The process joins the job at the first initialization of either model. MPI_Finalize waits for all ranks. Sessions may come
// and go before, during and without the world model; a process that only used sessions leaves the job when it exits.
//
// A child that was forked meanwhile (and has executed no other program) has a copy of everything but the threads. It is no rank and
// must not be taken for one: it closes the connections, so that peers notice when its parent ends, and forgets the process object. No
// destructor of the library and no handler at its exit then finds anything to do. (vfork and posix_spawn run no handlers; what
// they execute gets no connection, because all close on execution.)
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/log.h"
#include "base/own_descriptors.h"
#include "comm/error_handler.h"
#include "comm/session.h"
#include "mpi/attribute.h"
#include "mpi/buffer.h"
#include "mpi/handle_numbers.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "mpi/lifecycle.h"
#include "mpi/process.h"
#include "mpi/shim_support.h"

namespace lapwing::mpi {
namespace {

// Guards the transitions below; read without it where a single look is enough.
std::mutex transitions;
std::atomic<WorldState> world{WorldState::kNotInitialized};
int open_sessions = 0;
bool left_the_job = false;
pthread_t main_thread;
std::atomic<bool> forked_child{false};

// Only what is safe in the child of a program with threads, whose locks other threads may have held.
void on_fork_in_child() noexcept {
  close_own_descriptors();
  if (process_or_null() == nullptr) return;
  abandon_process();
  new (&transitions) std::mutex;
  if (world.load(std::memory_order_relaxed) == WorldState::kInitialized) world.store(WorldState::kFinalized);
  forked_child.store(true);
}

bool is_thread_level(int level) {
  return level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED || level == MPI_THREAD_SERIALIZED ||
         level == MPI_THREAD_MULTIPLE;
}

Status ensure_process() {
  if (process_or_null() != nullptr) return {};
  if (is_forked_child()) return not_running();
  static std::once_flag registered;
  std::call_once(registered, [] { ::pthread_atfork(nullptr, nullptr, on_fork_in_child); });
  if (left_the_job)
    return Status::error(MPI_ERR_OTHER,
                         "this process has left the job with MPI_Finalize and cannot join it again: "
                         "open the session before MPI_Finalize");
  return start_process();
}

// A program that used sessions only, or exits between MPI_Session_finalize and MPI_Init.
void leave_at_exit() {
  const std::lock_guard guard(transitions);
  if (process_or_null() == nullptr || open_sessions > 0 || world.load() == WorldState::kInitialized) return;
  if (Status status = stop_process(); !status.ok()) log_warn("leaving the job: %s", status.text());
}

Status release_process() {
  left_the_job = true;
  return stop_process();
}

}  // namespace

bool is_forked_child() noexcept {
  return forked_child.load(std::memory_order_relaxed);
}

WorldState world_state() noexcept {
  return world.load(std::memory_order_acquire);
}

Status init_thread(int*, char***, int required, int* provided) {
  const std::lock_guard guard(transitions);
  if (is_forked_child()) return not_running();
  if (world.load() != WorldState::kNotInitialized)
    return Status::error(MPI_ERR_OTHER, "MPI_Init was called before; it may be called once in a program");
  if (!is_thread_level(required)) return Status::error(MPI_ERR_ARG, "%d is not a level of thread support", required);
  LAPWING_TRY(ensure_process());
  process().thread_level = required;
  main_thread = pthread_self();
  *provided = required;
  world.store(WorldState::kInitialized, std::memory_order_release);
  return {};
}

Status init(int* argc, char*** argv) {
  int provided;
  return init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

Status finalize() {
  if (is_forked_child()) return not_running();
  if (world.load() != WorldState::kInitialized)
    return Status::error(MPI_ERR_OTHER, "MPI_Finalize without MPI_Init, or twice");
  LAPWING_TRY(delete_attributes(*process().self));  // while everything still works (section 11.2.2)
  LAPWING_TRY(delete_attributes(*process().world));
  const std::lock_guard guard(transitions);
  LAPWING_TRY(settle_process(true));
  world.store(WorldState::kFinalized, std::memory_order_release);
  return open_sessions == 0 ? release_process() : Status();
}

Status initialized(int* flag) {
  *flag = world_state() != WorldState::kNotInitialized;
  return {};
}

Status finalized(int* flag) {
  *flag = world_state() == WorldState::kFinalized;
  return {};
}

Status query_thread(int* provided) {
  *provided = process().thread_level;
  return {};
}

Status is_thread_main(int* flag) {
  *flag = pthread_equal(pthread_self(), main_thread) != 0;
  return {};
}

Status abort(MPI_Comm comm, int errorcode) {
  comm::Communicator* communicator = resolve(comm);
  char text[256];
  std::snprintf(
      text, sizeof text, "rank %d called MPI_Abort(%s, %d)", process().job.rank(),
      communicator != nullptr && !communicator->name.empty() ? communicator->name.c_str() : "an unnamed communicator",
      errorcode);
  std::fprintf(stderr, "lapwing: %s on host %s\n", text, process().job.host_name().c_str());
  process().job.abort(errorcode, text);
}

Status session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  LAPWING_TRY(check_handler_for(errhandler, comm::ErrorHandler::Target::kSession));
  const std::lock_guard guard(transitions);
  LAPWING_TRY(ensure_process());
  static std::once_flag registered;
  std::call_once(registered, [] { std::atexit(leave_at_exit); });
  ++open_sessions;
  auto* object = new comm::Session;
  object->thread_level = MPI_THREAD_MULTIPLE;
  object->set_error_handler(errhandler);
  *session = object->handle();
  return {};
}

Status session_finalize(MPI_Session* session) {
  auto* object = reinterpret_cast<comm::Session*>(*session);
  LAPWING_TRY(detach_at_end(object->buffer));
  const std::lock_guard guard(transitions);
  LAPWING_TRY(settle_process(false));
  forget_handle_number(*object);
  delete object;
  *session = MPI_SESSION_NULL;
  --open_sessions;
  return open_sessions == 0 && world.load() == WorldState::kFinalized ? release_process() : Status();
}

}  // namespace lapwing::mpi
