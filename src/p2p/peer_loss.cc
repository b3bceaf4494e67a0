#include "p2p/peer_loss.h"

#include <utility>
#include <vector>

#include "base/internal_error.h"
#include "base/log.h"

namespace lapwing::p2p {

void PeerLoss::end(net::PeerId id, const Status& why, How how) noexcept {
  Peer& peer = parts_.common.peers[id];
  if (std::exchange(peer.lost, true)) return;
  peer.why = why.copy();
  if (how == How::kFailed) {
    parts_.common.failed_peers.push_back(id);
    parts_.common.network->abandon(id, peer.why);
  }
  end_landing(peer);
  parts_.probes.notify_lost(id, how == How::kFailed);
  end_posted(id, peer.why, how);
  parts_.incoming.fail_all_from(id, peer.why);
  sends_.fail_held(id, peer.why);
  parts_.outgoing.fail_all_to(id, peer.why);
  if (how == How::kFinalized) return;
  log_info("%s is lost: %s", parts_.common.network->describe(id).c_str(), peer.why.text());
  notify_watchers(id, peer.why);
  if (!given_up_) tell_all(id);
}

void PeerLoss::notify_watchers(net::PeerId id, const Status& why) noexcept {
  auto& watchers = parts_.common.loss_watchers;
  for (auto at = watchers.begin(); at != watchers.end();) {
    LossWatcher& watcher = *at;
    ++at;
    watcher.on_process_lost(id, why);
  }
}

// ---- the others -----------------------------------------------------------------------------------------------------

void PeerLoss::tell_all(net::PeerId lost) noexcept {
  for (net::PeerId peer; peer.index < parts_.common.network->size(); ++peer.index)
    if (parts_.common.network->is_met(peer)) tell(peer, lost);
}

void PeerLoss::tell(net::PeerId met) noexcept {
  if (given_up_) return tell(met, parts_.common.network->self());
  for (const net::PeerId lost : parts_.common.failed_peers) tell(met, lost);
}

void PeerLoss::tell_lost_one(net::PeerId lost) noexcept {
  if (parts_.common.network->is_met(lost)) tell(lost, lost);
}

void PeerLoss::be_given_up() noexcept {
  if (!std::exchange(given_up_, true)) tell_all(parts_.common.network->self());
}

void PeerLoss::tell(net::PeerId peer, net::PeerId lost) noexcept {
  wire::MessageHeader header;
  header.kind = wire::MessageKind::kLost;
  header.context = wire::as_context(parts_.common.network->name(lost));
  parts_.frames.post_control(peer, header);
}

// ---- what ends ------------------------------------------------------------------------------------------------------

// The message whose frame is half here will never be whole. One that a matched probe has taken out stays, as a rendezvous whose sender is
// lost.
void PeerLoss::end_landing(Peer& peer) noexcept {
  if (ReceiveRequest* receive = std::exchange(peer.landing_receive, nullptr))
    parts_.incoming.fail(*receive, peer.why.copy());
  UnexpectedMessage* message = std::exchange(peer.landing_message, nullptr);
  if (message == nullptr) return;
  ReceiveRequest* receive = message->receive;
  const bool in_queue = message->ByEnvelope::queued();
  message->arrived = message->is_rts = true;
  if (in_queue) parts_.matcher.take(*message);
  if (receive != nullptr) parts_.incoming.fail(*receive, peer.why.copy());
  if (receive != nullptr || in_queue || message->unwanted) receives_.discard(*message);
}

void PeerLoss::end_posted(net::PeerId id, const Status& why, How how) noexcept {
  std::vector<ReceiveRequest*> ended;
  parts_.matcher.posted_table().for_each([&](MatchNode& node) {
    auto& receive = static_cast<ReceiveRequest&>(node);
    const ReceiveArguments& arguments = receive.arguments();
    const bool needs_it = node.key.peer() == id ||
                          (node.key.peer() == kAnyPeer && how == How::kFailed &&
                           arguments.communicator->peers(arguments.plane).rank_of(id) != MPI_UNDEFINED);
    if (needs_it) ended.push_back(&receive);
  });
  for (ReceiveRequest* receive : ended) {
    LAPWING_CHECK(parts_.lending.take_back(*receive));  // a carrier says what has landed before it says that the peer is lost
    parts_.matcher.unpost(*receive);
    parts_.incoming.fail(*receive, why.copy());
  }
}

}  // namespace lapwing::p2p
