// Performance variables (MPI 5.0, section 15.3.7): the statistics of this process, which LAPWING_STATS prints as well. They count by themselves
// from MPI_Init on, and are read only: a tool takes differences. Before MPI_Init they are 0; after MPI_Finalize they stay as they were.
#include <cstring>
#include <span>

#include "mpi/implementation.h"
#include "mpi/tools.h"
#include "process/statistics.h"

namespace lapwing::mpi {
namespace {

using process::StatisticDescription;

constexpr const char* kPrefix = "lapwing_";

struct PerformanceSession {};
struct PerformanceHandle {
  MPI_T_pvar_session session;
  std::size_t index;
};

std::mutex mutex;  // guards the two
ToolObjects<MPI_T_pvar_session, PerformanceSession> sessions;
ToolObjects<MPI_T_pvar_handle, PerformanceHandle> handles;

int class_of(const StatisticDescription& statistic) noexcept {
  switch (statistic.kind) {
    case StatisticDescription::Kind::kCount:
      return MPI_T_PVAR_CLASS_COUNTER;
    case StatisticDescription::Kind::kSum:
      return MPI_T_PVAR_CLASS_AGGREGATE;
    case StatisticDescription::Kind::kPeak:
      return MPI_T_PVAR_CLASS_HIGHWATERMARK;
  }
  return MPI_T_PVAR_CLASS_GENERIC;
}

Status check_session(MPI_T_pvar_session session) {
  LAPWING_TRY(check_tools_running());
  return sessions.find(session) != nullptr ? Status() : Status::error(MPI_T_ERR_INVALID_SESSION, "this is no session of performance variables");
}

Status check_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle, std::size_t& index) {
  LAPWING_TRY(check_session(session));
  const PerformanceHandle* found = handles.find(handle);
  if (found == nullptr || found->session != session)
    return Status::error(MPI_T_ERR_INVALID_HANDLE, "this is no handle of a performance variable in this session");
  index = found->index;
  return {};
}

// What no variable allows.
Status refuse(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int code, const char* why) {
  const std::lock_guard guard(mutex);
  std::size_t index = 0;
  LAPWING_TRY(check_handle(session, handle, index));
  return Status::error(code, "%s", why);
}

// The same of a function that may be given all handles: it passes over the variables that do not allow it.
Status refuse_one(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int code, const char* why) {
  if (handle != MPI_T_PVAR_ALL_HANDLES) return refuse(session, handle, code, why);
  const std::lock_guard guard(mutex);
  return check_session(session);
}

}  // namespace

void forget_performance_handles() {
  const std::lock_guard guard(mutex);
  handles.clear();
  sessions.clear();
}

Status t_pvar_get_num(int* num_pvar) {
  LAPWING_TRY(check_tools_running());
  *num_pvar = static_cast<int>(process::all_statistics().size());
  return {};
}

Status t_pvar_get_index(const char* name, int var_class, int* pvar_index) {
  LAPWING_TRY(check_tools_running());
  const std::span statistics = process::all_statistics();
  const std::size_t prefix = std::strlen(kPrefix);
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    if (std::strncmp(name, kPrefix, prefix) == 0 && std::strcmp(name + prefix, statistics[i].name) == 0 && class_of(statistics[i]) == var_class)
      return *pvar_index = static_cast<int>(i), Status();
  }
  return Status::error(MPI_T_ERR_INVALID_NAME, "there is no performance variable '%s' of this class", name);
}

Status t_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class, MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc,
                       int* desc_len, int* bind, int* readonly, int* continuous, int* atomic) {
  LAPWING_TRY(check_tools_running());
  const std::span statistics = process::all_statistics();
  LAPWING_TRY(check_tool_index("performance variable", pvar_index, statistics.size()));
  const StatisticDescription& statistic = statistics[static_cast<std::size_t>(pvar_index)];
  give_text(std::string(kPrefix) + statistic.name, name, name_len);
  give_text(statistic.meaning, desc, desc_len);
  give(MPI_T_VERBOSITY_USER_DETAIL, verbosity);
  give(class_of(statistic), var_class);
  give(MPI_UNSIGNED_LONG_LONG, datatype);
  give(MPI_T_ENUM_NULL, enumtype);
  give(MPI_T_BIND_NO_OBJECT, bind);
  give(1, readonly);
  give(1, continuous);
  give(0, atomic);
  return {};
}

Status t_pvar_session_create(MPI_T_pvar_session* pe_session) {
  LAPWING_TRY(check_tools_running());
  const std::lock_guard guard(mutex);
  *pe_session = sessions.add({});
  return {};
}

Status t_pvar_session_free(MPI_T_pvar_session* pe_session) {
  const std::lock_guard guard(mutex);
  LAPWING_TRY(check_session(*pe_session));
  handles.remove_if([&](const PerformanceHandle& handle) { return handle.session == *pe_session; });
  sessions.remove(*pe_session);
  *pe_session = MPI_T_PVAR_SESSION_NULL;
  return {};
}

Status t_pvar_handle_alloc(MPI_T_pvar_session pe_session, int pvar_index, void*, MPI_T_pvar_handle* handle, int* count) {
  const std::lock_guard guard(mutex);
  LAPWING_TRY(check_session(pe_session));
  LAPWING_TRY(check_tool_index("performance variable", pvar_index, process::all_statistics().size()));
  *handle = handles.add({pe_session, static_cast<std::size_t>(pvar_index)});
  *count = 1;
  return {};
}

Status t_pvar_handle_free(MPI_T_pvar_session pe_session, MPI_T_pvar_handle* handle) {
  const std::lock_guard guard(mutex);
  std::size_t index = 0;
  LAPWING_TRY(check_handle(pe_session, *handle, index));
  handles.remove(*handle);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return {};
}

Status t_pvar_read(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf) {
  std::size_t index = 0;
  {
    const std::lock_guard guard(mutex);
    LAPWING_TRY(check_handle(pe_session, handle, index));
  }
  process::Statistics now = process::Statistics::until_now();
  *static_cast<unsigned long long*>(buf) = process::all_statistics()[index].of(now);
  return {};
}

Status t_pvar_start(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return refuse_one(pe_session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, "it counts all the time");
}
Status t_pvar_stop(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return refuse_one(pe_session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, "it counts all the time");
}
Status t_pvar_reset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) {
  return refuse_one(pe_session, handle, MPI_T_ERR_PVAR_NO_WRITE, "it is read only: take the difference of two readings");
}
Status t_pvar_write(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, const void*) {
  return refuse(pe_session, handle, MPI_T_ERR_PVAR_NO_WRITE, "it is read only");
}
Status t_pvar_readreset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void*) {
  return refuse(pe_session, handle, MPI_T_ERR_PVAR_NO_ATOMIC, "it is read only: take the difference of two readings");
}

}  // namespace lapwing::mpi
