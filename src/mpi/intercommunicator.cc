// MPI 5.0, section 7.6: communicators between two groups.
//
// The leaders of the two groups tell each other who is in their group, and each then tells its own. Both propose a
// context id; the one of the leader with the lower process id counts.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "datatype/datatype.h"
#include "mpi/communicator_creation.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "p2p/receive_request.h"
#include "p2p/send_request.h"
#include "request/waiting.h"

namespace lapwing::mpi {

namespace {

// Messages between leaders stay apart from those of teams on the same plane, whose tags begin at 2^30 (coll/tag.h).
int leader_tag(int tag) noexcept {
  constexpr int kFirst = 1 << 29;
  return kFirst | (tag & (kFirst - 1));
}

// A message to and one from the other leader, on the management plane.
struct Partner {
  comm::Communicator& communicator;
  int rank;
  int tag;

  Status exchange(const void* mine, std::size_t mine_bytes, void* theirs, std::size_t their_bytes) const {
    datatype::Datatype* bytes = datatype::resolve(MPI_BYTE);
    p2p::SendRequest send({mine, mine_bytes, bytes, rank, tag, &communicator, comm::Plane::kManagement});
    p2p::ReceiveRequest receive({theirs, their_bytes, bytes, rank, tag, &communicator, comm::Plane::kManagement});
    engine::Call call(process().engine);
    process().messenger->start(receive);
    process().messenger->start(send);
    wait_in("MPI_Intercomm_create", call, send);
    wait_in("MPI_Intercomm_create", call, receive);
    LAPWING_TRY(std::move(receive.result().status));
    return std::move(send.result().status);
  }
};

// What the leaders agree on.
struct Agreement {
  std::int32_t error = MPI_SUCCESS;  // set when the leader could not
  std::int32_t remote_size = 0;
  std::uint64_t context = 0;
};

bool overlap(const std::vector<comm::ProcessId>& a, const std::vector<comm::ProcessId>& b) {
  std::vector<comm::ProcessId> sorted = a;
  std::sort(sorted.begin(), sorted.end());
  return std::any_of(b.begin(), b.end(), [&](comm::ProcessId process) {
    return std::binary_search(sorted.begin(), sorted.end(), process);
  });
}

// The leaders' part.
Status meet(const Partner& partner, const std::vector<comm::ProcessId>& local, comm::ProcessId own,
            Agreement& agreement, std::vector<comm::ProcessId>& remote) {
  struct Greeting {
    std::uint64_t context;
    std::uint32_t leader;
    std::uint32_t size;
  };
  const Greeting mine{take_context(), own, static_cast<std::uint32_t>(local.size())};
  Greeting theirs{};
  LAPWING_TRY(partner.exchange(&mine, sizeof mine, &theirs, sizeof theirs));
  if (theirs.size > static_cast<std::uint32_t>(process().job.size())) {
    return Status::error(MPI_ERR_INTERN, "the other leader says that its group has %u members", theirs.size);
  }
  remote.resize(theirs.size);
  LAPWING_TRY(
      partner.exchange(local.data(), local.size() * sizeof local[0], remote.data(), remote.size() * sizeof remote[0]));
  if (overlap(local, remote)) {
    return Status::error(MPI_ERR_GROUP, "the two groups must have no process in common, but they have");
  }
  agreement.context = mine.leader < theirs.leader ? mine.context : theirs.context;
  agreement.remote_size = static_cast<std::int32_t>(theirs.size);
  return {};
}

// Tells the own group what the leader agreed on, its failure included.
Status tell_group(const coll::Team& team, int leader, Status& outcome, Agreement& agreement,
                  std::vector<comm::ProcessId>& remote) {
  agreement.error = outcome.error_class();
  LAPWING_TRY(coll::bcast_bytes(services(), team, &agreement, sizeof agreement, leader));
  if (!outcome.ok()) return std::move(outcome);
  if (agreement.error != MPI_SUCCESS) {
    return Status::error(agreement.error,
                         "the leader of this group (its rank %d) could not agree with the other leader", leader);
  }
  remote.resize(static_cast<std::size_t>(agreement.remote_size));
  return coll::bcast_bytes(services(), team, remote.data(), remote.size() * sizeof remote[0], leader);
}

Status find_partner(MPI_Comm peer_comm, int remote_leader, int tag, comm::Communicator** peer, int* wire_tag) {
  *peer = resolve(peer_comm);
  *wire_tag = leader_tag(tag);
  if (*peer == nullptr)
    return Status::error(MPI_ERR_COMM, "peer_comm is no communicator, but it matters at the leader");
  if (remote_leader < 0 || remote_leader >= (*peer)->remote_size()) {
    return Status::error(MPI_ERR_RANK, "remote_leader is %d, but peer_comm has %d ranks", remote_leader,
                         (*peer)->remote_size());
  }
  if (!(*peer)->is_inter() && remote_leader == (*peer)->rank()) {
    return Status::error(MPI_ERR_RANK, "remote_leader is this process: the two groups must have different leaders");
  }
  return {};
}

}  // namespace

Status intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                        MPI_Comm* newintercomm) {
  comm::Communicator& local = *resolve(local_comm);
  LAPWING_TRY(check_intra(local));
  if (local_leader < 0 || local_leader >= local.size()) {
    return Status::error(MPI_ERR_RANK, "local_leader is %d, but local_comm has %d ranks", local_leader, local.size());
  }
  const std::vector<comm::ProcessId>& members = local.local_group().members();
  Agreement agreement;
  std::vector<comm::ProcessId> remote;
  Status outcome;
  if (local.rank() == local_leader) {
    comm::Communicator* peer = nullptr;
    int wire_tag = 0;
    outcome = find_partner(peer_comm, remote_leader, tag, &peer, &wire_tag);
    if (outcome.ok()) {
      const comm::ProcessId own = members[static_cast<std::size_t>(local_leader)];
      outcome = meet({*peer, remote_leader, wire_tag}, members, own, agreement, remote);
    }
  }
  LAPWING_TRY(tell_group({local}, local_leader, outcome, agreement, remote));
  *newintercomm = make_communicator(agreement.context, members, std::move(remote), &local)->handle();
  return {};
}

Status intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                                    const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                                    MPI_Comm* newintercomm) {
  LAPWING_TRY(check_handler_for(errhandler, comm::ErrorHandler::Target::kCommunicator));
  const comm::Group& local = *resolve(local_group);
  if (local.rank() == MPI_UNDEFINED) return Status::error(MPI_ERR_GROUP, "this process is not in local_group");
  if (local_leader < 0 || local_leader >= local.size()) {
    return Status::error(MPI_ERR_RANK, "local_leader is %d, but local_group has %d members", local_leader,
                         local.size());
  }
  const std::string_view name(stringtag);
  comm::Communicator& all = *process().processes;
  Agreement agreement;
  std::vector<comm::ProcessId> remote;
  Status outcome;
  if (local.rank() == local_leader) {
    const comm::Group* far = resolve(remote_group);
    if (far == nullptr || remote_leader < 0 || remote_leader >= far->size()) {
      outcome = Status::error(MPI_ERR_RANK, "remote_leader is %d, but remote_group has %d members", remote_leader,
                              far != nullptr ? far->size() : 0);
    } else {
      const int partner = static_cast<int>(far->member(remote_leader));
      outcome = meet({all, partner, leader_tag(management_tag(name.data(), name.size(), {}))}, local.members(),
                     local.member(local_leader), agreement, remote);
    }
  }
  const std::vector<int> ranks(local.members().begin(), local.members().end());
  const coll::Team team{all, comm::Plane::kManagement, &ranks,
                        management_tag(name.data(), name.size(), local.members())};
  LAPWING_TRY(tell_group(team, local_leader, outcome, agreement, remote));

  comm::Communicator* made = make_communicator(agreement.context, local.members(), std::move(remote), nullptr);
  adopt_error_handler(*made, errhandler);
  set_hints(*made, info);
  *newintercomm = made->handle();
  return {};
}

Status intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
  comm::Communicator& inter = *resolve(intercomm);
  if (!inter.is_inter())
    return Status::error(MPI_ERR_COMM, "the communicator is of one group: there is nothing to merge");
  const std::uint8_t mine = high != 0;
  std::uint8_t theirs = 0;
  LAPWING_TRY(coll::exchange_bytes(services(), inter, &mine, sizeof mine, &theirs));
  Proposal proposal;
  std::uint64_t context = 0;
  LAPWING_TRY(coll::agree_context(services(), {inter}, proposal.context(), &context));

  const std::vector<comm::ProcessId>& local = inter.local_group().members();
  const std::vector<comm::ProcessId>& remote = inter.remote_group()->members();
  // Both sides say the same: the order is free, and must only be the same for all.
  const bool local_first = mine != theirs ? mine == 0 : local[0] < remote[0];
  std::vector<comm::ProcessId> members = local_first ? local : remote;
  const std::vector<comm::ProcessId>& rest = local_first ? remote : local;
  members.insert(members.end(), rest.begin(), rest.end());
  comm::Communicator* made = make_communicator(context, std::move(members), {}, &inter);
  proposal.settle(*made);
  *newintracomm = made->handle();
  return {};
}

}  // namespace lapwing::mpi
