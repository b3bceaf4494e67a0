// All frames on their way out pass here, so that what credit we owe a receiver travels with any of them; and frames that a send of the
// application's does not bring along, such as answers, get their memory here.
//
// Nothing calls back from inside post(): it says whether the frame was taken at once, and what comes of it comes later.
#pragma once

#include <memory>
#include <vector>

#include "p2p/common.h"
#include "wire/message_header.h"

namespace lapwing::p2p {

class FrameSender {
 public:
  explicit FrameSender(Common& common) noexcept : common_(common) {}

  // True: taken, and op.on_taken is not called.
  [[nodiscard]] bool post(net::PeerId id, net::SendOp& op) noexcept { return post(common_.network->route(id), id, op); }
  // The same for data, which may go another way.
  [[nodiscard]] bool post_data(net::PeerId id, net::SendOp& op) noexcept { return post(common_.network->data_route(id), id, op); }
  // A frame of our own; dropped when the peer is lost. A payload (of CANCEL) is zeros.
  void post_control(net::PeerId id, const wire::MessageHeader& header) noexcept;
  // Tells a synchronous send that its message was matched (kAck), or a rendezvous that no more is needed (kFin).
  void answer(net::PeerId id, wire::MessageKind kind, std::uint64_t sender_token) noexcept;

  // Frames of our own that no transport has taken yet.
  std::uint64_t waiting() const noexcept { return waiting_; }

 private:
  bool post(net::Transport& way, net::PeerId id, net::SendOp& op) noexcept {
    if (const std::uint32_t credit = common_.peers[id].take_owed(); credit != 0) wire::set_credit(op.header, credit);
    return way.post(id, op);
  }
  // From the pool until it is taken.
  struct Control : net::SendOp {
    FrameSender* owner = nullptr;
    net::PeerId peer;
    Control* next_free = nullptr;
  };
  Control& take_free();
  static void on_taken(net::SendOp& op, const Status& status) noexcept;

  Common& common_;
  std::vector<std::unique_ptr<Control>> controls_;  // all ever made
  Control* free_ = nullptr;
  std::uint64_t waiting_ = 0;
};

}  // namespace lapwing::p2p
