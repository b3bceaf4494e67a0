// A peer is gone: every operation that needs it ends, now, with an error that says why.
//
// Eager messages that have arrived whole stay and can still be received. A receive from any source stays posted, because
// somebody else may satisfy it; a receive that names the lost rank fails, also one that is posted later.
#include <vector>

#include "p2p/messenger_state.h"

namespace lapwing::p2p {

void Messenger::State::on_peer_lost(net::PeerId id, const Status& why) noexcept {
  Peer& peer = peers[id];
  if (peer.lost) return;
  peer.lost = true;
  peer.why = !why.ok()
                 ? why.copy()
                 : Status::error(MPI_ERR_PROC_ABORTED, "%s has finalized MPI and takes no part in messages any more",
                                 network->describe(id).c_str());

  if (ReceiveRequest* receive = std::exchange(peer.landing_receive, nullptr)) fail(*receive, peer.why.copy());
  if (Message* message = std::exchange(peer.landing_message, nullptr)) {
    // It will never be whole. Whoever has it from a matched probe finds a request whose sender is lost.
    ReceiveRequest* receive = message->receive;
    const bool in_queue = message->ByEnvelope::queued();
    message->arrived = message->is_request = true;
    if (in_queue) unlink(*message);
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
    if (watch.key_.peer() != id) continue;
    watch.unlink();  // its thread will find out why (Messenger::reachable)
    engine.arrive(watch.waiter_);
  }

  std::vector<ReceiveRequest*> ended_receives;
  posted.for_each([&](MatchNode& node) {
    if (node.key.peer() == id) ended_receives.push_back(static_cast<ReceiveRequest*>(&node));
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

}  // namespace lapwing::p2p
