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

Status members_of(std::string_view name, std::vector<comm::ProcessId>& members) {
  const runtime::Job& job = process().job;
  if (is_name_of(name, kProcessSets[0])) {
    members.resize(static_cast<std::size_t>(job.size()));
    std::iota(members.begin(), members.end(), 0u);
  } else if (is_name_of(name, kProcessSets[1])) {
    members = {static_cast<comm::ProcessId>(job.rank())};
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
  std::vector<comm::ProcessId> members;
  LAPWING_TRY(members_of(pset_name, members));
  comm::Info* made = comm::Info::make();
  *info = handle_of(made);
  return made->set("mpi_size", std::to_string(members.size()));
}

Status session_get_info(MPI_Session, MPI_Info* info_used) {
  comm::Info* made = comm::Info::make();
  *info_used = handle_of(made);
  LAPWING_TRY(made->set("thread_level", "MPI_THREAD_MULTIPLE"));
  return made->set("mpi_memory_alloc_kinds", "mpi,system");
}

Status group_from_session_pset(MPI_Session session, const char* pset_name, MPI_Group* newgroup) {
  std::vector<comm::ProcessId> members;
  LAPWING_TRY(members_of(pset_name, members));
  comm::Group* made = comm::Group::make(std::move(members), static_cast<comm::ProcessId>(process().job.rank()));
  made->session = resolve(session);
  *newgroup = give_handle(made);
  return {};
}

}  // namespace lapwing::mpi
