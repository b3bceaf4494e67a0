#include "p2p/outgoing_transfers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/tuning.h"

namespace lapwing::p2p {

using wire::MessageKind;

namespace {

// By what carries the request, and by the receiver in case that is lost.
bool may_come_twice(const wire::MessageHeader& header) noexcept {
  return (header.kind == MessageKind::kCts || header.kind == MessageKind::kAck) && (header.flags & (wire::kFlagByCarrier | wire::kFlagAgain)) != 0;
}

}  // namespace

void OutgoingTransfers::begin(SendRequest& send) noexcept {
  common_.engine.begin(send);
  ++active_;
  send.transfers_ = this;
  send.result().clear();
  send.walk_.reset();
  send.next_byte_ = send.wanted_ = send.receiver_token_ = send.token_ = 0;
  send.asking_ = net::Asking::kNever;
  send.trailer_ = send.held_ = send.rendezvous_ = send.awaits_answer_ = send.awaits_cancel_ack_ = false;
}

// ---- the first frame ------------------------------------------------------------------------------------------------

void OutgoingTransfers::post_whole(SendRequest& send, net::Delivery delivery) noexcept {
  ++common_.counters.eager_sends;
  send.next_byte_ = send.bytes_;
  wire::MessageHeader header = envelope(send.arguments_, MessageKind::kEager);
  if (send.arguments_.mode == SendMode::kSynchronous) {
    send.awaits_answer_ = true;
    header.sender_token = send.token_ = sends_.take(send);
    std::uint64_t& trailers = common_.peers[send.peer_].trailers;
    send.trailer_ = send.asking_ == net::Asking::kKernel && trailers < RecentTokens::kMost;
    trailers += send.trailer_;
  }
  header.payload_bytes = send.bytes_;
  send.frames_[0].trailer = send.trailer_;
  send.frames_[0].data = send.contiguous_;
  send.frames_[0].delivery = delivery;
  post_frame(send, send.frames_[0], header);
  settle(send);
}

void OutgoingTransfers::post_rts(SendRequest& send, std::uint64_t first_bytes, Rts how) noexcept {
  ++common_.counters.rendezvous_sends;
  SendRequest::Frame& frame = send.frames_[0];
  wire::MessageHeader header = envelope(send.arguments_, MessageKind::kRts);
  send.rendezvous_ = send.awaits_answer_ = true;
  header.message_bytes = send.bytes_;
  header.sender_token = send.token_ = sends_.take(send);
  header.payload_bytes = first_bytes;
  frame.data = send.contiguous_;
  frame.delivery = net::Delivery::kAtOnce;
  send.next_byte_ = first_bytes;
  if (how == Rts::kAtOnce) header.flags = wire::kFlagAtOnce;
  if (how == Rts::kOffersPull) {
    header.flags = wire::kFlagPullable;
    const auto address = reinterpret_cast<std::uint64_t>(send.contiguous_);
    for (int i = 0; i < 8; ++i) send.offer_[i] = static_cast<std::byte>(address >> (8 * i));
    frame.data = send.offer_;
    header.payload_bytes = sizeof send.offer_;
    send.next_byte_ = 0;
  }
  const net::PeerId peer = send.peer_;
  post_frame(send, frame, header);
  owed_.give(peer);
}

void OutgoingTransfers::post_cancel(SendRequest& send) noexcept {
  if (!send.awaits_answer_ || send.awaits_cancel_ack_) return;
  send.awaits_cancel_ack_ = true;
  wire::MessageHeader header = envelope(send.arguments_, MessageKind::kCancel);
  header.sender_token = send.token_;
  header.payload_bytes = std::min(common_.way_to(send.peer_).urgent_bytes, net::kMostUrgentBytes);
  frames_.post_control(send.peer_, header);
}

// ---- Data -----------------------------------------------------------------------------------------------------------

// After CTS: keeps Data frames with the transport until all wanted bytes have been posted.
void OutgoingTransfers::pump(SendRequest& send) noexcept {
  while (send.next_byte_ < send.wanted_) {
    SendRequest::Frame* frame = !send.frames_[0].busy ? &send.frames_[0] : &send.frames_[1];
    const bool walk_busy = send.walk_ && (send.frames_[0].busy || send.frames_[1].busy);
    if (frame->busy || walk_busy) break;
    post_chunk(send, *frame);
  }
  settle(send);
}

void OutgoingTransfers::post_chunk(SendRequest& send, SendRequest::Frame& frame) noexcept {
  const std::uint64_t advised = std::max(common_.way_to(send.peer_).data_chunk_of(send.wanted_), tuning().p2p_least_chunk);
  const std::uint64_t chunk = std::min(advised, common_.network->data_route(send.peer_).frame_limit(send.peer_));
  const std::uint64_t bytes = std::min(chunk, send.wanted_ - send.next_byte_);
  wire::MessageHeader header;
  header.kind = MessageKind::kData;
  header.payload_bytes = bytes;
  header.offset = send.next_byte_;
  header.receiver_token = send.receiver_token_;
  frame.data = send.contiguous_ != nullptr ? send.contiguous_ + send.next_byte_ : nullptr;
  send.next_byte_ += bytes;
  common_.count_moved(bytes);
  post_frame(send, frame, header);
}

void OutgoingTransfers::post_frame(SendRequest& send, SendRequest::Frame& frame,
                                   const wire::MessageHeader& header) noexcept {
  const bool is_data = header.kind == MessageKind::kData;
  frame.header = wire::pack(header);
  if (is_data || send.rendezvous_) frame.trailer = false;
  frame.walk = send.walk_ ? &*send.walk_ : nullptr;
  frame.undelivered = send.walk_ ? nullptr : &send.undelivered_;
  frame.any_order = is_data && !send.walk_;
  frame.send = &send;
  frame.on_taken = [](net::SendOp& op, const Status& status) noexcept {
    auto& taken = static_cast<SendRequest::Frame&>(op);
    taken.busy = false;
    taken.send->transfers_->go_on(*taken.send, status);
  };
  frame.busy = !(is_data ? frames_.post_data(send.peer_, frame) : frames_.post(send.peer_, frame));
}

SendRequest::Undelivered::Undelivered(SendRequest& owner) noexcept
    : net::Undelivered([](net::Undelivered& all, const Status& status) noexcept {
        SendRequest& send = static_cast<Undelivered&>(all).send;
        send.transfers_->go_on(send, status);
      }),
      send(owner) {}

void OutgoingTransfers::go_on(SendRequest& send, const Status& status) noexcept {
  if (status.ok())
    pump(send);
  else
    fail(send, status.copy());
}

// ---- answers --------------------------------------------------------------------------------------------------------

const char* OutgoingTransfers::breach_of_answer(net::PeerId id, const wire::MessageHeader& header) const noexcept {
  const SendRequest* send = sends_.find(header.sender_token);
  if (may_come_twice(header) && (send == nullptr || !send->awaits_answer_)) return nullptr;
  if (send == nullptr || send->peer_ != id) return "it answers a send that is not waiting for it";
  if (header.kind == MessageKind::kCancelAck) {
    if (!send->awaits_cancel_ack_) return "it takes back a send that was not cancelled";
    if ((header.flags & wire::kFlagCancelled) != 0 && !send->awaits_answer_)
      return "it takes back a send that it has received";
    return nullptr;
  }
  if (!send->awaits_answer_) return "it answers a send twice";
  if ((header.kind == MessageKind::kAck) == send->rendezvous_) return "its answer is not to what it was sent";
  if (header.kind == MessageKind::kCts) {
    if (header.message_bytes > send->bytes_ || header.message_bytes <= send->next_byte_)
      return "it asks for bytes that the message does not have";
    if (header.receiver_token == 0) return "it asks for data and names no receive";
  }
  return nullptr;
}

void OutgoingTransfers::on_answer(const wire::MessageHeader& header) noexcept {
  SendRequest* send = sends_.find(header.sender_token);
  if (send == nullptr) return;
  if (header.kind == MessageKind::kCancelAck) {
    send->awaits_cancel_ack_ = false;
    if ((header.flags & wire::kFlagCancelled) != 0) {
      send->awaits_answer_ = false;
      end_trailer(*send);
      send->result().cancelled = true;
    }
    return settle(*send);
  }
  if (!send->awaits_answer_) return;  // it has come twice
  send->awaits_answer_ = false;
  end_trailer(*send);
  if (header.kind == MessageKind::kCts) {
    if (send->bytes_ > common_.way_to(send->peer_).eager_limit) end_asking(*send);
    owed_.give(send->peer_);  // or it would wait behind the data
    send->wanted_ = header.message_bytes;
    send->receiver_token_ = header.receiver_token;
    common_.network->look_for_losses(send->peer_, send->wanted_);
  }
  pump(*send);
}

void OutgoingTransfers::begin_asking(SendRequest& send, net::Asking way) noexcept {
  send.asking_ = way;
  if (way != net::Asking::kNever) send.asked_at_ = common_.engine.clock().now();
}

void OutgoingTransfers::end_trailer(SendRequest& send) noexcept {
  if (std::exchange(send.trailer_, false)) --common_.peers[send.peer_].trailers;
}

void OutgoingTransfers::end_asking(SendRequest& send) noexcept {
  const net::Asking way = std::exchange(send.asking_, net::Asking::kNever);
  if (way == net::Asking::kNever) return;
  common_.network->route(send.peer_).asking_took(send.peer_, send.bytes_, way, common_.engine.clock().now() - send.asked_at_);
}

// ---- the end --------------------------------------------------------------------------------------------------------

void OutgoingTransfers::settle(SendRequest& send) noexcept {
  if (send.frames_[0].busy || send.frames_[1].busy || !send.undelivered_.none()) return;
  if (send.awaits_answer_ || send.awaits_cancel_ack_ || send.next_byte_ < send.wanted_) return;
  end_asking(send);
  if (send.token_ != 0) sends_.release(send.token_);
  send.token_ = 0;
  send.walk_.reset();
  send.type_ = datatype::TypeRef();
  --active_;
  common_.engine.finish(send);
}

void OutgoingTransfers::fail(SendRequest& send, Status why) noexcept {
  if (send.result().status.ok()) send.result().status = std::move(why);
  send.awaits_answer_ = send.awaits_cancel_ack_ = false;
  end_trailer(send);
  send.next_byte_ = send.wanted_;
  settle(send);
}

void OutgoingTransfers::fail_all_to(net::PeerId id, const Status& why) noexcept {
  std::vector<SendRequest*> ended;
  sends_.for_each([&](SendRequest& send) {
    if (send.peer_ == id) ended.push_back(&send);
  });
  for (SendRequest* send : ended) fail(*send, why.copy());
}

}  // namespace lapwing::p2p
