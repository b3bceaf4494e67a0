// The vigil: whether the peers that are waited for still have a host. A host that vanishes says nothing. Where a connection stands, the
// transport notices; but a rank that only waits may have none. So while receives (or blocked probes) wait, rounds are made, a few per
// LAPWING_PEER_TIMEOUT, and what has waited for a whole round has its peers watched over (net::Transport::watch_over): a named one itself, of
// any source one rank of each host, in the order that begins behind this rank, so that the ranks of a job look at different hosts.
//
// Cost: a look at a flag for each receive that is posted; a timer for each round, and none when nothing waits. The connections that are begun
// in one round are few, whatever is waited for.
#include <algorithm>

#include "p2p/messenger_state.h"

namespace lapwing::p2p {
namespace {

constexpr int kMostBegunPerRound = 8;
constexpr int kMostLookedAt = 1024;  // members of a communicator, per round

}  // namespace

void Messenger::State::begin_vigil() noexcept {
  vigil_due = false;
  engine.set_timer(vigil, engine.clock().now() + vigil_period);
}

void Messenger::State::keep_vigil() noexcept {
  int left = kMostBegunPerRound;
  const comm::Group* looked_at = nullptr;
  const auto look = [&](net::PeerId id, const comm::Group& group) {
    if (id != kAnyPeer) return watch_over(id, left);
    if (looked_at != &group) watch_over_members(group, left);
    looked_at = &group;
  };
  matcher.posted_table().for_each([&](MatchNode& node) {
    const ReceiveArguments& arguments = static_cast<ReceiveRequest&>(node).arguments_;
    if (node.stamp < vigil_stamp) look(node.key.peer(), arguments.communicator->peers(arguments.plane));
  });
  for (ProbeWatch& watch : probes) {
    if (std::exchange(watch.waited_, true)) look(watch.key_.peer(), watch.group_);
  }
  vigil_stamp = matcher.next_stamp();
  vigil_due = matcher.posted() == 0 && probes.empty();
  if (!vigil_due) begin_vigil();
}

void Messenger::State::watch_over(net::PeerId id, int& left) noexcept {
  if (left > 0 && !peers[id].lost && network->route(id).watch_over(id)) --left;
}

void Messenger::State::watch_over_members(const comm::Group& group, int& left) noexcept {
  const int size = group.size(), own = group.rank_of(network->rank());
  const int first = own != MPI_UNDEFINED ? own + 1 : static_cast<int>(network->rank() % static_cast<net::PeerId>(size));
  for (int i = 0; i < std::min(size, kMostLookedAt) && left > 0; ++i) {
    const net::PeerId id = group.member((first + i) % size);
    if (network->route(id).watch_over_host(id)) --left;
  }
}

}  // namespace lapwing::p2p
