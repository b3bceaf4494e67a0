#include "p2p/incoming_transfers.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "base/tuning.h"

namespace lapwing::p2p {

IncomingTransfers::IncomingTransfers(Common& common, FrameSender& frames)
    : common_(common), frames_(frames), puller_(*this), wake_up_([](engine::Timer&) noexcept {}) {
  common_.engine.add_source(puller_);
}

IncomingTransfers::~IncomingTransfers() {
  common_.engine.cancel_timer(wake_up_);
  common_.engine.remove_source(puller_);
}

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

void IncomingTransfers::proceed(ReceiveRequest& receive, const wire::MessageHeader& rts, std::uint64_t address) noexcept {
  if (receive.token_ != 0) {  // asked for already, when the header came
    if (receive.received_ == receive.wanted_) complete(receive);
    return;
  }
  if (receive.received_ == receive.wanted_) {
    const net::PeerId id = receive.peer_;
    complete(receive);
    return frames_.answer(id, wire::MessageKind::kFin, rts.sender_token);
  }
  const bool pullable = (rts.flags & wire::kFlagPullable) != 0;
  if (!pullable || !common_.way_to(receive.peer_).pull) return post_cts(receive, rts.sender_token);
  receive.address_ = address;
  receive.sender_token_ = rts.sender_token;
  if (!pulls_.empty() || pull_some(receive)) {
    if (pulls_.empty()) common_.engine.set_timer(wake_up_, common_.engine.clock().now());
    pulls_.push_back(receive);
    puller_.begin();
  }
}

void IncomingTransfers::post_cts(ReceiveRequest& receive, std::uint64_t sender_token) noexcept {
  wire::MessageHeader cts;
  cts.kind = wire::MessageKind::kCts;
  cts.sender_token = sender_token;
  cts.receiver_token = receive.token_ = receives_.take(receive);
  cts.message_bytes = receive.wanted_;
  frames_.post_control(receive.peer_, cts);
}

// Pulls one piece. True when more is left; false when the receive goes another way or is complete.
bool IncomingTransfers::pull_some(ReceiveRequest& receive) noexcept {
  const net::PeerId id = receive.peer_;
  if (const Peer& peer = common_.peers[id]; peer.lost) {
    fail(receive, peer.why.copy());
    return false;
  }
  const std::uint64_t chunk = std::max(common_.way_to(id).data_chunk, tuning().p2p_pull_chunk);
  const std::uint64_t bytes = std::min(chunk, receive.wanted_ - receive.received_);
  ContiguousWalk piece(receive.contiguous_ + receive.received_, bytes);
  ByteWalk& into = receive.walk_ ? static_cast<ByteWalk&>(*receive.walk_) : piece;
  if (!common_.network->route(id).pull(id, receive.address_ + receive.received_, bytes, into)) {
    receive.received_ = 0;
    if (receive.walk_) receive.walk_->seek(0);
    post_cts(receive, receive.sender_token_);
    return false;
  }
  receive.received_ += bytes;
  common_.count_moved(bytes);
  if (receive.received_ < receive.wanted_) return true;
  const std::uint64_t sender_token = receive.sender_token_;
  complete(receive);
  frames_.answer(id, wire::MessageKind::kFin, sender_token);
  return false;
}

bool IncomingTransfers::Puller::poll() noexcept {
  idle_ = owner.pulls_.empty();
  if (idle_) return false;
  ReceiveRequest& receive = owner.pulls_.pop_front();
  if (owner.pull_some(receive)) owner.pulls_.push_back(receive);
  return true;
}

// ---- Data -----------------------------------------------------------------------------------------------------------

const char* IncomingTransfers::breach_of_data(net::PeerId id, const wire::MessageHeader& header) const noexcept {
  const ReceiveRequest* receive = receives_.find(header.receiver_token);
  if (receive == nullptr || receive->peer_ != id) return "its data is for no receive of ours";
  const bool within = header.offset <= receive->wanted_ && header.payload_bytes <= receive->wanted_ - header.offset;
  if (!within || header.payload_bytes > receive->wanted_ - receive->received_)
    return "it sends more data than was asked for";
  return nullptr;
}

net::Landing IncomingTransfers::landing_of_data(const wire::MessageHeader& header) noexcept {
  return landing_of(*receives_.find(header.receiver_token), header.offset, header.payload_bytes);
}

void IncomingTransfers::on_data(net::PeerId id, const wire::MessageHeader& header) noexcept {
  ReceiveRequest* receive = receives_.find(header.receiver_token);
  if (receive == nullptr || receive->peer_ != id) return;
  receive->received_ += header.payload_bytes;
  common_.count_moved(header.payload_bytes);
  if (receive->received_ == receive->wanted_) complete(*receive);
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
    if (receive.peer_ == id) ended.push_back(&receive);
  });
  for (ReceiveRequest* receive : ended) fail(*receive, why.copy());
}

}  // namespace lapwing::p2p
