#include "mpi/error_code.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

struct StandardClass {
  int number;
  const char* sentence;
};

constexpr StandardClass kStandardClasses[] = {
    {MPI_SUCCESS, "MPI_SUCCESS: no error"},
    {MPI_ERR_BUFFER, "MPI_ERR_BUFFER: invalid buffer"},
    {MPI_ERR_COUNT, "MPI_ERR_COUNT: invalid count"},
    {MPI_ERR_TYPE, "MPI_ERR_TYPE: invalid datatype"},
    {MPI_ERR_TAG, "MPI_ERR_TAG: invalid tag"},
    {MPI_ERR_COMM, "MPI_ERR_COMM: invalid communicator"},
    {MPI_ERR_RANK, "MPI_ERR_RANK: invalid rank"},
    {MPI_ERR_REQUEST, "MPI_ERR_REQUEST: invalid request"},
    {MPI_ERR_ROOT, "MPI_ERR_ROOT: invalid root"},
    {MPI_ERR_GROUP, "MPI_ERR_GROUP: invalid group"},
    {MPI_ERR_OP, "MPI_ERR_OP: invalid reduction operation"},
    {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY: invalid topology"},
    {MPI_ERR_DIMS, "MPI_ERR_DIMS: invalid dimensions"},
    {MPI_ERR_ARG, "MPI_ERR_ARG: invalid argument"},
    {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN: unknown error"},
    {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE: message longer than the receive buffer"},
    {MPI_ERR_OTHER, "MPI_ERR_OTHER: an error that no other class describes"},
    {MPI_ERR_INTERN, "MPI_ERR_INTERN: an error inside the MPI library"},
    {MPI_ERR_PENDING, "MPI_ERR_PENDING: the request is not complete"},
    {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS: the error codes are in the statuses"},
    {MPI_ERR_ACCESS, "MPI_ERR_ACCESS: permission denied"},
    {MPI_ERR_AMODE, "MPI_ERR_AMODE: invalid file access mode"},
    {MPI_ERR_ASSERT, "MPI_ERR_ASSERT: invalid assertion"},
    {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE: invalid file name"},
    {MPI_ERR_BASE, "MPI_ERR_BASE: invalid base address"},
    {MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION: error in a user's data conversion function"},
    {MPI_ERR_DISP, "MPI_ERR_DISP: invalid displacement"},
    {MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP: the data representation is defined already"},
    {MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS: the file exists"},
    {MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE: the file is open in some process"},
    {MPI_ERR_FILE, "MPI_ERR_FILE: invalid file handle"},
    {MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY: invalid info key"},
    {MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY: no such info key"},
    {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE: invalid info value"},
    {MPI_ERR_INFO, "MPI_ERR_INFO: invalid info object"},
    {MPI_ERR_IO, "MPI_ERR_IO: input or output error"},
    {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL: invalid attribute key"},
    {MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE: invalid lock type"},
    {MPI_ERR_NAME, "MPI_ERR_NAME: no such service name"},
    {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM: out of memory"},
    {MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME: an argument is not the same in all processes"},
    {MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE: not enough space"},
    {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE: no such file"},
    {MPI_ERR_PORT, "MPI_ERR_PORT: invalid port name"},
    {MPI_ERR_QUOTA, "MPI_ERR_QUOTA: quota exceeded"},
    {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY: the file or file system is read-only"},
    {MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH: memory cannot be attached"},
    {MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window"},
    {MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE: target memory is not part of the window"},
    {MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED: memory cannot be shared"},
    {MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC: wrong synchronization of one-sided calls"},
    {MPI_ERR_SERVICE, "MPI_ERR_SERVICE: invalid service name"},
    {MPI_ERR_SIZE, "MPI_ERR_SIZE: invalid size"},
    {MPI_ERR_SPAWN, "MPI_ERR_SPAWN: processes cannot be started"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION: unsupported operation"},
    {MPI_ERR_WIN, "MPI_ERR_WIN: invalid window"},
    {MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR: wrong flavour of window"},
    {MPI_ERR_PROC_ABORTED, "MPI_ERR_PROC_ABORTED: a process has ended"},
    {MPI_ERR_VALUE_TOO_LARGE, "MPI_ERR_VALUE_TOO_LARGE: a value is too large for its type"},
    {MPI_ERR_SESSION, "MPI_ERR_SESSION: invalid session"},
    {MPI_ERR_ERRHANDLER, "MPI_ERR_ERRHANDLER: invalid error handler"},
    {MPI_ERR_ABI, "MPI_ERR_ABI: the program and the library differ in their binary interface"},
    {MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT: the tools interface cannot be initialized now"},
    {MPI_T_ERR_NOT_ACCESSIBLE, "MPI_T_ERR_NOT_ACCESSIBLE: not accessible"},
    {MPI_T_ERR_NOT_INITIALIZED, "MPI_T_ERR_NOT_INITIALIZED: the tools interface is not initialized"},
    {MPI_T_ERR_NOT_SUPPORTED, "MPI_T_ERR_NOT_SUPPORTED: not supported"},
    {MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY: out of memory"},
    {MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID: invalid use of the tools interface, or a wrong argument"},
    {MPI_T_ERR_INVALID_INDEX, "MPI_T_ERR_INVALID_INDEX: invalid index"},
    {MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM: invalid item index"},
    {MPI_T_ERR_INVALID_SESSION, "MPI_T_ERR_INVALID_SESSION: invalid session of the tools interface"},
    {MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE: invalid handle"},
    {MPI_T_ERR_INVALID_NAME, "MPI_T_ERR_INVALID_NAME: invalid name"},
    {MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES: no more handles"},
    {MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS: no more sessions"},
    {MPI_T_ERR_CVAR_SET_NOT_NOW, "MPI_T_ERR_CVAR_SET_NOT_NOW: the variable cannot be set now"},
    {MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER: the variable cannot be set"},
    {MPI_T_ERR_PVAR_NO_WRITE, "MPI_T_ERR_PVAR_NO_WRITE: the variable cannot be written or reset"},
    {MPI_T_ERR_PVAR_NO_STARTSTOP, "MPI_T_ERR_PVAR_NO_STARTSTOP: the variable cannot be started or stopped"},
    {MPI_T_ERR_PVAR_NO_ATOMIC, "MPI_T_ERR_PVAR_NO_ATOMIC: the variable cannot be read and reset at once"},
    {MPI_ERR_LASTCODE, "MPI_ERR_LASTCODE: the last of the standard's error codes"},
};

const StandardClass* find_standard(int number) noexcept {
  const auto* found = std::find_if(std::begin(kStandardClasses), std::end(kStandardClasses),
                                   [number](const StandardClass& entry) { return entry.number == number; });
  return found == std::end(kStandardClasses) ? nullptr : found;
}

// The program's classes and codes. Lives as long as the process: they may be made before MPI_Init.
struct UserCodes {
  struct Code {
    int error_class;  // its own number: the code is a class
    std::string text;
    bool is_class(int number) const noexcept { return error_class == number; }
  };
  std::mutex mutex;
  std::map<int, Code> codes;
  int last_used = MPI_ERR_LASTCODE;
};

UserCodes& user_codes() {
  static UserCodes* codes = new UserCodes;  // never destroyed: errors may be raised while the process ends
  return *codes;
}

struct LastError {
  int code = MPI_SUCCESS;
  std::string text;
};
thread_local LastError last_error;

Status no_such(const char* what, int number) {
  return Status::error(MPI_ERR_ARG, "%d is no %s", number, what);
}

Status check_own(const UserCodes& table, int number, const char* what, bool wants_class) {
  const auto found = table.codes.find(number);
  if (found == table.codes.end() || found->second.is_class(number) != wants_class) {
    return Status::error(MPI_ERR_ARG, "%d is no %s that the program added", number, what);
  }
  return {};
}

Status check_textless(const UserCodes& table, int number) {
  if (table.codes.at(number).text.empty()) return {};
  return Status::error(MPI_ERR_ARG, "error code %d still has its string: call MPI_Remove_error_string first", number);
}

}  // namespace

void remember_error(int code, std::string text) {
  last_error = {code, std::move(text)};
}

bool sentence_of(int code, std::string& sentence) {
  if (const StandardClass* standard = find_standard(code)) {
    sentence = standard->sentence;
    return true;
  }
  UserCodes& table = user_codes();
  const std::lock_guard guard(table.mutex);
  const auto found = table.codes.find(code);
  if (found == table.codes.end()) return false;
  sentence = found->second.text;
  return true;
}

int* last_used_code() noexcept {
  return &user_codes().last_used;
}

Status add_error_class(int* errorclass) {
  UserCodes& table = user_codes();
  const std::lock_guard guard(table.mutex);
  *errorclass = ++table.last_used;
  table.codes[*errorclass] = {*errorclass, {}};
  return {};
}

Status add_error_code(int errorclass, int* errorcode) {
  UserCodes& table = user_codes();
  const std::lock_guard guard(table.mutex);
  if (find_standard(errorclass) == nullptr) LAPWING_TRY(check_own(table, errorclass, "error class", true));
  *errorcode = ++table.last_used;
  table.codes[*errorcode] = {errorclass, {}};
  return {};
}

Status add_error_string(int errorcode, const char* string) {
  UserCodes& table = user_codes();
  const std::lock_guard guard(table.mutex);
  const auto found = table.codes.find(errorcode);
  if (found == table.codes.end()) {
    return Status::error(MPI_ERR_ARG, "%d is no error class or code that the program added", errorcode);
  }
  found->second.text.assign(string, strnlen(string, MPI_MAX_ERROR_STRING - 1));
  return {};
}

Status remove_error_class(int errorclass) {
  UserCodes& table = user_codes();
  const std::lock_guard guard(table.mutex);
  LAPWING_TRY(check_own(table, errorclass, "error class", true));
  for (const auto& [number, code] : table.codes) {
    if (number != errorclass && code.error_class == errorclass) {
      return Status::error(MPI_ERR_ARG, "error class %d still has error code %d: call MPI_Remove_error_code first",
                           errorclass, number);
    }
  }
  LAPWING_TRY(check_textless(table, errorclass));
  table.codes.erase(errorclass);
  return {};
}

Status remove_error_code(int errorcode) {
  UserCodes& table = user_codes();
  const std::lock_guard guard(table.mutex);
  LAPWING_TRY(check_own(table, errorcode, "error code", false));
  LAPWING_TRY(check_textless(table, errorcode));
  table.codes.erase(errorcode);
  return {};
}

Status remove_error_string(int errorcode) {
  UserCodes& table = user_codes();
  const std::lock_guard guard(table.mutex);
  const auto found = table.codes.find(errorcode);
  if (found == table.codes.end() || found->second.text.empty()) {
    return Status::error(MPI_ERR_ARG, "%d is no error class or code that the program gave a string", errorcode);
  }
  found->second.text.clear();
  return {};
}

Status error_class(int errorcode, int* errorclass) {
  if (find_standard(errorcode) != nullptr) {
    *errorclass = errorcode;
    return {};
  }
  UserCodes& table = user_codes();
  const std::lock_guard guard(table.mutex);
  const auto found = table.codes.find(errorcode);
  if (found == table.codes.end()) return no_such("error code", errorcode);
  *errorclass = found->second.error_class;
  return {};
}

Status error_string(int errorcode, char* string, int* resultlen) {
  std::string text;
  if (!sentence_of(errorcode, text)) return no_such("error code", errorcode);
  // Of the program's own codes it gets back exactly what it added.
  if (errorcode != MPI_SUCCESS && errorcode == last_error.code && find_standard(errorcode) != nullptr) {
    text += ": " + last_error.text;
  }
  const std::size_t length = text.copy(string, MPI_MAX_ERROR_STRING - 1);
  string[length] = '\0';
  *resultlen = static_cast<int>(length);
  return {};
}

}  // namespace lapwing::mpi
