#include "mpi/shim_support.h"

#include <string>

#include "base/internal_error.h"
#include "mpi/error_code.h"
#include "p2p/unexpected_message.h"

namespace lapwing::mpi {
namespace {

// How texts speak of a kind of handle.
struct KindNames {
  ObjectKind kind;
  int error_class;
  std::uintptr_t null;
  const char* null_name;
  const char* noun;
};

std::uintptr_t bits(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

const KindNames& names_of(ObjectKind kind) {
  static const KindNames kNames[] = {
      {ObjectKind::kCommunicator, MPI_ERR_COMM, bits(MPI_COMM_NULL), "MPI_COMM_NULL", "a communicator"},
      {ObjectKind::kDatatype, MPI_ERR_TYPE, bits(MPI_DATATYPE_NULL), "MPI_DATATYPE_NULL", "a datatype"},
      {ObjectKind::kGroup, MPI_ERR_GROUP, bits(MPI_GROUP_NULL), "MPI_GROUP_NULL", "a group"},
      {ObjectKind::kOp, MPI_ERR_OP, bits(MPI_OP_NULL), "MPI_OP_NULL", "a reduction operation"},
      {ObjectKind::kRequest, MPI_ERR_REQUEST, bits(MPI_REQUEST_NULL), "MPI_REQUEST_NULL", "a request"},
      {ObjectKind::kInfo, MPI_ERR_INFO, bits(MPI_INFO_NULL), "MPI_INFO_NULL", "an info object"},
      {ObjectKind::kErrorHandler, MPI_ERR_ERRHANDLER, bits(MPI_ERRHANDLER_NULL), "MPI_ERRHANDLER_NULL",
       "an error handler"},
      {ObjectKind::kSession, MPI_ERR_SESSION, bits(MPI_SESSION_NULL), "MPI_SESSION_NULL", "a session"},
      {ObjectKind::kMessage, MPI_ERR_REQUEST, bits(MPI_MESSAGE_NULL), "MPI_MESSAGE_NULL", "a matched message"},
      {ObjectKind::kWindow, MPI_ERR_WIN, bits(MPI_WIN_NULL), "MPI_WIN_NULL", "a window"},
      {ObjectKind::kFile, MPI_ERR_FILE, bits(MPI_FILE_NULL), "MPI_FILE_NULL", "a file"},
  };
  for (const KindNames& names : kNames) {
    if (names.kind == kind) return names;
  }
  internal_error(__FILE__, __LINE__, "a kind of object without names");
}

// "the communicator MPI_COMM_WORLD has 4 ranks (0 to 3)"
std::string describe_ranks(comm::Communicator& communicator) {
  const int size = communicator.remote_size();
  std::string text = communicator.is_inter() ? "the remote group of the communicator" : "the communicator";
  if (!communicator.name.empty()) text += " " + communicator.name;
  if (size == 1) return text + " has 1 rank (0)";
  return text + " has " + std::to_string(size) + " ranks (0 to " + std::to_string(size - 1) + ")";
}

std::string rank_text(int rank) {
  switch (rank) {
    case MPI_ROOT:
      return "MPI_ROOT";
    case MPI_PROC_NULL:
      return "MPI_PROC_NULL";
    case MPI_ANY_SOURCE:
      return "MPI_ANY_SOURCE";
    case MPI_UNDEFINED:
      return "MPI_UNDEFINED";
    default:
      return std::to_string(rank);
  }
}

std::string name_in_brackets(MPI_Datatype handle) {
  const datatype::Datatype* type = datatype::resolve(handle);
  return type != nullptr && !type->name().empty() ? " (" + type->name() + ")" : "";
}

// With a reference: what has failed may have held the last one, of a communicator that the program has freed.
thread_local comm::Communicator* failed_communicator = nullptr;

struct Reference {
  ~Reference() { comm::Communicator::drop(communicator); }
  comm::Communicator* const communicator;
};

Status not_committed(const char* parameter, MPI_Datatype datatype) {
  return Status::error(MPI_ERR_TYPE, "%s%s is not committed: call MPI_Type_commit before communication uses it",
                       parameter, name_in_brackets(datatype).c_str());
}

Status not_supported(const char* parameter, MPI_Datatype datatype) {
  return Status::error(MPI_ERR_TYPE, "%s%s is an optional type of the standard that this platform has no numbers for",
                       parameter, name_in_brackets(datatype).c_str());
}

}  // namespace

// ---- Raising

int raise_on_file(MPI_File, Status status, const char* function) {
  // No file can be open in this version; what speaks for MPI_FILE_NULL is MPI_ERRORS_RETURN (MPI 5.0, section 14.7).
  remember_error(status.error_class(), std::string(function) + ": " + status.text());
  return status.error_class();
}

int raise_on_win(MPI_Win, Status status, const char* function) {
  return raise_without_object(std::move(status), function);  // no window exists in this version
}

void note_failed_communicator(comm::Communicator& communicator) noexcept {
  communicator.retain();
  comm::Communicator::drop(std::exchange(failed_communicator, &communicator));
}

comm::Communicator* take_failed_communicator() noexcept {
  return std::exchange(failed_communicator, nullptr);
}

int raise_for_message(MPI_Message message, Status status, const char* function) {
  const bool known = message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC && is_valid(message);
  comm::Communicator* const of_message = known ? reinterpret_cast<p2p::UnexpectedMessage*>(message)->communicator : nullptr;
  if (failed_communicator == nullptr && of_message != nullptr) note_failed_communicator(*of_message);
  return raise_for_request(std::move(status), function);
}

int raise_for_request(Status status, const char* function) {
  const Reference failed{take_failed_communicator()};
  if (failed.communicator == nullptr) return raise_without_object(std::move(status), function);
  return raise_on_comm(failed.communicator->handle(), std::move(status), function);
}

Status lacking_function(const char* part) {
  return Status::error(MPI_ERR_UNSUPPORTED_OPERATION,
                       "this version of Lapwing (0.1) lacks this function: %s comes later; `lapwing info --coverage` "
                       "lists what there is",
                       part);
}

Status out_of_memory() {
  return Status::error(MPI_ERR_NO_MEM, "the process has no memory left (raise its limit, or use less per rank)");
}

// ---- Texts of failed checks

Status null_pointer(const char* parameter) {
  return Status::error(MPI_ERR_ARG, "%s is a null pointer", parameter);
}

Status null_array(const char* parameter, MPI_Count length) {
  return Status::error(MPI_ERR_ARG, "%s is a null pointer, but has to have %lld entries", parameter,
                       static_cast<long long>(length));
}

Status bad_handle(const char* parameter, const void* handle, ObjectKind wanted) {
  const KindNames& names = names_of(wanted);
  if (bits(handle) == names.null) {
    return Status::error(names.error_class, "%s is %s", parameter, names.null_name);
  }
  if (bits(handle) == 0) {
    return Status::error(names.error_class, "%s is a handle of value 0, which no object ever has: was it set?",
                         parameter);
  }
  return Status::error(names.error_class, "%s (handle 0x%llx) is not %s, or is one that was freed", parameter,
                       static_cast<unsigned long long>(bits(handle)), names.noun);
}

Status negative_count(const char* parameter, MPI_Count value) {
  return Status::error(MPI_ERR_COUNT, "%s is %lld; a count cannot be negative", parameter,
                       static_cast<long long>(value));
}

Status negative_length(const char* parameter, int value) {
  const bool is_count = std::string(parameter).find("count") != std::string::npos;
  return Status::error(is_count ? MPI_ERR_COUNT : MPI_ERR_ARG, "%s is %d; it cannot be negative", parameter, value);
}

Status bad_rank(const char* parameter, int rank, comm::Communicator& communicator, bool wildcard) {
  if (rank == MPI_ANY_SOURCE && !wildcard) {
    return Status::error(MPI_ERR_RANK, "%s is MPI_ANY_SOURCE, which only a receive may name", parameter);
  }
  return Status::error(MPI_ERR_RANK, "%s is %s, but %s", parameter, rank_text(rank).c_str(), describe_ranks(communicator).c_str());
}

Status bad_root(const char* parameter, int root, comm::Communicator& communicator) {
  if (root == MPI_ROOT) {
    return Status::error(MPI_ERR_ROOT, "%s is MPI_ROOT, which is for communicators between two groups", parameter);
  }
  return Status::error(MPI_ERR_ROOT, "%s is %s, but %s", parameter, rank_text(root).c_str(), describe_ranks(communicator).c_str());
}

Status bad_tag(const char* parameter, int tag, bool receive) {
  if (tag == MPI_ANY_TAG) {
    return Status::error(MPI_ERR_TAG, "%s is MPI_ANY_TAG, which only a receive may name", parameter);
  }
  return Status::error(MPI_ERR_TAG, "%s is %d; tags go from 0 to %d%s", parameter, tag, kTagUpperBound,
                       receive ? ", or MPI_ANY_TAG" : "");
}

Status unusable_type(const char* parameter, MPI_Datatype datatype) {
  const datatype::Datatype* type = datatype::resolve(datatype);
  if (type == nullptr) return bad_handle(parameter, datatype, ObjectKind::kDatatype);
  return type->committed() ? not_supported(parameter, datatype) : not_committed(parameter, datatype);
}

Status uncountable(const char* parameter, MPI_Datatype datatype, MPI_Count count) {
  const datatype::Datatype* type = datatype::resolve(datatype);
  if (type == nullptr || !type->usable()) return unusable_type(parameter, datatype);
  return Status::error(MPI_ERR_COUNT, "the count is %lld, and so many elements of %s%s have more bytes than MPI_Count can tell (2^63 - 1)",
                       static_cast<long long>(count), parameter, name_in_brackets(datatype).c_str());
}

Status misplaced_in_place(const char* parameter) {
  return Status::error(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which cannot stand for this buffer here", parameter);
}

Status check_low_memory(const char* parameter, const void* buffer, MPI_Count count, MPI_Datatype handle, int partner) {
  if (buffer == MPI_IN_PLACE) return misplaced_in_place(parameter);
  const datatype::Datatype& type = *datatype::resolve(handle);
  const std::uintptr_t first = bits(buffer) + static_cast<std::uintptr_t>(type.true_lb());
  if (count == 0 || type.size() == 0 || partner == MPI_PROC_NULL || static_cast<std::intptr_t>(first) >= kFirstPage) return {};
  return Status::error(MPI_ERR_BUFFER,
                       "%s is %s, but the count is %lld%s (NULL is MPI_BOTTOM: right only with a datatype of "
                       "absolute addresses)",
                       parameter, first == 0 ? "a null pointer" : "close to a null pointer",
                       static_cast<long long>(count), name_in_brackets(handle).c_str());
}

Status check_no_large_counts(MPI_Count large_counts) {
  if (large_counts == 0) return {};
  return Status::error(MPI_ERR_TYPE,
                       "datatype was made by the large-count form of its constructor: ask with "
                       "MPI_Type_get_envelope_c and MPI_Type_get_contents_c");
}

}  // namespace lapwing::mpi
