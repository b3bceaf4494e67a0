// Raising errors: from a failed Status to what the program asked for (MPI 5.0, section 9.3).
//
// A user's handler runs on the thread whose call failed, without any lock of Lapwing. The code that callers get is the
// error class (or the program's own code, from its callbacks).
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/flush_streams.h"
#include "base/log.h"
#include "base/settings.h"
#include "mpi/communicator_creation.h"
#include "mpi/error_code.h"
#include "mpi/handle_numbers.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "mpi/shim_support.h"
#include "process/blame.h"
#include "process/models.h"

namespace lapwing::mpi {

namespace {

constexpr useconds_t kTimeForTheLauncher = 200'000;  // microseconds

// Guards which handler an object has, so that one thread may set it while another raises.
std::mutex handlers_mutex;

thread_local bool has_been_raised = false;  // note_raised()

// Whether the program has given MPI_COMM_SELF a handler.
std::atomic<bool> self_has_been_set{false};

// The handler of an object, held until the end of a raise.
class HeldHandler {
 public:
  template <typename Owner>
  explicit HeldHandler(const Owner& owner) {
    const std::lock_guard guard(handlers_mutex);
    handle_ = owner.error_handler();
    comm::retain_error_handler(handle_);
  }
  ~HeldHandler() { comm::drop_error_handler(handle_); }
  HeldHandler(const HeldHandler&) = delete;
  HeldHandler& operator=(const HeldHandler&) = delete;
  MPI_Errhandler get() const noexcept { return handle_; }

 private:
  MPI_Errhandler handle_;
};

std::string describe(comm::Communicator& communicator) {
  if (!communicator.name.empty()) return communicator.name;
  std::string text = "an unnamed communicator of " + std::to_string(communicator.size());
  if (communicator.is_inter()) text += " and " + std::to_string(communicator.remote_size());
  return text + " processes";
}

std::string describe_process(const runtime::Job* job) {
  const std::string pid = ", pid " + std::to_string(getpid());
  if (process::is_forked_child()) return "a forked child of a rank" + pid;
  if (job == nullptr || job->host_name().empty()) return "a process outside MPI_Init and MPI_Finalize" + pid;
  return "rank " + std::to_string(job->rank()) + " of " + std::to_string(job->size()) + " on host " + job->host_name() + pid;
}

void write_on_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// MPI_ERRORS_ARE_FATAL and MPI_ERRORS_ABORT: one block for the user, and the end of the job. A launcher that can shows one block for the whole job,
// however many ranks end so; otherwise each rank writes its own on stderr.
[[noreturn]] void end_job(int code, const std::string& text, const std::string& object, MPI_Errhandler handler) {
  std::string sentence;
  (void)sentence_of(code, sentence);
  runtime::Job* const job = process::job_to_end();
  const char* name = handler == MPI_ERRORS_ABORT ? "MPI_ERRORS_ABORT" : "MPI_ERRORS_ARE_FATAL";
  const runtime::Blame blame = process::blame_for(code, text);
  runtime::LastWords words{code > 0 && code < 256 ? code : 1, text + ": " + sentence, {}, true, blame};
  const char* advice = object.empty() ? "`mpiexec -initial-errhandler mpi_errors_return` gives errors like this one to the program" : "MPI_ERRORS_RETURN gives errors to the program";
  const char* what_ends = process::is_forked_child() ? "This process ends" : "The job ends";
  words.block = "lapwing: fatal error at " + describe_process(job) + (object.empty() ? "" : ", on " + object) + "\n  " + text +
                "\n  " + sentence + " (code " + std::to_string(code) + ")\n  " + what_ends + ", because the error handler is " +
                name + "; " + advice + "\n";
  flush_streams();
  // The launcher knows better why that process has ended, says so, and ends this one as well; not every launcher does.
  if (code == MPI_ERR_PROC_ABORTED || blame.rank >= 0) ::usleep(kTimeForTheLauncher);
  if (job != nullptr) {
    if (job->launcher_shows_last_words()) log_info("ends the job by an error: %s", words.reason.c_str());
    job->abort(words);
  }
  write_on_stderr(words.block);
  flush_streams();
  _exit(words.code);
}

void invoke(comm::Communicator& communicator, int code, const std::string& text) {
  const HeldHandler handler(communicator);
  if (handler.get() == MPI_ERRORS_RETURN) return;
  const comm::ErrorHandler* user = resolve(handler.get());
  if (user == nullptr) end_job(code, text, describe(communicator), handler.get());
  MPI_Comm handle = communicator.handle();
  user->for_communicator()(&handle, &code);
}

void invoke(comm::Session& session, int code, const std::string& text) {
  const HeldHandler handler(session);
  if (handler.get() == MPI_ERRORS_RETURN) return;
  const comm::ErrorHandler* user = resolve(handler.get());
  if (user == nullptr) end_job(code, text, "a session", handler.get());
  MPI_Session handle = session.handle();
  user->for_session()(&handle, &code);
}

// Where MPI does not run. What the settings say is not read, or not in force any more.
int raise_outside(int code, const std::string& text) {
  InitialErrhandler handler = InitialErrhandler::kFatal;
  if (const char* name = std::getenv("LAPWING_INITIAL_ERRHANDLER"); name != nullptr) (void)settings::InitialErrhandlerKind::parse(name, handler);
  if (handler == InitialErrhandler::kReturn) return code;
  end_job(code, text, "", handler == InitialErrhandler::kAbort ? MPI_ERRORS_ABORT : MPI_ERRORS_ARE_FATAL);
}

// Whose handler hears of errors without an object: MPI_COMM_SELF's. Before MPI 4.0 it was MPI_COMM_WORLD's, and old
// programs set that one alone: it hears of them as long as the program has given MPI_COMM_SELF none.
comm::Communicator& communicator_for_the_rest(const Process& process) {
  if (self_has_been_set.load(std::memory_order_relaxed)) return *process.self;
  const std::lock_guard guard(handlers_mutex);
  return process.world->error_handler() == MPI_ERRORS_ARE_FATAL ? *process.self : *process.world;
}

// The text for people, kept for MPI_Error_string too.
std::string note(const Status& status, const char* function) {
  std::string text = std::string(function) + ": " + status.text();
  remember_error(status.error_class(), text);
  return text;
}

// A user's handler that is called for an object which is not there, and is told of the null handle.
template <typename Handle>
int raise_by(MPI_Errhandler handler, comm::ErrorHandler::Target target, Handle null, Status status,
             const char* function) {
  const comm::ErrorHandler* user = is_valid(handler) ? resolve(handler) : nullptr;
  const bool predefined = is_valid(handler) && user == nullptr;
  if (!predefined && (user == nullptr || user->target() != target))
    return raise_without_object(std::move(status), function);
  int code = status.error_class();
  const std::string text = note(status, function);
  if (handler == MPI_ERRORS_RETURN) return code;
  if (predefined) end_job(code, text, "what this call was to make", handler);
  if constexpr (std::is_same_v<Handle, MPI_Comm>) {
    user->for_communicator()(&null, &code);
  } else {
    user->for_session()(&null, &code);
  }
  return status.error_class();
}

template <typename Owner>
Status replace_handler(Owner& owner, MPI_Errhandler handler, comm::ErrorHandler::Target target) {
  LAPWING_TRY(check_handler_for(handler, target));
  comm::retain_error_handler(handler);
  MPI_Errhandler old = handler;
  {
    const std::lock_guard guard(handlers_mutex);
    old = owner.exchange_error_handler(handler);
  }
  comm::drop_error_handler(old);
  return {};
}

template <typename Owner>
MPI_Errhandler get_handler(Owner& owner) {
  const std::lock_guard guard(handlers_mutex);
  comm::retain_error_handler(owner.error_handler());
  return owner.error_handler();
}

// To the program, which frees it.
MPI_Errhandler give_handle(MPI_Errhandler handle) {
  if (const comm::ErrorHandler* handler = resolve(handle)) count_handle(*handler);
  return handle;
}

Status check_code(int code) {
  std::string ignored;
  if (sentence_of(code, ignored)) return {};
  return Status::error(MPI_ERR_ARG, "%d is no error code", code);
}

}  // namespace

MPI_Errhandler retained_handler(comm::Communicator& communicator) {
  return get_handler(communicator);
}

int raise_on_comm(MPI_Comm comm, Status status, const char* function) {
  comm::Communicator* communicator = is_valid(comm) ? resolve(comm) : nullptr;
  if (communicator == nullptr) return raise_without_object(std::move(status), function);
  invoke(*communicator, status.error_class(), note(status, function));
  return status.error_class();
}

int raise_on_session(MPI_Session session, Status status, const char* function) {
  comm::Session* object = is_valid(session) ? resolve(session) : nullptr;
  if (object == nullptr) return raise_without_object(std::move(status), function);
  invoke(*object, status.error_class(), note(status, function));
  return status.error_class();
}

// MPI 5.0, section 9.3: a group refers to the session that it was derived from.
int raise_on_group(std::initializer_list<MPI_Group> groups, Status status, const char* function) {
  for (const MPI_Group group : groups) {
    const comm::Group* const object = is_valid(group) ? resolve(group) : nullptr;
    if (object != nullptr && object->session != nullptr) return raise_on_session(object->session->handle(), std::move(status), function);
  }
  return raise_without_object(std::move(status), function);
}

void note_raised() noexcept {
  has_been_raised = true;
}

int raise_without_object(Status status, const char* function) {
  if (std::exchange(has_been_raised, false)) return status.error_class();
  const std::string text = note(status, function);
  const Process* process = process_or_null();
  if (process == nullptr) return raise_outside(status.error_class(), text);
  invoke(communicator_for_the_rest(*process), status.error_class(), text);
  return status.error_class();
}

bool failure_ends_job(comm::Communicator* communicator) {
  const HeldHandler handler(communicator != nullptr ? *communicator : communicator_for_the_rest(process()));
  return handler.get() != MPI_ERRORS_RETURN && resolve(handler.get()) == nullptr;
}

int raise_on_comm_to_be(MPI_Errhandler handler, Status status, const char* function) {
  return raise_by(handler, comm::ErrorHandler::Target::kCommunicator, MPI_COMM_NULL, std::move(status), function);
}

int raise_on_session_to_be(MPI_Errhandler handler, Status status, const char* function) {
  return raise_by(handler, comm::ErrorHandler::Target::kSession, MPI_SESSION_NULL, std::move(status), function);
}

Status check_handler_for(MPI_Errhandler handler, comm::ErrorHandler::Target target) {
  const comm::ErrorHandler* object = resolve(handler);
  if (object == nullptr || object->target() == target) return {};
  return Status::error(MPI_ERR_ERRHANDLER, "the error handler was made for another kind of object");
}

Status comm_create_errhandler(MPI_Comm_errhandler_function* comm_errhandler_fn, MPI_Errhandler* errhandler) {
  *errhandler = give_handle(comm::ErrorHandler::make(comm_errhandler_fn)->handle());
  return {};
}

Status session_create_errhandler(MPI_Session_errhandler_function* session_errhandler_fn, MPI_Errhandler* errhandler) {
  *errhandler = give_handle(comm::ErrorHandler::make(session_errhandler_fn)->handle());
  return {};
}

Status win_create_errhandler(MPI_Win_errhandler_function* win_errhandler_fn, MPI_Errhandler* errhandler) {
  *errhandler = give_handle(comm::ErrorHandler::make(win_errhandler_fn)->handle());
  return {};
}

Status file_create_errhandler(MPI_File_errhandler_function* file_errhandler_fn, MPI_Errhandler* errhandler) {
  *errhandler = give_handle(comm::ErrorHandler::make(file_errhandler_fn)->handle());
  return {};
}

Status errhandler_free(MPI_Errhandler* errhandler) {
  if (const comm::ErrorHandler* handler = resolve(*errhandler)) uncount_handle(*handler);
  comm::drop_error_handler(*errhandler);
  *errhandler = MPI_ERRHANDLER_NULL;
  return {};
}

Status comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  LAPWING_TRY(replace_handler(*resolve(comm), errhandler, comm::ErrorHandler::Target::kCommunicator));
  if (comm == MPI_COMM_SELF) self_has_been_set.store(true, std::memory_order_relaxed);
  return {};
}

Status comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) {
  *errhandler = give_handle(get_handler(*resolve(comm)));
  return {};
}

Status comm_call_errhandler(MPI_Comm comm, int errorcode) {
  LAPWING_TRY(check_code(errorcode));
  invoke(*resolve(comm), errorcode, "MPI_Comm_call_errhandler: called by the program");
  return {};
}

Status session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler) {
  return replace_handler(*resolve(session), errhandler, comm::ErrorHandler::Target::kSession);
}

Status session_get_errhandler(MPI_Session session, MPI_Errhandler* errhandler) {
  *errhandler = give_handle(get_handler(*resolve(session)));
  return {};
}

Status session_call_errhandler(MPI_Session session, int errorcode) {
  LAPWING_TRY(check_code(errorcode));
  invoke(*resolve(session), errorcode, "MPI_Session_call_errhandler: called by the program");
  return {};
}

}  // namespace lapwing::mpi
