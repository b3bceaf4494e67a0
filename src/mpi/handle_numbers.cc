#include "mpi/handle_numbers.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/object.h"
#include "mpi.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {
namespace {

struct Registry {
  std::atomic<bool> in_use{false};  // lets threads that free objects pass by without the lock
  std::mutex mutex;
  std::unordered_map<const void*, int> numbers;
  std::vector<const void*> handles;  // by number, from kFirstUserHandle on
  std::vector<int> free_numbers;     // of handles that are forgotten
  std::unordered_map<const Object*, unsigned> counts;  // count_handle()

  int take_number(const void* handle) {
    if (free_numbers.empty()) {
      handles.push_back(handle);
      return static_cast<int>(kFirstUserHandle + handles.size() - 1);
    }
    const int number = free_numbers.back();
    free_numbers.pop_back();
    handles[static_cast<std::size_t>(number) - kFirstUserHandle] = handle;
    return number;
  }
};

Registry& registry() {
  static Registry& instance = *new Registry;  // never destroyed: a thread may still ask while the process exits
  return instance;
}

template <typename Handle>
Handle from_number(int number, Handle null) {
  void* handle = handle_of_number(number);
  return handle != nullptr ? static_cast<Handle>(handle) : null;
}

}  // namespace

int number_of_handle(const void* handle) {
  if (is_predefined(handle)) return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle));
  Registry& known = registry();
  std::lock_guard<std::mutex> hold(known.mutex);
  const auto [entry, fresh] = known.numbers.try_emplace(handle, 0);
  if (fresh) entry->second = known.take_number(handle);
  known.in_use.store(true, std::memory_order_release);
  return entry->second;
}

void* handle_of_number(int number) {
  if (number <= 0) return nullptr;
  const auto value = static_cast<std::uintptr_t>(number);
  if (value < kFirstUserHandle) return reinterpret_cast<void*>(value);  // NOLINT: the standard's predefined handles
  Registry& known = registry();
  std::lock_guard<std::mutex> hold(known.mutex);
  const std::size_t index = value - kFirstUserHandle;
  return index < known.handles.size() ? const_cast<void*>(known.handles[index]) : nullptr;
}

void forget_handle_number(const Object& object) {
  Registry& known = registry();
  if (!known.in_use.load(std::memory_order_acquire)) return;
  std::lock_guard<std::mutex> hold(known.mutex);
  const auto entry = known.numbers.find(&object);
  if (entry == known.numbers.end()) return;
  known.handles[static_cast<std::size_t>(entry->second) - kFirstUserHandle] = nullptr;
  known.free_numbers.push_back(entry->second);
  known.numbers.erase(entry);
}

void count_handle(const Object& object) {
  Registry& known = registry();
  std::lock_guard<std::mutex> hold(known.mutex);
  ++known.counts[&object];
}

void uncount_handle(const Object& object) {
  Registry& known = registry();
  {
    std::lock_guard<std::mutex> hold(known.mutex);
    const auto entry = known.counts.find(&object);
    if (entry != known.counts.end() && --entry->second > 0) return;
    if (entry != known.counts.end()) known.counts.erase(entry);
  }
  forget_handle_number(object);
}

int comm_toint(MPI_Comm comm) {
  return number_of_handle(comm);
}
int errhandler_toint(MPI_Errhandler errhandler) {
  return number_of_handle(errhandler);
}
int file_toint(MPI_File file) {
  return number_of_handle(file);
}
int group_toint(MPI_Group group) {
  return number_of_handle(group);
}
int info_toint(MPI_Info info) {
  return number_of_handle(info);
}
int message_toint(MPI_Message message) {
  return number_of_handle(message);
}
int op_toint(MPI_Op op) {
  return number_of_handle(op);
}
int request_toint(MPI_Request request) {
  return number_of_handle(request);
}
int session_toint(MPI_Session session) {
  return number_of_handle(session);
}
int type_toint(MPI_Datatype datatype) {
  return number_of_handle(datatype);
}
int win_toint(MPI_Win win) {
  return number_of_handle(win);
}

// A number that no handle has gives the null handle.
MPI_Comm comm_fromint(int comm) {
  return from_number(comm, MPI_COMM_NULL);
}
MPI_Errhandler errhandler_fromint(int errhandler) {
  return from_number(errhandler, MPI_ERRHANDLER_NULL);
}
MPI_File file_fromint(int file) {
  return from_number(file, MPI_FILE_NULL);
}
MPI_Group group_fromint(int group) {
  return from_number(group, MPI_GROUP_NULL);
}
MPI_Info info_fromint(int info) {
  return from_number(info, MPI_INFO_NULL);
}
MPI_Message message_fromint(int message) {
  return from_number(message, MPI_MESSAGE_NULL);
}
MPI_Op op_fromint(int op) {
  return from_number(op, MPI_OP_NULL);
}
MPI_Request request_fromint(int request) {
  return from_number(request, MPI_REQUEST_NULL);
}
MPI_Session session_fromint(int session) {
  return from_number(session, MPI_SESSION_NULL);
}
MPI_Datatype type_fromint(int datatype) {
  return from_number(datatype, MPI_DATATYPE_NULL);
}
MPI_Win win_fromint(int win) {
  return from_number(win, MPI_WIN_NULL);
}

}  // namespace lapwing::mpi
