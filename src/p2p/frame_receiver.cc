#include "p2p/frame_receiver.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bulk_copy.h"
#include "base/small_copy.h"

namespace lapwing::p2p {
namespace {

using wire::MessageKind;

net::Landing violation(const char* reason) noexcept {
  net::Landing landing;
  landing.violation = true;
  landing.reason = reason;
  return landing;
}

bool is_pullable(const wire::MessageHeader& header) noexcept {
  return header.kind == MessageKind::kRts && (header.flags & wire::kFlagPullable) != 0;
}

// The payload that a receiver without a posted receive must store.
std::uint64_t stored_bytes(const wire::MessageHeader& header) noexcept {
  return is_pullable(header) ? 0 : header.payload_bytes;
}

std::uint64_t load_address(const std::byte* bytes) noexcept {
  std::uint64_t address = 0;
  for (int i = 7; i >= 0; --i) address = address << 8 | static_cast<std::uint64_t>(bytes[i]);
  return address;
}

// ---- what is wrong with a frame; null if nothing ----

constexpr const char* kNegativeTag = "the tag of its message is negative";
constexpr const char* kOverCredit = "it sends more than its credit allows";

const char* breach_of_peer(const Peer& peer, const wire::MessageHeader& header) noexcept {
  if (header.credit != 0 && peer.gives_absurdly(header.credit)) return "it gives back more credit than there is";
  if (peer.controls > Peer::kSome && peer.leaves_answers()) return "it asks for answers without end and reads none";
  return nullptr;
}

const char* breach_of_rts(const wire::MessageHeader& header) noexcept {
  if (header.sender_token == 0) return "its RTS names no send";
  if (is_pullable(header) && header.payload_bytes != sizeof(Peer::address))
    return "an RTS that may be pulled carries its address and nothing else";
  return nullptr;
}

}  // namespace

FrameReceiver::FrameReceiver(Parts& parts, SendPath& sends, ReceivePath& receives) noexcept
    : common_(parts.common),
      frames_(parts.frames),
      credit_(parts.credit),
      matcher_(parts.matcher),
      lending_(parts.lending),
      outgoing_(parts.outgoing),
      incoming_(parts.incoming),
      sends_(sends),
      receives_(receives),
      loss_(parts, sends, receives),
      heard_losses_(parts.common, loss_) {}

// They name the requests that they are for.
bool FrameReceiver::may_overtake(const wire::FrameHeader& frame) const noexcept {
  const wire::MessageHeader header = wire::unpack(frame);
  const bool answer = header.kind == MessageKind::kCts || header.kind == MessageKind::kAck;
  return header.kind == MessageKind::kData || (answer && header.flags == wire::kFlagByCarrier);
}

// ---- the fast branch ------------------------------------------------------------------------------------------------

bool FrameReceiver::receive_now(net::PeerId id, const wire::FrameHeader& frame, const std::byte* payload) noexcept {
  if (!wire::is_plain_eager(frame)) return false;
  const wire::MessageHeader header = wire::unpack_as(MessageKind::kEager, frame);
  Peer& peer = common_.peers[id];
  if (header.tag < 0 || breach_of_peer(peer, header) != nullptr) return false;
  ReceiveRequest* receive = lending_.match({header.context, id, header.tag});
  const std::uint64_t bytes = header.payload_bytes;
  if (receive == nullptr || receive->walk_ || bytes > receive->capacity_) return false;
  if (!ReceivePath::is_truly_from(*receive, id, header.source)) return false;
  if (!peer.incoming[account_of(header.context)].pass(message_units(bytes))) return false;
  matcher_.unpost(*receive);
  if (bytes <= kSmallCopy)
    copy_small(receive->contiguous_, payload, bytes);
  else
    plain_copy(receive->contiguous_, payload, bytes);
  on_payload(id, peer, *receive, header);
  return true;
}

inline void FrameReceiver::take_credit(net::PeerId id, Peer& peer, std::uint32_t credit) noexcept {
  peer.gain(credit);
  if (peer.holds_sends()) [[unlikely]]
    sends_.drain_held(id);
}

// An eager message that was paid for is in its receive, whole.
[[gnu::always_inline]] inline void FrameReceiver::on_payload(net::PeerId id, Peer& peer, ReceiveRequest& receive,
                                      const wire::MessageHeader& header) noexcept {
  receives_.accept(receive, id, header.source, header.tag, header.receiver_token, header.payload_bytes);
  receive.received_ = header.payload_bytes;
  common_.count_moved(header.payload_bytes);
  incoming_.complete(receive);
  if (header.sender_token != 0) frames_.answer(id, MessageKind::kAck, header.sender_token);
  credit_.after_message(id, peer, account_of(header.context));
  if (header.credit != 0) take_credit(id, peer, header.credit);
}

// ---- messages that a carrier has matched ----------------------------------------------------------------------------

const char* FrameReceiver::on_landed(net::PeerId id, net::LentQueue& queue) noexcept {
  const char* breach = nullptr;
  lending_.collect(queue, [&](ReceiveRequest& receive, const wire::FrameHeader& frame) {
    const char* breach_here = take_landed(id, receive, frame);
    if (breach == nullptr) breach = breach_here;
  });
  return breach;
}

const char* FrameReceiver::take_landed(net::PeerId id, ReceiveRequest& receive, const wire::FrameHeader& frame) noexcept {
  wire::MessageHeader header = wire::unpack(frame);
  Peer& peer = common_.peers[id];
  const char* breach = breach_of_peer(peer, header);
  if (breach == nullptr && header.tag < 0) breach = kNegativeTag;
  if (breach == nullptr && !peer.incoming[account_of(header.context)].pass(message_units(header.payload_bytes)))
    breach = kOverCredit;
  if (breach == nullptr && header.kind == MessageKind::kRts && (receive.token_ == 0 || header.message_bytes > receive.capacity_))
    breach = "a program in the kernel has answered what it must not";
  if (breach != nullptr) {
    incoming_.fail(receive, Status::error(MPI_ERR_OTHER, "%s broke the rules: %s",
                                          common_.network->describe(id).c_str(), breach));
    return breach;
  }
  if (header.kind == MessageKind::kRts) return take_request(id, peer, receive, header);
  ++common_.counters.messages_landed;
  common_.counters.bytes_landed += header.payload_bytes;
  if (frame.trailer_bytes() != 0) {  // the carrier has acknowledged it
    ++common_.counters.requests_answered;
    peer.acknowledged.add(std::exchange(header.sender_token, 0));
  }
  on_payload(id, peer, receive, header);
  return nullptr;
}

void FrameReceiver::on_answers_lost(net::PeerId id) noexcept {
  incoming_.answer_again(id);
  common_.peers[id].acknowledged.for_each([&](std::uint64_t token) {
    wire::MessageHeader again;
    again.kind = MessageKind::kAck;
    again.flags = wire::kFlagAgain;
    again.sender_token = token;
    frames_.post_control(id, again);
  });
}

// The carrier has answered it.
const char* FrameReceiver::take_request(net::PeerId id, Peer& peer, ReceiveRequest& receive, const wire::MessageHeader& header) noexcept {
  ++common_.counters.requests_answered;
  receives_.accept(receive, id, header.source, header.tag, header.receiver_token, header.message_bytes);
  incoming_.answered_by_carrier(receive, header.sender_token);
  credit_.after_message(id, peer, account_of(header.context));
  if (header.credit != 0) take_credit(id, peer, header.credit);
  return nullptr;
}

// ---- headers --------------------------------------------------------------------------------------------------------

net::Landing FrameReceiver::on_header(net::PeerId id, const wire::FrameHeader& frame) noexcept {
  wire::MessageHeader header;
  if (wire::is_plain_eager(frame)) {
    header = wire::unpack_as(MessageKind::kEager, frame);
  } else {
    malformed_ = wire::decode(frame, header);
    if (!malformed_.ok()) return violation(malformed_.text());
  }
  Peer& peer = common_.peers[id];
  const char* breach = breach_of_peer(peer, header);
  if (breach != nullptr) return violation(breach);
  switch (header.kind) {
    case MessageKind::kEager:
      return on_message_header(id, peer, header, header.payload_bytes);
    case MessageKind::kRts:
      breach = breach_of_rts(header);
      return breach != nullptr ? violation(breach) : on_message_header(id, peer, header, stored_bytes(header));
    case MessageKind::kData:
      breach = incoming_.breach_of_data(id, header);
      return breach != nullptr ? violation(breach) : incoming_.landing_of_data(header);
    case MessageKind::kCts:
    case MessageKind::kAck:
    case MessageKind::kFin:
    case MessageKind::kCancelAck:
      breach = outgoing_.breach_of_answer(id, header);
      return breach != nullptr ? violation(breach) : net::Landing();
    case MessageKind::kCredit:
    case MessageKind::kCancel:
    case MessageKind::kLost:
      break;
  }
  return {};
}

// `stored`: bytes of payload that wait here if no receive is posted.
net::Landing FrameReceiver::on_message_header(net::PeerId id, Peer& peer, const wire::MessageHeader& header,
                                              std::uint64_t stored) noexcept {
  if (header.tag < 0) return violation(kNegativeTag);
  if (!peer.incoming[account_of(header.context)].spend(message_units(stored))) return violation(kOverCredit);
  ReceiveRequest* receive = lending_.match({header.context, id, header.tag});
  if (receive == nullptr) return store(id, peer, header, stored);
  if (!ReceivePath::is_truly_from(*receive, id, header.source))
    return violation("it sends as a rank that it does not have in that communicator");
  matcher_.unpost(*receive);
  receives_.accept(*receive, id, header.source, header.tag, header.receiver_token, header.message_bytes);
  peer.landing_receive = receive;
  if (header.kind == MessageKind::kRts) {
    if (is_pullable(header)) return {.base = peer.address, .accepted = sizeof peer.address};
    if (receive->wanted_ > header.payload_bytes) incoming_.post_cts(*receive, header.sender_token, header.payload_bytes);
  } else if (header.payload_bytes > peer.timed_above) {
    incoming_.time(*receive);
  }
  return IncomingTransfers::landing_of(*receive, 0, header.payload_bytes);
}

net::Landing FrameReceiver::store(net::PeerId id, Peer& peer, const wire::MessageHeader& header,
                                  std::uint64_t stored) noexcept {
  const bool pullable = is_pullable(header);
  UnexpectedMessage& message = receives_.keep(id, header, stored, pullable);
  peer.landing_message = &message;
  return {.base = pullable ? peer.address : message.payload(), .accepted = header.payload_bytes};
}

// ---- whole frames ---------------------------------------------------------------------------------------------------

void FrameReceiver::on_frame(net::PeerId id, const wire::FrameHeader& frame) noexcept {
  const wire::MessageHeader header = wire::unpack(frame);
  switch (header.kind) {
    case MessageKind::kEager:
      on_message(id, header, header.payload_bytes, 0);
      break;
    case MessageKind::kRts:
      on_message(id, header, stored_bytes(header), is_pullable(header) ? load_address(common_.peers[id].address) : 0);
      break;
    case MessageKind::kData:
      incoming_.on_data(id, header);
      break;
    case MessageKind::kCts:
    case MessageKind::kAck:
    case MessageKind::kFin:
    case MessageKind::kCancelAck:
      outgoing_.on_answer(header);
      break;
    case MessageKind::kCancel:
      on_cancel(id, header);
      break;
    case MessageKind::kLost:
      heard_losses_.hear_of(wire::lost_process(header), id);
      break;
    case MessageKind::kCredit:
      break;
  }
  if (header.credit != 0) take_credit(id, common_.peers[id], header.credit);
}

void FrameReceiver::on_message(net::PeerId id, const wire::MessageHeader& header, std::uint64_t stored,
                               std::uint64_t address) noexcept {
  Peer& peer = common_.peers[id];
  const Account account = account_of(header.context);
  if (ReceiveRequest* receive = std::exchange(peer.landing_receive, nullptr)) {
    const std::uint64_t landed = std::min(stored, receive->wanted_);
    receive->received_ += landed;
    common_.count_moved(landed);
    peer.incoming[account].release(message_units(stored));
    incoming_.go_on(*receive, header, address, false);
  } else if (UnexpectedMessage* message = std::exchange(peer.landing_message, nullptr)) {
    on_stored(*message, address);
  }
  credit_.after_message(id, peer, account);
}

void FrameReceiver::on_stored(UnexpectedMessage& message, std::uint64_t address) noexcept {
  message.arrived = true;
  message.address = address;
  common_.count_moved(message.stored_bytes);
  if (message.unwanted)
    receives_.discard(message);
  else if (message.receive != nullptr)
    receives_.deliver(*message.receive, message);
}

void FrameReceiver::on_cancel(net::PeerId id, const wire::MessageHeader& header) noexcept {
  UnexpectedMessage* message = header.sender_token != 0
                         ? matcher_.find_sent_as({header.context, id, header.tag}, header.sender_token)
                         : nullptr;
  wire::MessageHeader answer;
  answer.kind = MessageKind::kCancelAck;
  answer.sender_token = header.sender_token;
  if (message != nullptr) {
    matcher_.take(*message);
    receives_.discard(*message);
    answer.flags = wire::kFlagCancelled;
  }
  frames_.post_control(id, answer);
}

// ---- the end of a peer ----------------------------------------------------------------------------------------------

void FrameReceiver::on_peer_left(net::PeerId id, const Status& why) noexcept {
  loss_.end(id, why, PeerLoss::How::kFinalized);
}

void FrameReceiver::on_peer_lost(net::PeerId id, const Status& why, const net::Landing*) noexcept {
  loss_.end(id, why, PeerLoss::How::kFailed);
}

}  // namespace lapwing::p2p
