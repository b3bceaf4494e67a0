// The sink of frames of Protocol::kPackets, for the transport whose packets they hold. Transports behind that one in their order are made with this
// sink, before it is known whether the first stays; where it does not, such a frame breaks the rules.
#pragma once

#include "net/transport.h"

namespace lapwing::net {

class PacketRelay final : public FrameSink {
 public:
  // Null: none takes them.
  void set(FrameSink* to) noexcept { to_ = to; }

  Landing on_header(PeerId peer, const wire::FrameHeader& header) noexcept override {
    if (to_ != nullptr) return to_->on_header(peer, header);
    Landing landing;
    landing.violation = true;
    landing.reason = "it sends packets to a rank that takes none";
    return landing;
  }
  void on_frame(PeerId peer, const wire::FrameHeader& header) noexcept override {
    if (to_ != nullptr) to_->on_frame(peer, header);
  }
  void on_peer_lost(PeerId peer, const Status& why, const Landing* landing) noexcept override {
    if (to_ != nullptr) to_->on_peer_lost(peer, why, landing);
  }
  void on_peer_met(PeerId peer) noexcept override {
    if (to_ != nullptr) to_->on_peer_met(peer);
  }

 private:
  FrameSink* to_ = nullptr;
};

}  // namespace lapwing::net
