// MPI 5.0, section 11.3: what a session tells about process sets. Sessions begin and end in init.cc.
#include <strings.h>

#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi/handles.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

constexpr std::array<const char*, 2> kProcessSets = {"mpi://WORLD", "mpi://SELF"};

// The names of the standard's own sets are found however they are written: other libraries take "mpi://world" too.
bool is_name_of(std::string_view name, std::string_view set) noexcept {
  return name.size() == set.size() && strncasecmp(name.data(), set.data(), set.size()) == 0;
}

// A new group of the processes of a set.
Status make_group(std::string_view name, comm::Group** group) {
  const runtime::Job& job = process().job;
  if (is_name_of(name, kProcessSets[0])) {
    *group = comm::Group::make_range({}, job.size(), job.rank());
  } else if (is_name_of(name, kProcessSets[1])) {
    *group = comm::Group::make_range(process().self_id(), 1, 0);
  } else {
    return Status::error(MPI_ERR_ARG, "there is no process set '%.*s'; there are %s and %s",
                         static_cast<int>(name.size()), name.data(), kProcessSets[0], kProcessSets[1]);
  }
  return {};
}

}  // namespace

Status session_get_num_psets(MPI_Session, MPI_Info, int* npset_names) {
  *npset_names = static_cast<int>(kProcessSets.size());
  return {};
}

Status session_get_nth_pset(MPI_Session, MPI_Info, int n, int* pset_len, char* pset_name) {
  if (n < 0 || n >= static_cast<int>(kProcessSets.size())) {
    return Status::error(MPI_ERR_ARG, "n is %d, but there are %zu process sets", n, kProcessSets.size());
  }
  const std::string_view name = kProcessSets[static_cast<std::size_t>(n)];
  if (*pset_len > 0 && pset_name == nullptr) {
    return Status::error(
        MPI_ERR_ARG, "pset_name is a null pointer, but pset_len says that it has room for %d characters", *pset_len);
  }
  if (*pset_len > 0) {
    pset_name[name.copy(pset_name, static_cast<std::size_t>(*pset_len) - 1)] = '\0';
  }
  *pset_len = static_cast<int>(name.size()) + 1;
  return {};
}

Status session_get_pset_info(MPI_Session, const char* pset_name, MPI_Info* info) {
  comm::Group* group = nullptr;
  LAPWING_TRY(make_group(pset_name, &group));
  const int size = group->size();
  comm::Group::drop(group);
  comm::Info* made = comm::Info::make();
  *info = handle_of(made);
  return made->set("mpi_size", std::to_string(size));
}

Status session_get_info(MPI_Session, MPI_Info* info_used) {
  comm::Info* made = comm::Info::make();
  *info_used = handle_of(made);
  LAPWING_TRY(made->set("thread_level", "MPI_THREAD_MULTIPLE"));
  return made->set("mpi_memory_alloc_kinds", "mpi,system");
}

Status group_from_session_pset(MPI_Session session, const char* pset_name, MPI_Group* newgroup) {
  comm::Group* made = nullptr;
  LAPWING_TRY(make_group(pset_name, &made));
  made->session = resolve(session);
  *newgroup = give_handle(made);
  return {};
}

}  // namespace lapwing::mpi
