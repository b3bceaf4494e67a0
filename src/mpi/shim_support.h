// What the generated shims use: the checks of arguments, and the ways to raise an error.
//
// Every check costs a few instructions when all is well; texts are written out of line. A check returns a Status whose
// text names the parameter and its value; the function's name is put before it where the error is raised.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <new>
#include <utility>

#include "base/count_array.h"
#include "base/object.h"
#include "base/outer_call.h"
#include "base/status.h"
#include "comm/communicator.h"
#include "datatype/datatype.h"
#include "datatype/op.h"
#include "datatype/pack.h"
#include "mpi.h"
#include "mpi/resolve.h"
#include "request/request.h"

namespace lapwing::mpi {

// ---- Raising. Each invokes the error handler of its object and returns the error code for the caller, if that handler
// returns. An object that is null or no longer alive counts as none; without one, the handler of MPI_COMM_SELF speaks
// (before initialization and after finalization the initial one; MPI 5.0, section 9.3).

// These are in error.cc.
int raise_on_comm(MPI_Comm comm, Status status, const char* function);
int raise_on_session(MPI_Session session, Status status, const char* function);
// On the session that the first of them is from which is from one.
int raise_on_group(std::initializer_list<MPI_Group> groups, Status status, const char* function);
int raise_without_object(Status status, const char* function);
// For functions that are given the handler of what they make. A handler that is none, or one of another kind of object,
// hears nothing.
int raise_on_comm_to_be(MPI_Errhandler handler, Status status, const char* function);
int raise_on_session_to_be(MPI_Errhandler handler, Status status, const char* function);

// What the call on this thread is about to return has been raised already, while there was a handler for it: of MPI_Finalize.
void note_raised() noexcept;

int raise_on_file(MPI_File file, Status status, const char* function);
int raise_on_win(MPI_Win win, Status status, const char* function);

// Functions on requests and messages are given no communicator. The implementation notes it, on the same thread, before
// it returns the failed Status; a failure without such a note goes to raise_without_object.
int raise_for_request(Status status, const char* function);
// The same for a call about a message from a matched probe: on the communicator that it came on.
int raise_for_message(MPI_Message message, Status status, const char* function);
void note_failed_communicator(comm::Communicator& communicator) noexcept;
// The one that is noted, which then is so no more; null if there is none. With a reference for the caller.
comm::Communicator* take_failed_communicator() noexcept;
// Whether a failure that is raised on it ends the job; null stands for failures without a communicator. In error.cc.
bool failure_ends_job(comm::Communicator* communicator);

Status lacking_function(const char* part);
int lacking_tool_function() noexcept;
// The code of a tools' function: those have classes of their own, and no error handler.
int tool_code(const Status& status) noexcept;

Status out_of_memory();

// Runs a shim's body; memory that cannot be had becomes an MPI error. Whatever else a user's callback throws passes.
template <typename Body>
inline Status guarded(Body&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
}

// ---- Texts of failed checks, out of line.

Status null_pointer(const char* parameter);
Status null_array(const char* parameter, MPI_Count length);
Status bad_handle(const char* parameter, const void* handle, ObjectKind wanted);
Status negative_count(const char* parameter, MPI_Count value);
Status negative_length(const char* parameter, int value);
Status bad_rank(const char* parameter, int rank, comm::Communicator& communicator, bool wildcard);
Status bad_root(const char* parameter, int root, comm::Communicator& communicator);
Status bad_tag(const char* parameter, int tag, bool receive);
// Of a handle that is no datatype, or of one that is not committed, or that this build lacks.
Status unusable_type(const char* parameter, MPI_Datatype datatype);
// The same, or of too many elements of it.
Status uncountable(const char* parameter, MPI_Datatype datatype, MPI_Count count);
Status misplaced_in_place(const char* parameter);
Status check_low_memory(const char* parameter, const void* buffer, MPI_Count count, MPI_Datatype type, int partner);

// ---- Handles.

// Whether a handle that is no predefined one points at a living object of that kind. Reads the memory it points at: a
// handle that never was one may still crash, as a stray pointer does anywhere in C.
inline bool is_alive(const void* handle, ObjectKind kind) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(handle);
  return is_address(handle) && address % alignof(Object) == 0 && static_cast<const Object*>(handle)->kind() == kind;
}

inline bool is_valid(MPI_Comm comm) noexcept {
  return is_alive(comm, ObjectKind::kCommunicator) || (is_predefined(comm) && resolve(comm) != nullptr);
}
inline bool is_valid(MPI_Datatype datatype) noexcept {
  return is_alive(datatype, ObjectKind::kDatatype) ||
         (is_predefined(datatype) && datatype::resolve(datatype) != nullptr);
}
inline bool is_valid(MPI_Op op) noexcept {
  return is_alive(op, ObjectKind::kOp) || (is_predefined(op) && datatype::resolve_op(op) != nullptr);
}
inline bool is_valid(MPI_Group group) noexcept {
  return is_alive(group, ObjectKind::kGroup) || group == MPI_GROUP_EMPTY;
}
inline bool is_valid(MPI_Info info) noexcept {
  return is_alive(info, ObjectKind::kInfo) || info == MPI_INFO_ENV;
}
inline bool is_valid(MPI_Errhandler handler) noexcept {
  return is_alive(handler, ObjectKind::kErrorHandler) || handler == MPI_ERRORS_RETURN ||
         handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT;
}
inline bool is_valid(MPI_Session session) noexcept {
  return is_alive(session, ObjectKind::kSession);
}
inline bool is_valid(MPI_Message message) noexcept {
  return is_alive(message, ObjectKind::kMessage) || message == MPI_MESSAGE_NO_PROC;
}
// A request has more than one base, so its Object is not where its handle points.
inline bool is_valid(MPI_Request request) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(request);
  return is_address(request) && address % alignof(request::Request) == 0 &&
         reinterpret_cast<const request::Request*>(request)->Object::kind() == ObjectKind::kRequest;
}

inline constexpr ObjectKind kind_of(MPI_Comm) noexcept {
  return ObjectKind::kCommunicator;
}
inline constexpr ObjectKind kind_of(MPI_Datatype) noexcept {
  return ObjectKind::kDatatype;
}
inline constexpr ObjectKind kind_of(MPI_Op) noexcept {
  return ObjectKind::kOp;
}
inline constexpr ObjectKind kind_of(MPI_Group) noexcept {
  return ObjectKind::kGroup;
}
inline constexpr ObjectKind kind_of(MPI_Info) noexcept {
  return ObjectKind::kInfo;
}
inline constexpr ObjectKind kind_of(MPI_Errhandler) noexcept {
  return ObjectKind::kErrorHandler;
}
inline constexpr ObjectKind kind_of(MPI_Session) noexcept {
  return ObjectKind::kSession;
}
inline constexpr ObjectKind kind_of(MPI_Message) noexcept {
  return ObjectKind::kMessage;
}
inline constexpr ObjectKind kind_of(MPI_Request) noexcept {
  return ObjectKind::kRequest;
}

// The value of MPI_X_NULL.
template <typename Handle>
inline Handle null_handle() noexcept;
template <>
inline MPI_Datatype null_handle() noexcept {
  return MPI_DATATYPE_NULL;
}
template <>
inline MPI_Info null_handle() noexcept {
  return MPI_INFO_NULL;
}
template <>
inline MPI_Errhandler null_handle() noexcept {
  return MPI_ERRHANDLER_NULL;
}
template <>
inline MPI_Group null_handle() noexcept {
  return MPI_GROUP_NULL;
}
template <>
inline MPI_Request null_handle() noexcept {
  return MPI_REQUEST_NULL;
}

template <typename Handle>
inline Status check_handle(const char* parameter, Handle handle) {
  if (is_valid(handle)) [[likely]]
    return {};
  return bad_handle(parameter, handle, kind_of(handle));
}

template <typename Handle>
inline Status check_handle_or_null(const char* parameter, Handle handle) {
  return handle == null_handle<Handle>() ? Status() : check_handle(parameter, handle);
}

template <typename Handle>
inline Status check_handle_at(const char* parameter, const Handle* handle) {
  return handle == nullptr ? null_pointer(parameter) : check_handle(parameter, *handle);
}

template <typename Handle>
inline Status check_handle_at_or_null(const char* parameter, const Handle* handle) {
  return handle == nullptr ? null_pointer(parameter) : check_handle_or_null(parameter, *handle);
}

// Sets `communicator` as well.
[[gnu::always_inline]] inline Status check_comm(const char* parameter, MPI_Comm comm,
                                                comm::Communicator*& communicator) {
  communicator = resolve(comm);
  if (communicator != nullptr) [[likely]]
    return {};
  return bad_handle(parameter, comm, ObjectKind::kCommunicator);
}

[[gnu::always_inline]] inline Status check_committed(const char* parameter, MPI_Datatype handle) {
  const datatype::Datatype* type = datatype::resolve(handle);
  if (type != nullptr && type->usable()) [[likely]]
    return {};
  return unusable_type(parameter, handle);
}

// Of what is sent, reduced or packed. The rooms below multiply without a further look.
[[gnu::always_inline]] inline Status check_committed(const char* parameter, MPI_Datatype handle, MPI_Count count) {
  const datatype::Datatype* type = datatype::resolve(handle);
  if (type != nullptr && type->usable() && datatype::countable(*type, count)) [[likely]]
    return {};
  return uncountable(parameter, handle, count);
}

// Of pieces, each with a count of its own; `counts` has been checked.
inline Status check_committed(const char* parameter, MPI_Datatype handle, CountArray counts, MPI_Count length) {
  MPI_Count most = 0;
  for (MPI_Count i = 0; i < length; ++i) most = std::max(most, counts[static_cast<std::size_t>(i)]);
  return check_committed(parameter, handle, most);
}

// ---- Pointers and arrays.

inline constexpr std::intptr_t kFirstPage = 4096;  // bytes from address 0 on that are never mapped, as what lies below and wraps around

[[gnu::always_inline]] inline Status check_running() {
  if (process::is_running()) [[likely]]
    return {};
  return process::not_running();
}

template <typename T>
inline Status check_output(const char* parameter, const T* pointer) {
  if (pointer != nullptr) [[likely]]
    return {};
  return null_pointer(parameter);
}

template <typename Return, typename... Arguments>
inline Status check_output(const char* parameter, Return (*function)(Arguments...)) {
  return function != nullptr ? Status() : null_pointer(parameter);
}

// For variadic callbacks (error handlers).
template <typename Return, typename... Arguments>
inline Status check_output(const char* parameter, Return (*function)(Arguments..., ...)) {
  return function != nullptr ? Status() : null_pointer(parameter);
}

// A status that is read or set; MPI_STATUS_IGNORE will not do.
inline Status check_status(const char* parameter, const MPI_Status* status) {
  return check_output(parameter, status);
}

inline Status check_buffer(const char* parameter, const void* buffer) {
  if (buffer != MPI_IN_PLACE) [[likely]]
    return {};
  return misplaced_in_place(parameter);
}

// Data at NULL, after everything else about the message has been checked. NULL is MPI_BOTTOM, which is right with types
// of absolute addresses, and with MPI_PROC_NULL nothing is touched: the closer look is for the few buffers in page 0, of
// which MPI_IN_PLACE is one.
[[gnu::always_inline]] inline Status check_memory(const char* parameter, const void* buffer, MPI_Count count,
                                                  MPI_Datatype type, int partner) {
  if (reinterpret_cast<std::intptr_t>(buffer) >= kFirstPage) [[likely]]
    return {};
  return check_low_memory(parameter, buffer, count, type, partner);
}

inline Status check_array(const char* parameter, const void* array, MPI_Count length) {
  if (array != nullptr || length <= 0) [[likely]]
    return {};
  return null_array(parameter, length);
}

inline Status check_counts(const char* parameter, CountArray counts, MPI_Count length) {
  if (!counts && length > 0) return null_array(parameter, length);
  for (MPI_Count i = 0; i < length; ++i) {
    const MPI_Count value = counts[static_cast<std::size_t>(i)];
    if (value < 0) [[unlikely]]
      return negative_count(parameter, value);
  }
  return {};
}

template <typename Handle>
inline Status check_all(const char* parameter, const Handle* handles, MPI_Count length) {
  LAPWING_TRY(check_array(parameter, handles, length));
  for (MPI_Count i = 0; i < length; ++i) LAPWING_TRY(check_handle(parameter, handles[i]));
  return {};
}

template <typename Handle>
inline Status check_all_or_null(const char* parameter, const Handle* handles, MPI_Count length) {
  LAPWING_TRY(check_array(parameter, handles, length));
  for (MPI_Count i = 0; i < length; ++i) LAPWING_TRY(check_handle_or_null(parameter, handles[i]));
  return {};
}

// The types of a message in pieces; `counts` has been checked. The type of an empty piece does not matter.
inline Status check_all_committed(const char* parameter, const MPI_Datatype* handles, CountArray counts,
                                  MPI_Count length) {
  LAPWING_TRY(check_array(parameter, handles, length));
  for (MPI_Count i = 0; i < length; ++i) {
    const MPI_Count count = counts[static_cast<std::size_t>(i)];
    if (count != 0) LAPWING_TRY(check_committed(parameter, handles[i], count));
  }
  return {};
}

// ---- Numbers.

[[gnu::always_inline]] inline Status check_count(const char* parameter, MPI_Count count) {
  if (count >= 0) [[likely]]
    return {};
  return negative_count(parameter, count);
}

inline Status check_length(const char* parameter, int length) {
  if (length >= 0) [[likely]]
    return {};
  return negative_length(parameter, length);
}

inline bool is_rank(int rank, const comm::Communicator& communicator) noexcept {
  return static_cast<unsigned>(rank) < static_cast<unsigned>(communicator.peers().size());
}

[[gnu::always_inline]] inline Status check_dest(const char* parameter, int rank, comm::Communicator& communicator) {
  if (is_rank(rank, communicator) || rank == MPI_PROC_NULL) [[likely]]
    return {};
  return bad_rank(parameter, rank, communicator, false);
}

[[gnu::always_inline]] inline Status check_source(const char* parameter, int rank, comm::Communicator& communicator) {
  if (is_rank(rank, communicator) || rank == MPI_ANY_SOURCE || rank == MPI_PROC_NULL) [[likely]]
    return {};
  return bad_rank(parameter, rank, communicator, true);
}

// A rank that must be one: no wildcard, no MPI_PROC_NULL.
inline Status check_rank(const char* parameter, int rank, comm::Communicator& communicator) {
  if (is_rank(rank, communicator)) [[likely]]
    return {};
  return bad_rank(parameter, rank, communicator, false);
}

inline Status check_root(const char* parameter, int root, comm::Communicator& communicator) {
  if (is_rank(root, communicator)) [[likely]]
    return {};
  if (communicator.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL)) return {};
  return bad_root(parameter, root, communicator);
}

// MPI_TAG_UB is INT_MAX: every tag that is not negative will do.
inline constexpr int kTagUpperBound = INT_MAX;

[[gnu::always_inline]] inline Status check_tag(const char* parameter, int tag) {
  if (tag >= 0) [[likely]]
    return {};
  return bad_tag(parameter, tag, false);
}

[[gnu::always_inline]] inline Status check_receive_tag(const char* parameter, int tag) {
  if (tag >= 0 || tag == MPI_ANY_TAG) [[likely]]
    return {};
  return bad_tag(parameter, tag, true);
}

// ---- The narrow door: a 64-bit result through an int.

inline int narrow(MPI_Count value) noexcept {
  return value > INT_MAX || value < INT_MIN ? MPI_UNDEFINED : static_cast<int>(value);
}

// MPI_Type_get_envelope on a type that only its large-count form can describe.
Status check_no_large_counts(MPI_Count large_counts);

}  // namespace lapwing::mpi
