// MPI 5.0, section 7.4: what a communicator tells about itself, and its end.
#include "comm/communicator.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

#include "coll/coll.h"
#include "comm/info.h"
#include "mpi/attribute.h"
#include "mpi/buffer.h"
#include "mpi/communicator_creation.h"
#include "mpi/handle_numbers.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

struct Hints : comm::Extra {
  comm::Info* info = comm::Info::make();
  ~Hints() override { comm::Info::drop(info); }
};

std::mutex hints_mutex;  // guards which object keeps the hints of a communicator

constexpr const char* kKnownHints[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_start_ordering",
    "mpi_assert_strict_persistent_collective_ordering",
};

MPI_Group share(comm::Group& group) {
  group.retain();
  return give_handle(&group);
}

Status check_freeable(comm::Communicator& communicator) {
  if (communicator.predefined_handle == MPI_COMM_NULL) return {};
  return Status::error(MPI_ERR_COMM, "%s is predefined and cannot be freed",
                       communicator.predefined_handle == MPI_COMM_WORLD ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
}

// What freeing and disconnecting have in common. When a callback refuses, the communicator stays.
Status end(comm::Communicator& communicator) {
  LAPWING_TRY(delete_attributes(communicator));
  LAPWING_TRY(detach_at_end(communicator.buffer));
  forget_handle_number(communicator);
  const std::lock_guard guard(process().engine.lock());  // its place at an area may go with it
  comm::Communicator::drop(&communicator);
  return {};
}

}  // namespace

Status comm_size(MPI_Comm comm, int* size) {
  *size = resolve(comm)->size();
  return {};
}

Status comm_rank(MPI_Comm comm, int* rank) {
  *rank = resolve(comm)->rank();
  return {};
}

Status comm_group(MPI_Comm comm, MPI_Group* group) {
  *group = share(resolve(comm)->local_group());
  return {};
}

Status comm_test_inter(MPI_Comm comm, int* flag) {
  *flag = resolve(comm)->is_inter();
  return {};
}

Status comm_remote_size(MPI_Comm comm, int* size) {
  comm::Communicator& communicator = *resolve(comm);
  if (!communicator.is_inter())
    return Status::error(MPI_ERR_COMM, "the communicator has no remote group: it is of one group");
  *size = communicator.remote_size();
  return {};
}

Status comm_remote_group(MPI_Comm comm, MPI_Group* group) {
  comm::Communicator& communicator = *resolve(comm);
  if (!communicator.is_inter())
    return Status::error(MPI_ERR_COMM, "the communicator has no remote group: it is of one group");
  *group = share(*communicator.remote_group());
  return {};
}

Status comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) {
  comm::Communicator& first = *resolve(comm1);
  comm::Communicator& second = *resolve(comm2);
  if (&first == &second) {
    *result = MPI_IDENT;
    return {};
  }
  if (first.is_inter() != second.is_inter()) {
    *result = MPI_UNEQUAL;
    return {};
  }
  int groups = comm::compare(first.local_group(), second.local_group());
  if (first.is_inter()) groups = std::max(groups, comm::compare(*first.remote_group(), *second.remote_group()));
  *result = groups == MPI_IDENT ? MPI_CONGRUENT : groups;
  return {};
}

Status comm_free(MPI_Comm* comm) {
  comm::Communicator& communicator = *resolve(*comm);
  LAPWING_TRY(check_freeable(communicator));
  LAPWING_TRY(end(communicator));
  *comm = MPI_COMM_NULL;
  return {};
}

Status comm_disconnect(MPI_Comm* comm) {
  comm::Communicator& communicator = *resolve(*comm);
  LAPWING_TRY(check_freeable(communicator));
  // All ranks come here with all communication complete; what is left is to wait for all of them.
  LAPWING_TRY(coll::barrier(
      services(), {communicator, communicator.is_inter() ? comm::Plane::kLocalCollective : comm::Plane::kCollective}));
  if (communicator.is_inter()) {
    char mine = 0, theirs = 0;
    LAPWING_TRY(coll::exchange_bytes(services(), communicator, &mine, 1, &theirs));
  }
  LAPWING_TRY(end(communicator));
  *comm = MPI_COMM_NULL;
  return {};
}

// Dynamic processes come later: no process has a parent.
Status comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;
  return {};
}

void set_hints(comm::Communicator& communicator, MPI_Info info) {
  if (info == MPI_INFO_NULL) return;
  const std::lock_guard guard(hints_mutex);
  if (communicator.info == nullptr) communicator.info = std::make_unique<Hints>();
  comm::Info& kept = *static_cast<Hints&>(*communicator.info).info;
  for (const char* key : kKnownHints) {
    std::string value;
    if (!resolve(info)->get(key, value) || (value != "true" && value != "false")) continue;
    (void)kept.set(key, value).ok();
  }
}

Status comm_set_info(MPI_Comm comm, MPI_Info info) {
  set_hints(*resolve(comm), info);
  return {};
}

Status comm_get_info(MPI_Comm comm, MPI_Info* info_used) {
  comm::Communicator& communicator = *resolve(comm);
  const std::lock_guard guard(hints_mutex);
  comm::Info* used =
      communicator.info != nullptr ? static_cast<Hints&>(*communicator.info).info->duplicate() : comm::Info::make();
  LAPWING_TRY(used->set("mpi_memory_alloc_kinds", "mpi,system"));
  *info_used = handle_of(used);
  return {};
}

}  // namespace lapwing::mpi
