// What all parts of a messenger work with: the engine, the network, the peers, the counters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/sparse_table.h"
#include "base/tuning.h"
#include "comm/group.h"
#include "engine/engine.h"
#include "net/network.h"
#include "p2p/loss_watcher.h"
#include "p2p/peer.h"

namespace lapwing::p2p {

struct MessengerCounters {
  std::uint64_t eager_sends = 0, rendezvous_sends = 0, held_back_sends = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t messages_landed = 0, bytes_landed = 0;  // of them: matched by their carrier (net/lent_queue.h)
  std::uint64_t requests_answered = 0;                  // by their carrier, in this process's name
  std::uint64_t unexpected_messages = 0, unexpected_bytes = 0;  // bytes of them that were stored, in all
  std::uint64_t unexpected_bytes_now = 0, unexpected_bytes_peak = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_moved = 0;       // payload sent and received
  std::uint64_t bytes_overlapped = 0;  // of these: while the event thread drove, so while the application computed
};

struct Common {
  engine::Engine& engine;
  net::Network* network = nullptr;  // from Messenger::set_network on
  SparseTable<Peer> peers;
  std::vector<net::PeerId> failed_peers;  // those that are lost, but for those that have finalized
  IntrusiveList<LossWatcher, LossWatcher> loss_watchers;
  MessengerCounters counters;

  explicit Common(engine::Engine& engine) noexcept : engine(engine) {}

  [[gnu::noinline, gnu::cold]] void find_way(net::PeerId id, Peer& peer) noexcept {
    peer.transport = &network->route(id);
    const net::Capabilities& way = network->capabilities(id);
    peer.most_at_once = std::min({way.eager_limit, way.at_once, peer.transport->frame_limit(id)});
    peer.timed_above = way.pulls_above;
  }
  const net::Capabilities& way_to(net::PeerId id) noexcept { return network->capabilities(id); }
  std::uint64_t frame_limit(net::PeerId id) noexcept { return network->route(id).frame_limit(id); }
  // Why a receive from any member of this group would fail; null: it would not.
  const Status* failure_among(const comm::Group& group) noexcept {
    for (const net::PeerId id : failed_peers) {
      if (group.rank_of(id) != MPI_UNDEFINED) return &peers[id].why;
    }
    return nullptr;
  }

  // Payload has left, or has landed.
  void count_moved(std::uint64_t bytes) noexcept {
    counters.bytes_moved += bytes;
    if (engine.event_thread_drives()) counters.bytes_overlapped += bytes;
    if (bytes >= tuning().p2p_much_moved) engine.helped();
  }
};

}  // namespace lapwing::p2p
