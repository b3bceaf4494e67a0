// Posted receives that are lent to a carrier, which matches where data arrives (net/lent_queue.h). A lent receive stays posted: the matcher
// knows it like any other, so that messages which the carrier passes on are matched by the same rules.
//
// What is lent. A receive that names its source and its tag, in memory in one piece, if no receive with a wildcard is posted, and all before it with
// the same key are lent. So the carrier never has a receive that must wait for an older one. When a receive is posted, those before it are lent
// first that could not be when they were posted (at most as many are looked at as a queue has places). What is lent leaves its queue only by being
// matched, or cancelled.
//
// What takes a receive back:
//   cancel       MPI_Cancel; if the carrier has claimed the receive, it has its message, and cannot be cancelled
//   a message    that the carrier has passed on and that matches the receive: it came before the receive was lent; or is too long for it, or
//                a rendezvous. If the carrier has claimed the receive, that has an earlier message, and the next one is tried
//   a loss       of the peer
// A wildcard receive that is posted later takes nothing back, for what is lent is older; but nothing is lent while it is posted. Nor does a
// probe: it sees messages that no posted receive matches, and those the carrier passes on.
//
// Requests. A long receive of the application's own gets its name on the wire when it is lent, so that the carrier can answer a request for it (kRts
// with kFlagAtOnce) by itself. What has been asked for is found when the request is collected, which it is before any of the data is judged. Answers
// of the carrier's may be lost, and are given again then (IncomingTransfers::answer_again).
//
// Credit. The carrier pays for nothing: a message's price is taken and given back when it is collected. Until then the sender is believed to have
// more than it has, which delays help (credit.h, rule 3) until the messages are collected, and no longer. A synchronous message is
// acknowledged when it is collected, unless the carrier has done so (wire::kFlagTrailer); of such acknowledgements the last are kept, in case they are lost
// (recent_tokens.h).
#pragma once

#include <cstdint>

#include "p2p/common.h"
#include "p2p/matcher.h"
#include "p2p/receive_request.h"
#include "p2p/slot_table.h"

namespace lapwing::p2p {

class Lending {
 public:
  Lending(Common& common, Matcher& matcher, SlotTable<ReceiveRequest>& named) noexcept : common_(common), matcher_(matcher), named_(named) {}

  // A receive that names this peer has been posted: lends it, where that can be.
  void offer(ReceiveRequest& receive, net::PeerId id, Peer& peer) noexcept {
    if (peer.may_match) [[unlikely]]
      lend(receive, id, peer);
  }
  // The posted receive for a message that has come as a frame, not lent any more, or null. It stays posted.
  ReceiveRequest* match(MatchKey envelope) noexcept { return lent_ == 0 ? matcher_.match(envelope) : match_lent(envelope); }
  // True: the receive is the messenger's, taken back if it was lent. False: a message is in it already, or landing.
  bool take_back(ReceiveRequest& receive) noexcept {
    return receive.lent_to_ == nullptr || take_back_from(*receive.lent_to_, receive);
  }
  // For each receive in `queue` that has its message: calls visit(receive, frame header).
  template <typename Visit>
  void collect(net::LentQueue& queue, Visit visit) noexcept {
    queue.collect([&](const net::LentRoom& room, const wire::FrameHeader& frame) {
      auto& receive = *static_cast<ReceiveRequest*>(room.receive);
      if (receive.queued()) matcher_.unpost(receive);
      forget(receive);
      visit(receive, frame);
    });
  }
  std::uint64_t lent() const noexcept { return lent_; }

 private:
  void lend(ReceiveRequest& receive, net::PeerId id, Peer& peer) noexcept;
  bool lend_one(ReceiveRequest& receive, net::LentQueue& queue) noexcept;
  ReceiveRequest* match_lent(MatchKey envelope) noexcept;
  bool take_back_from(net::LentQueue& queue, ReceiveRequest& receive) noexcept;
  void forget(ReceiveRequest& receive) noexcept;

  Common& common_;
  Matcher& matcher_;
  SlotTable<ReceiveRequest>& named_;
  std::uint64_t lent_ = 0;
};

}  // namespace lapwing::p2p
