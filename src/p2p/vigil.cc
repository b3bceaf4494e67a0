#include "p2p/vigil.h"

#include <algorithm>
#include <utility>

#include "base/tuning.h"

#include "p2p/receive_request.h"

namespace lapwing::p2p {
Vigil::Vigil(Common& common, Matcher& matcher, Probes& probes) noexcept
    : Timer([](Timer& timer) noexcept { static_cast<Vigil&>(timer).end_round(); }, kIdle),
      common_(common),
      matcher_(matcher),
      probes_(probes) {}

void Vigil::prepare() noexcept {
  period_ = common_.network->watch_after();
  due_ = period_ != 0;
}

void Vigil::begin_round() noexcept {
  due_ = false;
  common_.engine.set_timer(*this, common_.engine.clock().now() + period_);
}

void Vigil::end_round() noexcept {
  auto left = static_cast<int>(tuning().p2p_watched_peers);
  const comm::Group* looked_at = nullptr;
  const auto look = [&](net::PeerId id, const comm::Group& group) {
    if (id != kAnyPeer) return watch_over(id, left);
    if (looked_at != &group) watch_over_members(group, left);
    looked_at = &group;
  };
  matcher_.posted_table().for_each([&](MatchNode& node) {
    const ReceiveArguments& arguments = static_cast<ReceiveRequest&>(node).arguments();
    if (node.stamp < stamp_) look(node.key.peer(), arguments.communicator->peers(arguments.plane));
  });
  for (ProbeWatch& watch : probes_.watches()) {
    if (std::exchange(watch.waited_, true)) look(watch.key().peer(), watch.group());
  }
  stamp_ = matcher_.next_stamp();
  due_ = matcher_.posted() == 0 && probes_.empty();
  if (!due_) begin_round();
}

void Vigil::watch_over(net::PeerId id, int& left) noexcept {
  if (left > 0 && !common_.peers[id].lost && common_.network->route(id).watch_over(id)) --left;
}

void Vigil::watch_over_members(const comm::Group& group, int& left) noexcept {
  net::Network& network = *common_.network;
  const int size = group.size(), own = group.rank_of(network.self());
  const int first = own != MPI_UNDEFINED ? own + 1 : static_cast<int>(network.self().index % static_cast<std::uint32_t>(size));
  const int most = std::min(size, static_cast<int>(tuning().p2p_looked_at_members));
  for (int i = 0; i < most && left > 0; ++i) {
    const net::PeerId id = group.member((first + i) % size);
    if (network.route(id).watch_over_host(id)) --left;
  }
}

}  // namespace lapwing::p2p
