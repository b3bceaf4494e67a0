#include "wire/packet_frame.h"

namespace lapwing::wire {

FrameHeader packet_frame(std::size_t packet_bytes) noexcept {
  FrameHeader header;
  header.describe(Protocol::kPackets, packet_bytes);
  return header;
}

const char* wrong_packet_frame(const FrameHeader& header) noexcept {
  for (std::size_t word = 0; word < FrameHeader::kOwnWords; ++word) {
    if (header.own(word) != 0) return "a frame with a packet whose own words are not 0";
  }
  const std::uint64_t bytes = header.payload_bytes();
  return bytes < kPacketHeaderBytes || bytes > kMostFramedPacket ? "a frame with a packet of no length that there is" : nullptr;
}

Status decode_framed(const std::byte* payload, std::size_t size, std::uint64_t own_tag, std::uint32_t source, PacketHeader& header) {
  LAPWING_TRY(decode(payload, size, header));
  if (header.kind != PacketKind::kData && header.kind != PacketKind::kAcknowledge && header.kind != PacketKind::kGoodbye)
    return Status::error(MPI_ERR_OTHER, "a frame with a packet that only networks carry");
  if (kPacketHeaderBytes + header.bytes != size) return Status::error(MPI_ERR_OTHER, "a frame with more than a packet");
  if (header.to.tag != own_tag || header.to.source != source) return Status::error(MPI_ERR_OTHER, "a frame with a packet that is for another rank, or from another");
  return {};
}

}  // namespace lapwing::wire
