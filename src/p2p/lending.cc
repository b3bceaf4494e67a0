#include "p2p/lending.h"

#include <utility>

namespace lapwing::p2p {
namespace {

net::LentQueue::Key lent_key(MatchKey key) noexcept {
  return {key.context, static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.tag()))};
}

}  // namespace

void Lending::lend(ReceiveRequest& receive, net::PeerId id, Peer& peer) noexcept {
  if (peer.transport == nullptr) common_.find_way(id, peer);
  peer.may_match = common_.way_to(id).matches;
  const MatchKey key = receive.MatchNode::key;
  if (!peer.may_match || matcher_.wildcards() != 0 || key.has_wildcard()) return;
  net::LentQueue* queue = peer.transport->lent_queue(id, lent_key(key));
  if (queue == nullptr || queue->full()) return;
  for (MatchNode* node = matcher_.posted_table().oldest(key); node != nullptr; node = MatchTable::next(*node)) {
    if (!lend_one(static_cast<ReceiveRequest&>(*node), *queue)) return;
  }
}

// All before it with the same key are lent. False: it is not.
bool Lending::lend_one(ReceiveRequest& receive, net::LentQueue& queue) noexcept {
  if (receive.lent_to_ != nullptr) return true;
  if (receive.walk_ || queue.full()) return false;
  ++lent_;
  receive.lent_to_ = &queue;
  const bool unattended = receive.arguments_.plane == comm::Plane::kPointToPoint;
  if (unattended && receive.capacity_ > tuning().p2p_asks_above) receive.token_ = named_.take(receive);
  receive.lent_position_ =
      queue.lend(lent_key(receive.MatchNode::key), receive.capacity_, {receive.contiguous_, &receive, unattended, receive.token_});
  return true;
}

// A receive that the carrier has claimed leaves the queue: it has a message that came earlier.
ReceiveRequest* Lending::match_lent(MatchKey envelope) noexcept {
  ReceiveRequest* receive = matcher_.match(envelope);
  while (receive != nullptr && !take_back(*receive)) {
    matcher_.unpost(*receive);
    receive = matcher_.match(envelope);
  }
  return receive;
}

bool Lending::take_back_from(net::LentQueue& queue, ReceiveRequest& receive) noexcept {
  if (!queue.take_back(receive.lent_position_)) return false;
  forget(receive);
  if (receive.token_ != 0) named_.release(std::exchange(receive.token_, 0));
  return true;
}

void Lending::forget(ReceiveRequest& receive) noexcept {
  receive.lent_to_ = nullptr;
  --lent_;
}

}  // namespace lapwing::p2p
