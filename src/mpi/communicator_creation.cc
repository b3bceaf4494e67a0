#include "mpi/communicator_creation.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "coll/communicator_state.h"
#include "comm/error_handler.h"
#include "mpi/handles.h"
#include "mpi/member_list.h"

namespace lapwing::mpi {

namespace {

// What each member contributes to a split. Each proposes a context id, and the first member of each new group is taken
// at its word: so one exchange does for any number of new communicators.
struct Choice {
  std::int32_t color;
  std::int32_t key;
  std::uint64_t context;
};

struct Side {
  std::vector<ProcessId> members;
  std::uint64_t context = 0;  // as the first member proposes
};

// The members of one colour in their new order.
Side choose(const comm::Group& group, const Choice* choices, int color) {
  std::vector<int> ranks;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (choices[rank].color == color) ranks.push_back(rank);
  }
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return choices[a].key < choices[b].key; });
  Side side;
  for (const int rank : ranks) side.members.push_back(group.member(rank));
  if (!ranks.empty()) side.context = choices[ranks[0]].context;
  return side;
}

void inherit_error_handler(comm::Communicator& made, comm::Communicator& parent) {
  comm::drop_error_handler(made.exchange_error_handler(retained_handler(parent)));
}

comm::Communicator* make_over_groups(std::uint64_t context, comm::Communicator& like) {
  like.local_group().retain();
  if (like.is_inter()) like.remote_group()->retain();
  return new comm::Communicator(context, &like.local_group(), like.remote_group());
}

constexpr std::uint64_t kNamedContexts = std::uint64_t{3} << 62;  // of context ids (comm/context_ids.h)

// FNV-1a, and the last step of MurmurHash3, which spreads the last bytes over all bits.
std::uint64_t hash_of(std::uint64_t context, NamedContext::Use use, std::string_view name, const std::vector<ProcessId>& members) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](const void* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  };
  const std::vector<std::byte> names = encode_members(members);
  add(&context, sizeof context);
  add(&use, sizeof use);
  add(names.data(), names.size());
  add(name.data(), name.size());
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
  return hash ^ hash >> 33;
}

Status split_between(comm::Communicator& parent, const Choice& mine, comm::Communicator** made) {
  const comm::Group& local = parent.local_group();
  const comm::Group& remote = *parent.remote_group();
  // Both groups exchange as many choices as the larger one has; the padding is never read.
  const auto count = static_cast<std::size_t>(std::max(local.size(), remote.size()));
  std::vector<Choice> ours(count), theirs(count);
  LAPWING_TRY(
      coll::allgather_bytes(services(), {parent, comm::Plane::kLocalCollective}, &mine, sizeof mine, ours.data()));
  LAPWING_TRY(coll::exchange_bytes(services(), parent, ours.data(), count * sizeof mine, theirs.data()));
  if (mine.color == MPI_UNDEFINED) return {};

  Side near = choose(local, ours.data(), mine.color);
  Side far = choose(remote, theirs.data(), mine.color);
  if (far.members.empty()) return {};
  const std::uint64_t context = comes_before(near.members[0], far.members[0]) ? near.context : far.context;
  *made = make_communicator(context, near.members, far.members, &parent);
  return {};
}

Status split_within(comm::Communicator& parent, int color, int key, comm::Communicator** made) {
  std::optional<Proposal> proposal;
  if (color != MPI_UNDEFINED) proposal.emplace();
  const Choice mine{color, key, proposal ? proposal->context() : 0};
  std::vector<Choice> all(static_cast<std::size_t>(parent.size()));
  LAPWING_TRY(coll::allgather_bytes(services(), {parent}, &mine, sizeof mine, all.data()));
  if (mine.color == MPI_UNDEFINED) return {};
  Side side = choose(parent.local_group(), all.data(), mine.color);
  *made = make_communicator(side.context, side.members, {}, &parent);
  proposal->settle(**made);
  coll::inherit(**made, parent);
  return {};
}

}  // namespace

coll::Services services() noexcept {
  return {process().engine, *process().messenger, &process().areas, &process().rules,
          &process().network->hosts(), &process().scratch, &process().known_rates, &process().known_ways};
}

Proposal::Proposal() noexcept {
  const std::lock_guard guard(process().engine.lock());
  context_ = process().context_ids->take();
  area_ = {process().areas, context_};
}

void Proposal::settle(comm::Communicator& made) noexcept {
  if (made.context() != context_) return;
  settle_later(made);
}

void Proposal::settle_later(comm::Communicator& made) noexcept {
  if (!made.is_inter() && area_.suits(made.local_group())) coll::state_of(made).place.keep(std::move(area_), made.local_group());
}

void Proposal::settled(comm::Communicator& made) noexcept {
  coll::state_of(made).place.settle(made.context());
}

std::uint64_t take_context() noexcept {
  const std::lock_guard guard(process().engine.lock());
  return process().context_ids->take();
}

comm::Communicator* make_communicator(std::uint64_t context, const std::vector<ProcessId>& local,
                                      const std::vector<ProcessId>& remote, comm::Communicator* parent) {
  const ProcessId self = process().self_id();
  comm::Group* far = remote.empty() ? nullptr : comm::Group::make(remote, self);
  comm::Group* near = comm::Group::make(local, self);
  if (parent != nullptr) near->session = parent->local_group().session;
  auto* made = new comm::Communicator(context, near, far);
  made->oversubscribed = process().job.oversubscribed();
  made->leads = remote.empty() || comes_before(local[0], remote[0]);
  if (parent != nullptr) inherit_error_handler(*made, *parent);
  return made;
}

comm::Communicator* make_alike(std::uint64_t context, comm::Communicator& parent) {
  comm::Communicator* made = make_over_groups(context, parent);
  made->oversubscribed = parent.oversubscribed;
  made->leads = parent.leads;
  inherit_error_handler(*made, parent);
  coll::inherit(*made, parent);
  return made;
}

Status split(comm::Communicator& parent, int color, int key, comm::Communicator** made) {
  *made = nullptr;
  if (!parent.is_inter()) return split_within(parent, color, key, made);
  return split_between(parent, {color, key, color == MPI_UNDEFINED ? 0 : take_context()}, made);
}

Status duplicate(comm::Communicator& parent, comm::Communicator** made) {
  *made = nullptr;
  Proposal proposal;
  std::uint64_t context = 0;
  LAPWING_TRY(coll::agree_context(services(), {parent}, proposal.context(), &context));
  *made = make_alike(context, parent);
  proposal.settle(**made);
  return {};
}

void adopt_error_handler(comm::Communicator& communicator, MPI_Errhandler handler) noexcept {
  if (handler == MPI_ERRHANDLER_NULL) return;  // it has the default already
  comm::retain_error_handler(handler);
  comm::drop_error_handler(communicator.exchange_error_handler(handler));
}

MPI_Comm handle_of(comm::Communicator* communicator) noexcept {
  return communicator != nullptr ? communicator->handle() : MPI_COMM_NULL;
}

Status check_intra(comm::Communicator& communicator) {
  if (!communicator.is_inter()) return {};
  return Status::error(MPI_ERR_COMM, "this needs a communicator of one group, and this one joins two");
}

NamedContext::NamedContext(comm::Communicator& among, Use use, std::string_view name, const std::vector<ProcessId>& members)
    : communicator_(make_over_groups(kNamedContexts | hash_of(among.context(), use, name, members) << 2, among)) {
  const std::lock_guard guard(process().engine.lock());
  communicator_->name = among.name;
}

NamedContext::NamedContext(comm::Communicator& among, Use use, int tag, const std::vector<ProcessId>& members)
    : NamedContext(among, use, std::to_string(tag), members) {}

NamedContext::~NamedContext() {
  const std::lock_guard guard(process().engine.lock());
  comm::Communicator::drop(communicator_);
}

}  // namespace lapwing::mpi
