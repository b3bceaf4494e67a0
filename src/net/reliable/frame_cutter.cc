#include "net/reliable/frame_cutter.h"

#include <algorithm>
#include <cstring>

#include "base/bulk_copy.h"

namespace lapwing::net::reliable {

void FrameCutter::post(SendOp& op) noexcept {
  op.transport_progress = 0;
  queue_.push_back(op);
}

// The words of the channel are not used here: the number of a frame is its piece's.
void FrameCutter::begin(const wire::FrameHeader& header, std::byte* packet) const noexcept {
  std::memcpy(packet + wire::kPacketHeaderBytes + wire::kPieceBytes, header.words, wire::kHeaderBytes);
}

std::uint16_t FrameCutter::cut_small(const wire::FrameHeader& header, const std::byte* payload, std::uint64_t bytes, std::byte* packet) noexcept {
  wire::encode_piece(frame_++, 0, packet);
  begin(header, packet);
  plain_copy(packet + wire::piece_overhead(0), payload, bytes);
  return static_cast<std::uint16_t>(wire::piece_overhead(0) - wire::kPacketHeaderBytes + bytes);
}

std::uint16_t FrameCutter::cut(std::byte* packet, std::size_t most, SendOp*& whole) noexcept {
  SendOp& op = queue_.front();
  const std::uint64_t offset = op.transport_progress, left = op.header.payload_bytes() - offset;
  const std::size_t overhead = wire::piece_overhead(offset);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, most - overhead));
  wire::encode_piece(frame_, static_cast<std::uint32_t>(offset), packet);
  if (offset == 0) begin(op.header, packet);
  if (op.walk != nullptr)
    op.walk->gather(packet + overhead, count);
  else if (count != 0)
    plain_copy(packet + overhead, op.data + offset, count);
  op.transport_progress += count;
  whole = nullptr;
  if (count == left) {
    op.unlink();
    whole = &op;
    ++frame_;
  }
  return static_cast<std::uint16_t>(overhead - wire::kPacketHeaderBytes + count);
}

SendOp* FrameCutter::remove() noexcept {
  return queue_.empty() ? nullptr : &queue_.pop_front();
}

}  // namespace lapwing::net::reliable
