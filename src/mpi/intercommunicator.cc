// MPI 5.0, section 7.6: communicators between two groups.
//
// The leaders of the two groups tell each other the members of their group, and each then tells its own. Both propose a
// context id; that of the leader whose name comes first counts.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "datatype/datatype.h"
#include "mpi/communicator_creation.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "mpi/member_list.h"
#include "p2p/receive_request.h"
#include "p2p/send_request.h"
#include "request/waiting.h"
#include "wire/job_rank.h"

namespace lapwing::mpi {

namespace {

// A message to and one from the other leader, in a context where they are alone.
struct Partner {
  const NamedContext& named;
  int rank;

  Status exchange(const void* mine, std::size_t mine_bytes, void* theirs, std::size_t their_bytes) const {
    datatype::Datatype* bytes = datatype::resolve(MPI_BYTE);
    p2p::SendRequest send({mine, mine_bytes, bytes, rank, 0, &named.communicator(), comm::Plane::kManagement});
    p2p::ReceiveRequest receive({theirs, their_bytes, bytes, rank, 0, &named.communicator(), comm::Plane::kManagement});
    engine::Visit visit(process().engine);
    process().messenger->start(receive);
    process().messenger->start(send);
    wait_in("MPI_Intercomm_create", visit, send);
    wait_in("MPI_Intercomm_create", visit, receive);
    LAPWING_TRY(std::move(receive.result().status));
    return std::move(send.result().status);
  }
};

// What a leader tells the other one first: 24 bytes, little-endian.
struct Greeting {
  static constexpr std::size_t kBytes = 24;  // context (8), the leader (8), members of its group (4), reserved (4)
  using Bytes = std::array<std::byte, kBytes>;

  std::uint64_t context = 0;
  wire::JobRank leader;
  std::uint32_t size = 0;

  Bytes encode() const noexcept {
    Bytes bytes{};
    wire::store_little(bytes.data(), context);
    leader.encode(bytes.data() + 8);
    wire::store_little(bytes.data() + 16, size);
    return bytes;
  }
  static Greeting decode(const Bytes& bytes) noexcept {
    return {wire::load_little<std::uint64_t>(bytes.data()), wire::JobRank::decode(bytes.data() + 8),
            wire::load_little<std::uint32_t>(bytes.data() + 16)};
  }
};

// What the leaders agree on.
struct Agreement {
  std::int32_t error = MPI_SUCCESS;  // set when the leader could not
  std::int32_t remote_size = 0;
  std::uint64_t context = 0;
};

bool overlap(const std::vector<ProcessId>& a, const std::vector<ProcessId>& b) {
  std::vector<ProcessId> sorted = a;
  std::sort(sorted.begin(), sorted.end());
  return std::any_of(b.begin(), b.end(),
                     [&](ProcessId process) { return std::binary_search(sorted.begin(), sorted.end(), process); });
}

// The leaders' part. `remote` becomes the members of the other group, as they are named between processes.
Status meet(const Partner& partner, const comm::Group& local, Agreement& agreement, std::vector<std::byte>& remote) {
  const runtime::ProcessTable& table = process().table;
  const Greeting mine{take_context(), table.name(process().self_id()), static_cast<std::uint32_t>(local.size())};
  const Greeting::Bytes said = mine.encode();
  Greeting::Bytes heard;
  LAPWING_TRY(partner.exchange(said.data(), said.size(), heard.data(), heard.size()));
  const Greeting theirs = Greeting::decode(heard);
  if (theirs.size == 0 || theirs.size > table.size())
    return Status::error(MPI_ERR_INTERN, "the other leader says that its group has %u members", theirs.size);
  const std::vector<ProcessId> members = local.members();
  const std::vector<std::byte> names = encode_members(members);
  remote.resize(theirs.size * wire::JobRank::kBytes);
  LAPWING_TRY(partner.exchange(names.data(), names.size(), remote.data(), remote.size()));
  std::vector<ProcessId> others;
  LAPWING_TRY(decode_members(remote, others));
  if (overlap(members, others))
    return Status::error(MPI_ERR_GROUP, "the two groups must have no process in common, but they have");
  agreement.context = mine.leader < theirs.leader ? mine.context : theirs.context;
  agreement.remote_size = static_cast<std::int32_t>(theirs.size);
  return {};
}

// Tells the own group what the leader agreed on, its failure included. `remote`: the leader's, for all.
Status tell_group(const coll::Team& team, int leader, Status& outcome, Agreement& agreement,
                  std::vector<std::byte>& remote) {
  agreement.error = outcome.error_class();
  LAPWING_TRY(coll::bcast_bytes(services(), team, &agreement, sizeof agreement, leader));
  if (!outcome.ok()) return std::move(outcome);
  if (agreement.error != MPI_SUCCESS) {
    return Status::error(agreement.error,
                         "the leader of this group (its rank %d) could not agree with the other leader", leader);
  }
  remote.resize(static_cast<std::size_t>(agreement.remote_size) * wire::JobRank::kBytes);
  return coll::bcast_bytes(services(), team, remote.data(), remote.size(), leader);
}

Status find_partner(MPI_Comm peer_comm, int remote_leader, comm::Communicator** peer) {
  *peer = resolve(peer_comm);
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
  Agreement agreement;
  std::vector<std::byte> names;
  Status outcome;
  if (local.rank() == local_leader) {
    comm::Communicator* peer = nullptr;
    outcome = find_partner(peer_comm, remote_leader, &peer);
    if (outcome.ok()) {
      const NamedContext named(*peer, NamedContext::Use::kLeaders, tag);
      outcome = meet({named, remote_leader}, local.local_group(), agreement, names);
    }
  }
  LAPWING_TRY(tell_group({local}, local_leader, outcome, agreement, names));
  std::vector<ProcessId> remote;
  LAPWING_TRY(decode_members(names, remote));
  *newintercomm = make_communicator(agreement.context, local.local_group().members(), remote, &local)->handle();
  return {};
}

Status intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                                    const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                                    MPI_Comm* newintercomm) {
  LAPWING_TRY(check_handler_for(errhandler, comm::ErrorHandler::Target::kCommunicator));
  const comm::Group& local = *resolve(local_group);
  if (local.rank() == MPI_UNDEFINED) return Status::error(MPI_ERR_GROUP, "this process is not in local_group");
  if (local_leader < 0 || local_leader >= local.size()) {
    return Status::error(MPI_ERR_RANK, "local_leader is %d, but local_group has %d member%s", local_leader,
                         local.size(), local.size() == 1 ? "" : "s");
  }
  const std::string_view name(stringtag);
  comm::Communicator& all = *process().processes;
  Agreement agreement;
  std::vector<std::byte> names;
  Status outcome;
  if (local.rank() == local_leader) {
    const comm::Group* far = resolve(remote_group);
    if (far == nullptr || remote_leader < 0 || remote_leader >= far->size()) {
      outcome = Status::error(MPI_ERR_RANK, "remote_leader is %d, but remote_group has %d members", remote_leader,
                              far != nullptr ? far->size() : 0);
    } else {
      const int partner = all.local_group().rank_of(far->member(remote_leader));
      const NamedContext named(all, NamedContext::Use::kLeaders, name);
      outcome = meet({named, partner}, local, agreement, names);
    }
  }
  const std::vector<ProcessId> members = local.members();
  std::vector<int> ranks;
  for (const ProcessId member : members) ranks.push_back(all.local_group().rank_of(member));
  const NamedContext named(all, NamedContext::Use::kOneOfTwoGroups, name, members);
  LAPWING_TRY(tell_group(named.team(ranks), local_leader, outcome, agreement, names));

  std::vector<ProcessId> remote;
  LAPWING_TRY(decode_members(names, remote));
  comm::Communicator* made = make_communicator(agreement.context, members, remote, nullptr);
  made->local_group().session = local.session;
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

  // Where both sides say the same the order is free, and must only be the same for all.
  const bool local_first = mine != theirs ? mine == 0 : inter.leads;
  std::vector<ProcessId> members = (local_first ? inter.local_group() : *inter.remote_group()).members();
  const std::vector<ProcessId> rest = (local_first ? *inter.remote_group() : inter.local_group()).members();
  members.insert(members.end(), rest.begin(), rest.end());
  comm::Communicator* made = make_communicator(context, members, {}, &inter);
  proposal.settle(*made);
  *newintracomm = made->handle();
  return {};
}

}  // namespace lapwing::mpi
