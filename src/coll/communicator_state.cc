#include "coll/communicator_state.h"

#include "coll/collective_request.h"
#include "net/host_table.h"

namespace lapwing::coll {

CommunicatorState::CommunicatorState() = default;
CommunicatorState::~CommunicatorState() = default;

namespace {

std::unique_ptr<const Levels> levels_of(const net::HostTable& hosts, const comm::Communicator& communicator) {
  std::vector<std::uint32_t> host_of;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    host_of.push_back(hosts.number(communicator.local_group().member(rank)));
    if (host_of.back() == net::HostTable::kUnknown) return nullptr;
  }
  return Levels::make(host_of, communicator.rank());
}

}  // namespace

const Levels* CommunicatorState::levels(const net::HostTable* hosts, const comm::Communicator& communicator) {
  if (!has_levels_ && hosts != nullptr && !communicator.is_inter()) levels_ = levels_of(*hosts, communicator);
  has_levels_ = true;
  return levels_.get();
}

void make_state(comm::Communicator& communicator) {
  communicator.collectives = std::make_unique<CommunicatorState>();
}

void inherit(comm::Communicator& made, comm::Communicator& parent) {
  if (!made.is_inter() && !parent.is_inter()) state_of(made).link_rate.inherit(state_of(parent).link_rate);
}

}  // namespace lapwing::coll
