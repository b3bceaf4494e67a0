#include "p2p/incoming_transfers.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "base/tuning.h"

namespace lapwing::p2p {

net::Landing IncomingTransfers::landing_of(ReceiveRequest& receive, std::uint64_t offset, std::uint64_t bytes) noexcept {
  net::Landing landing;
  if (offset >= receive.wanted_) return landing;
  landing.accepted = std::min(bytes, receive.wanted_ - offset);
  if (receive.walk_) {
    if (receive.walk_->position() != offset) receive.walk_->seek(offset);
    landing.walk = &*receive.walk_;
  } else {
    landing.base = receive.contiguous_ + offset;
  }
  return landing;
}

// ---- CTS, or a pull -------------------------------------------------------------------------------------------------

void IncomingTransfers::proceed(ReceiveRequest& receive, const wire::MessageHeader& rts, std::uint64_t address, bool found) noexcept {
  if (receive.token_ != 0) {  // asked for already, when the header came
    if (receive.received_ == receive.wanted_) complete_timed(receive);
    return;
  }
  if (receive.received_ == receive.wanted_) {
    const net::PeerId id = receive.peer_;
    complete(receive);
    return frames_.answer(id, wire::MessageKind::kFin, rts.sender_token);
  }
  const bool pullable = (rts.flags & wire::kFlagPullable) != 0;
  receive.sender_token_ = rts.sender_token;
  if (pullable) return pull(receive, address);
  if (found && may_owe(receive)) return owed_.owe(receive.peer_, make_cts(receive, rts.sender_token, receive.received_));
  post_cts(receive, rts.sender_token, receive.received_);
}

bool IncomingTransfers::may_owe(const ReceiveRequest& receive) noexcept {
  return receive.arguments_.plane == comm::Plane::kPointToPoint && outgoing_.none_announced() && common_.way_to(receive.peer_).answers_wait;
}

void IncomingTransfers::time(ReceiveRequest& receive) noexcept {
  receive.began_ = common_.engine.clock().now();
  receive.before_ = receive.received_;
}

wire::MessageHeader IncomingTransfers::make_cts(ReceiveRequest& receive, std::uint64_t sender_token, std::uint64_t before) noexcept {
  time(receive);
  receive.announced_ = before;
  wire::MessageHeader cts;
  cts.kind = wire::MessageKind::kCts;
  cts.sender_token = sender_token;
  cts.receiver_token = receive.token_ = receives_.take(receive);
  cts.message_bytes = receive.wanted_;
  return cts;
}

void IncomingTransfers::answered_by_carrier(ReceiveRequest& receive, std::uint64_t sender_token) noexcept {
  time(receive);
  receive.sender_token_ = sender_token;
  receive.by_carrier_ = true;
}

// Where data has come, the answer has.
void IncomingTransfers::answer_again(net::PeerId id) noexcept {
  receives_.for_each([&](ReceiveRequest& receive) {
    if (!receive.by_carrier_ || !(receive.peer_ == id) || receive.announced_ != 0) return;
    wire::MessageHeader cts;
    cts.kind = wire::MessageKind::kCts;
    cts.flags = wire::kFlagAgain;
    cts.sender_token = receive.sender_token_;
    cts.receiver_token = receive.token_;
    cts.message_bytes = receive.wanted_;
    frames_.post_control(id, cts);
  });
}

void IncomingTransfers::pull(ReceiveRequest& receive, std::uint64_t address) noexcept {
  ReceiveRequest::Pull& pull = receive.pull_;
  pull.receive = &receive;
  pull.transfers = this;
  pull.address = address;
  pull.bytes = receive.wanted_;
  pull.data = receive.contiguous_;
  pull.walk = receive.walk_ ? &*receive.walk_ : nullptr;
  pull.on_end = &IncomingTransfers::on_pulled;
  const net::PullOp::End end = common_.network->route(receive.peer_).pull(receive.peer_, pull);
  if (end != net::PullOp::End::kNone) after_pull(receive, end);
}

void IncomingTransfers::on_pulled(net::PullOp& op, net::PullOp::End end, const Status& why) noexcept {
  const ReceiveRequest::Pull& pull = static_cast<ReceiveRequest::Pull&>(op);
  if (end == net::PullOp::End::kLost) return pull.transfers->fail(*pull.receive, why.copy());
  pull.transfers->after_pull(*pull.receive, end);
}

void IncomingTransfers::after_pull(ReceiveRequest& receive, net::PullOp::End end) noexcept {
  if (end == net::PullOp::End::kRefused) {
    if (receive.walk_) receive.walk_->seek(0);
    return post_cts(receive, receive.sender_token_, 0);
  }
  receive.received_ = receive.wanted_;
  common_.count_moved(receive.received_);
  const net::PeerId id = receive.peer_;
  const std::uint64_t sender_token = receive.sender_token_;
  complete(receive);
  frames_.answer(id, wire::MessageKind::kFin, sender_token);
}

// ---- Data -----------------------------------------------------------------------------------------------------------

const char* IncomingTransfers::breach_of_data(net::PeerId id, const wire::MessageHeader& header) const noexcept {
  const ReceiveRequest* receive = receives_.find(header.receiver_token);
  if (receive == nullptr || receive->peer_ != id || receive->lent_to_ != nullptr) return "its data is for no receive of ours";
  const bool within = header.offset <= receive->wanted_ && header.payload_bytes <= receive->wanted_ - header.offset;
  if (!within || header.payload_bytes > receive->wanted_ - receive->announced_)
    return "it sends more data than was asked for";
  return nullptr;
}

net::Landing IncomingTransfers::landing_of_data(const wire::MessageHeader& header) noexcept {
  ReceiveRequest& receive = *receives_.find(header.receiver_token);
  receive.announced_ += header.payload_bytes;
  return landing_of(receive, header.offset, header.payload_bytes);
}

void IncomingTransfers::on_data(net::PeerId id, const wire::MessageHeader& header) noexcept {
  ReceiveRequest* receive = receives_.find(header.receiver_token);
  if (receive == nullptr || receive->peer_ != id) return;
  receive->received_ += header.payload_bytes;
  common_.count_moved(header.payload_bytes);
  if (receive->received_ == receive->wanted_) complete_timed(*receive);
}

// All frames have come.
void IncomingTransfers::complete_timed(ReceiveRequest& receive) noexcept {
  common_.network->route(receive.peer_).came_in_frames(receive.peer_, receive.received_, receive.before_,
                                                              receive.began_);
  complete(receive);
}

// ---- the end --------------------------------------------------------------------------------------------------------

// What completion is, beside the usual.
void IncomingTransfers::wind_up(ReceiveRequest& receive) noexcept {
  Result& result = receive.result();
  if (receive.message_bytes_ > receive.capacity_ && result.status.ok()) {
    result.status = Status::error(MPI_ERR_TRUNCATE,
                                  "the message from rank %d with tag %d has %" PRIu64
                                  " bytes, but the receive has room for %" PRIu64 "; receive with a larger count",
                                  result.source, result.tag, receive.message_bytes_, receive.capacity_);
  }
  if (receive.token_ != 0) receives_.release(std::exchange(receive.token_, 0));
  receive.walk_.reset();
  receive.type_ = datatype::TypeRef();
}

void IncomingTransfers::fail_all_from(net::PeerId id, const Status& why) noexcept {
  std::vector<ReceiveRequest*> ended;
  receives_.for_each([&](ReceiveRequest& receive) {
    if (receive.peer_ == id && receive.lent_to_ == nullptr) ended.push_back(&receive);
  });
  for (ReceiveRequest* receive : ended) fail(*receive, why.copy());
}

}  // namespace lapwing::p2p
