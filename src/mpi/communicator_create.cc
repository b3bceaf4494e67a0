// MPI 5.0, section 7.4.2: communicators from communicators, and from groups. How they come about is in communicator_creation.h.
#include <memory>
#include <string_view>
#include <vector>

#include "comm/topology.h"
#include "mpi/attribute.h"
#include "mpi/communicator_creation.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

// What a duplicate has beyond groups and context. A copy callback may refuse.
Status copy_cached(comm::Communicator& from, comm::Communicator& to, MPI_Info info) {
  if (const comm::Topology* topology = comm::topology_of(from)) to.topology = topology->clone();
  set_hints(to, info);
  return copy_attributes(from, to);
}

// A duplicate that did not come about. Why is the news; what was copied goes again.
void give_up(comm::Communicator& made, MPI_Comm* newcomm) {
  (void)delete_attributes(made).ok();
  const std::lock_guard guard(process().engine.lock());  // its place at an area goes with it
  comm::Communicator::drop(&made);
  *newcomm = MPI_COMM_NULL;
}

Status duplicate_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  comm::Communicator& parent = *resolve(comm);
  comm::Communicator* made = nullptr;
  LAPWING_TRY(duplicate(parent, &made));
  if (Status status = copy_cached(parent, *made, info); !status.ok()) {
    give_up(*made, newcomm);
    return status;
  }
  *newcomm = made->handle();
  return {};
}

// The ranks in `communicator` of a group's members, or MPI_ERR_GROUP.
Status ranks_of(const comm::Group& group, comm::Communicator& communicator, std::vector<int>& ranks) {
  for (const ProcessId process : group.members()) {
    ranks.push_back(communicator.local_group().rank_of(process));
    if (ranks.back() == MPI_UNDEFINED) {
      return Status::error(MPI_ERR_GROUP, "the group's rank %zu (%s) is not in the communicator", ranks.size() - 1,
                           mpi::process().table.describe(process).c_str());
    }
  }
  return {};
}

Status not_a_member() {
  return Status::error(MPI_ERR_GROUP, "this process is not in the group, but only members may make this call");
}

// A new communicator of the members, which exchange messages in `named`: under the context that the first of them proposes.
Status create_in(const NamedContext& named, const std::vector<int>& ranks, const comm::Group& group, comm::Communicator* parent, comm::Communicator** made) {
  Proposal proposal;
  std::uint64_t context = 0;
  LAPWING_TRY(coll::agree_context(services(), named.team(ranks), proposal.context(), &context));
  *made = make_communicator(context, group.members(), {}, parent);
  proposal.settle(**made);
  return {};
}

}  // namespace

Status comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return duplicate_with_info(comm, MPI_INFO_NULL, newcomm);
}

Status comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  return duplicate_with_info(comm, info, newcomm);
}

Status comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  return comm_idup_with_info(comm, MPI_INFO_NULL, newcomm, request);
}

Status comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  comm::Communicator& parent = *resolve(comm);
  comm::Communicator* made = make_alike(0, parent);
  // Attributes are copied as they are now; the context follows when the request completes.
  Status status = copy_cached(parent, *made, info);
  request::Request* agreement = nullptr;
  if (status.ok()) {
    const auto set_context = [](void* communicator, std::uint64_t agreed) {
      static_cast<comm::Communicator*>(communicator)->set_context(agreed);
      Proposal::settled(*static_cast<comm::Communicator*>(communicator));
    };
    Proposal proposal;
    proposal.settle_later(*made);
    status = coll::start_context_agreement(services(), {parent}, proposal.context(), set_context, made, &agreement);
  }
  if (!status.ok()) {
    give_up(*made, newcomm);
    return status;
  }
  *newcomm = made->handle();
  *request = reinterpret_cast<MPI_Request>(agreement);
  return {};
}

Status comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  if (color < 0 && color != MPI_UNDEFINED) {
    return Status::error(MPI_ERR_ARG, "color is %d; it must not be negative, unless it is MPI_UNDEFINED", color);
  }
  comm::Communicator* made = nullptr;
  LAPWING_TRY(split(*resolve(comm), color, key, &made));
  *newcomm = handle_of(made);
  return {};
}

Status comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  comm::Communicator& parent = *resolve(comm);
  const comm::Group& members = *resolve(group);
  std::vector<int> ranks;
  LAPWING_TRY(ranks_of(members, parent, ranks));
  // Disjoint groups may be given at the same time: the rank of a group's first member tells them apart. Between two
  // groups there is one on each side, and they belong together.
  int color = MPI_UNDEFINED;
  if (members.rank() != MPI_UNDEFINED) color = parent.is_inter() ? 0 : ranks[0];
  comm::Communicator* made = nullptr;
  LAPWING_TRY(split(parent, color, members.rank(), &made));
  *newcomm = handle_of(made);
  return {};
}

Status comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  comm::Communicator& parent = *resolve(comm);
  LAPWING_TRY(check_intra(parent));
  const comm::Group& members = *resolve(group);
  *newcomm = MPI_COMM_NULL;
  if (members.size() == 0) return {};
  if (members.rank() == MPI_UNDEFINED) return not_a_member();
  std::vector<int> ranks;
  LAPWING_TRY(ranks_of(members, parent, ranks));

  const NamedContext named(parent, NamedContext::Use::kOneGroup, tag, members.members());
  comm::Communicator* made = nullptr;
  LAPWING_TRY(create_in(named, ranks, members, &parent, &made));
  *newcomm = made->handle();
  return {};
}

Status comm_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                              MPI_Comm* newcomm) {
  if (process_or_null() == nullptr)
    return Status::error(MPI_ERR_SESSION, "no session is open, and MPI is not initialized");
  LAPWING_TRY(check_handler_for(errhandler, comm::ErrorHandler::Target::kCommunicator));
  const comm::Group& members = *resolve(group);
  *newcomm = MPI_COMM_NULL;
  if (members.size() == 0) return {};
  if (members.rank() == MPI_UNDEFINED) return not_a_member();
  const std::string_view name(stringtag);
  if (name.size() >= MPI_MAX_STRINGTAG_LEN) {
    return Status::error(MPI_ERR_ARG, "stringtag has %zu characters; at most %d are allowed", name.size(), MPI_MAX_STRINGTAG_LEN - 1);
  }
  std::vector<int> ranks;
  LAPWING_TRY(ranks_of(members, *process().processes, ranks));
  const NamedContext named(*process().processes, NamedContext::Use::kOneGroup, name, members.members());
  comm::Communicator* made = nullptr;
  LAPWING_TRY(create_in(named, ranks, members, nullptr, &made));
  made->local_group().session = members.session;
  adopt_error_handler(*made, errhandler);
  set_hints(*made, info);
  *newcomm = made->handle();
  return {};
}

}  // namespace lapwing::mpi
