// Frames on their way into packets: those that are posted, in order, and how far the first of them has been cut. A piece is built where its packet
// lies, in one pass over the user's memory; what has been cut is a copy, and the user's memory is not read again, not even when a packet is lost.
#pragma once

#include <cstdint>

#include "net/reliable/packet_carrier.h"
#include "net/transport.h"
#include "wire/packet.h"

namespace lapwing::net::reliable {

class FrameCutter {
 public:
  bool empty() const noexcept { return queue_.empty(); }
  void post(SendOp& op) noexcept;

  // A frame that is not in the queue, which is empty: one that fits one packet. Builds it.
  std::uint16_t cut_small(const wire::FrameHeader& header, const std::byte* payload, std::uint64_t bytes, std::byte* packet) noexcept;
  // The next piece of the first frame, in a packet of at most `most` bytes: how many bytes are behind the packet's header. `whole`: that frame, if
  // this was its last piece.
  std::uint16_t cut(std::byte* packet, std::size_t most, SendOp*& whole) noexcept;

  // The first that is not taken, out of the queue; null: none.
  SendOp* remove() noexcept;

 private:
  void begin(const wire::FrameHeader& header, std::byte* packet) const noexcept;

  IntrusiveList<SendOp> queue_;
  std::uint32_t frame_ = 0;  // number of the first
};

}  // namespace lapwing::net::reliable
