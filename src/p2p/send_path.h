// The way of a message from MPI_Send to its first frame: which protocol it goes by, and whether the receiver's credit pays for it. What comes
// after the first frame is in outgoing_transfers.h.
//
// send_now() is the fast branch of start(), by the same envelope, credit and counters. A message for which the credit does not last
// is held, and so are all after it to that peer, in order.
#pragma once

#include "base/tuning.h"
#include "p2p/common.h"
#include "p2p/outgoing_transfers.h"

namespace lapwing::p2p {

class SendPath {
 public:
  SendPath(Common& common, OutgoingTransfers& transfers) noexcept : common_(common), transfers_(transfers) {}

  // Starts a send. It may be complete when this returns. The datatype is retained until completion; the owner of the request keeps the
  // communicator alive that long. MPI_PROC_NULL completes at once.
  void start(SendRequest& send) noexcept;
  // The short way for the usual small message, of mode standard or ready: sends it, copied, without a request. False: not this one, or not
  // now; nothing has happened, and start() takes it. Inlined, because what the caller knows of its arguments then costs nothing.
  [[gnu::always_inline]] bool send_now(const SendArguments& arguments) noexcept;
  // A message that has left whole cannot be called back; one that waits for its receiver can, if no receive has matched it.
  void cancel(SendRequest& send) noexcept;

  // Credit has come: messages that were held go, as far as it lasts.
  void drain_held(net::PeerId id) noexcept;
  void fail_held(net::PeerId id, const Status& why) noexcept;

 private:
  static void prepare(SendRequest& send) noexcept;
  // When a message that travels whole is to be taken, if so much credit is left. Only the receiving application waits for a user's; but more
  // credit, which a receiver grants when it reads the first of our messages, should be here before it is needed. And a large message
  // had better be where it belongs when that application asks.
  static net::Delivery delivery_of(const SendArguments& arguments, std::uint64_t bytes, std::uint64_t credit_left) noexcept {
    if (arguments.plane != comm::Plane::kPointToPoint || arguments.mode == SendMode::kSynchronous) return net::Delivery::kAtOnce;
    if (credit_left < kInitialUnits / 2) return net::Delivery::kUrgent;
    return bytes <= tuning().p2p_waiting_bytes ? net::Delivery::kWhenAsked : net::Delivery::kAtOnce;
  }
  // send_now() of a short message that does not lie together: a copy more costs less than a request. The arguments come by value: those of other
  // messages then need not lie in memory.
  [[gnu::noinline]] bool send_packed_now(SendArguments arguments, std::uint64_t bytes) noexcept;
  bool launch(SendRequest& send) noexcept;
  static std::uint64_t longest_whole(const SendRequest& send, const net::Capabilities& way) noexcept;
  net::Asking asking(const SendRequest& send, const net::Capabilities& way) noexcept;
  std::uint64_t first_bytes(const SendRequest& send, const OutgoingAccount& account) noexcept;
  void unhold(SendRequest& send) noexcept;

  Common& common_;
  OutgoingTransfers& transfers_;
};

inline bool SendPath::send_now(const SendArguments& arguments) noexcept {
  if (arguments.destination == MPI_PROC_NULL) [[unlikely]]
    return false;
  const datatype::Datatype& type = *arguments.type;
  const std::uint64_t bytes = static_cast<std::uint64_t>(type.size()) * arguments.count;
  const net::PeerId id = arguments.communicator->peers(arguments.plane).member(arguments.destination);
  Peer& peer = common_.peers[id];
  if (peer.transport == nullptr) [[unlikely]]
    common_.find_way(id, peer);
  if (bytes > peer.most_at_once) return false;
  if (bytes != 0 && !type.contiguous()) [[unlikely]]
    return send_packed_now(arguments, bytes);
  const Account account = account_of(static_cast<std::uint64_t>(arguments.plane));
  OutgoingAccount& outgoing = peer.outgoing[account];
  const std::uint64_t price = message_units(bytes);
  if (peer.lost || !peer.held[account].empty() || !outgoing.pays_whole(price)) return false;
  wire::MessageHeader header = envelope(arguments, wire::MessageKind::kEager);
  header.payload_bytes = bytes;
  header.credit = peer.take_owed();
  const auto* payload = static_cast<const std::byte*>(arguments.buffer) + (bytes != 0 ? type.true_lb() : 0);
  const net::Delivery delivery = delivery_of(arguments, bytes, outgoing.credit - price);
  wire::FrameHeader frame = wire::pack(header);
  if (!peer.transport->send_now(id, frame, payload, delivery)) [[unlikely]] {
    peer.keep_owed(header.credit);
    return false;
  }
  outgoing.spend(price);
  ++common_.counters.eager_sends;
  return true;
}

}  // namespace lapwing::p2p
