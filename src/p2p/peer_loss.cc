// A peer is gone: every operation that needs it ends, now, with an error that says why.
//
// Eager messages that have arrived whole stay and can still be received. A receive that names the lost rank fails, also one that is
// posted later. So does a receive from any source on a communicator that the lost rank is a member of: its message may be
// just the one that will not come, and then no other rank would end the wait. (The proposals for fault tolerance in MPI raise
// an error there, too.) Not where the peer has finalized: it had nothing more to send.
#include <vector>

#include "p2p/messenger_state.h"

namespace lapwing::p2p {

void Messenger::State::on_peer_gone(net::PeerId id, const Status& why, bool failed) noexcept {
  Peer& peer = peers[id];
  if (peer.lost) return;
  peer.lost = true;
  peer.why = why.copy();
  if (failed) failed_peers.push_back(id);

  if (ReceiveRequest* receive = std::exchange(peer.landing_receive, nullptr)) fail(*receive, peer.why.copy());
  if (Message* message = std::exchange(peer.landing_message, nullptr)) {
    // It will never be whole. Whoever has it from a matched probe finds a request whose sender is lost.
    ReceiveRequest* receive = message->receive;
    const bool in_queue = message->ByEnvelope::queued();
    message->arrived = message->is_rts = true;
    if (in_queue) matcher.take(*message);
    if (receive != nullptr) {
      fail(*receive, peer.why.copy());
      discard(*message);
    } else if (in_queue || message->unwanted) {
      discard(*message);
    }
  }

  for (auto at = probes.begin(); at != probes.end();) {
    ProbeWatch& watch = *at;
    ++at;
    if (watch.key_.peer() != id && !(failed && watch.key_.peer() == kAnyPeer)) continue;
    watch.unlink();  // its thread will find out why (Messenger::reachable)
    engine.arrive(watch.waiter_);
  }

  std::vector<ReceiveRequest*> ended_receives;
  matcher.posted_table().for_each([&](MatchNode& node) {
    auto& receive = static_cast<ReceiveRequest&>(node);
    const bool needs_it = node.key.peer() == kAnyPeer ? failed && may_be_from(receive, id) : node.key.peer() == id;
    if (needs_it) ended_receives.push_back(&receive);
  });
  for (ReceiveRequest* receive : ended_receives) unpost(*receive);
  receives.for_each([&](ReceiveRequest& receive) {
    if (receive.peer_ == id) ended_receives.push_back(&receive);
  });
  for (ReceiveRequest* receive : ended_receives) fail(*receive, peer.why.copy());

  for (auto& held : peer.held) {
    while (!held.empty()) {
      SendRequest& send = held.front();
      send.ListNode<HeldTag>::unlink();
      send.held_ = false;
      fail(send, peer.why.copy());
    }
  }
  // A send whose frames are still with the transport ends when the transport gives them up.
  std::vector<SendRequest*> ended_sends;
  sends.for_each([&](SendRequest& send) {
    if (send.peer_ == id) ended_sends.push_back(&send);
  });
  for (SendRequest* send : ended_sends) fail(*send, peer.why.copy());
}

const Status* Messenger::State::failure_among(const comm::Group& group) noexcept {
  for (const net::PeerId id : failed_peers) {
    if (group.rank_of(id) != MPI_UNDEFINED) return &peers[id].why;
  }
  return nullptr;
}

bool Messenger::State::may_be_from(const ReceiveRequest& receive, net::PeerId id) noexcept {
  return receive.arguments_.communicator->peers(receive.arguments_.plane).rank_of(id) != MPI_UNDEFINED;
}

}  // namespace lapwing::p2p
