#include "p2p/frame_sender.h"

namespace lapwing::p2p {
namespace {

constexpr std::byte kPadding[net::kMostUrgentBytes] = {};

}  // namespace

FrameSender::Control& FrameSender::take_free() {
  if (free_ == nullptr) {
    controls_.push_back(std::make_unique<Control>());
    free_ = controls_.back().get();
    free_->owner = this;
    free_->on_taken = &FrameSender::on_taken;
    free_->data = kPadding;
  }
  Control& control = *free_;
  free_ = control.next_free;
  return control;
}

void FrameSender::post_control(net::PeerId id, const wire::MessageHeader& header) noexcept {
  Peer& peer = common_.peers[id];
  if (peer.lost) return;
  Control& control = take_free();
  control.header = wire::pack(header);
  // The sender waits for the answer even where the receiver's application never asks for the message.
  control.delivery = header.kind == wire::MessageKind::kCancel ? net::Delivery::kUrgent : net::Delivery::kAtOnce;
  control.peer = id;
  ++peer.controls;
  ++waiting_;
  common_.engine.hold();
  common_.engine.helped();
  if (post(id, control)) on_taken(control, Status());
}

void FrameSender::answer(net::PeerId id, wire::MessageKind kind, std::uint64_t sender_token) noexcept {
  wire::MessageHeader header;
  header.kind = kind;
  header.sender_token = sender_token;
  post_control(id, header);
}

void FrameSender::on_taken(net::SendOp& op, const Status&) noexcept {
  auto& control = static_cast<Control&>(op);
  FrameSender& owner = *control.owner;
  control.next_free = owner.free_;
  owner.free_ = &control;
  --owner.common_.peers[control.peer].controls;
  --owner.waiting_;
  owner.common_.engine.unhold();
}

}  // namespace lapwing::p2p
