#include "wire/packet.h"

#include "base/crc32c.h"
#include "wire/little_endian.h"

namespace lapwing::wire {
namespace {

Status broken(const char* rule) {
  return Status::error(MPI_ERR_OTHER, "%s", rule);
}

std::uint8_t flags_of(PacketKind kind) noexcept {
  switch (kind) {
    case PacketKind::kData:
      return kPacketAsks;
    case PacketKind::kGoodbye:
      return kPacketBroken;
    default:
      return 0;
  }
}

// Null, or what is wrong with the length of what follows.
const char* wrong_length(const PacketHeader& header, const std::byte* in) noexcept {
  switch (header.kind) {
    case PacketKind::kData:
      if (header.bytes < kPieceBytes) return "a packet of data without frame and offset";
      if (load_little<std::uint32_t>(in + kPacketHeaderBytes + 4) != 0) return nullptr;
      return header.bytes < kPieceBytes + kHeaderBytes ? "a packet that begins a frame without its header" : nullptr;
    case PacketKind::kAcknowledge:
      return header.bytes % 8 != 0 || header.bytes / 8 > kMostMapWords ? "an acknowledgement with a bitmap of no length that there is" : nullptr;
    case PacketKind::kGoodbye:
      return header.bytes != 0 ? "a goodbye that says more" : nullptr;
    default:
      return header.bytes != kWayBackBytes ? "a probe, or its answer, that does not say the way back" : nullptr;
  }
}

}  // namespace

void encode(const PacketHeader& header, std::byte* out) noexcept {
  store_little(out, kPacketVersion);
  store_little(out + 1, static_cast<std::uint8_t>(header.kind));
  store_little(out + 2, header.to.endpoint);
  store_little(out + 4, header.to.source);
  store_little(out + 8, header.to.tag);
  store_little(out + 16, header.number);
  store_little(out + 20, header.acknowledged);
  store_little(out + 24, header.credit);
  store_little(out + 28, header.bytes);
  store_little(out + 30, header.flags);
  store_little(out + 31, std::uint8_t{0});
  store_little(out + 32, header.transmission);
  store_little(out + 36, header.heard);
}

void stamp(const PacketStamp& stamp, std::byte* out) noexcept {
  store_little(out + 20, stamp.acknowledged);
  store_little(out + 24, stamp.credit);
  store_little(out + 30, stamp.flags);
  store_little(out + 32, stamp.transmission);
  store_little(out + 36, stamp.heard);
}

std::size_t packet_bytes(const std::byte* packet) noexcept {
  return kPacketHeaderBytes + load_little<std::uint16_t>(packet + 28);
}

bool is_of_ranks(PacketKind kind) noexcept {
  return kind == PacketKind::kData || kind == PacketKind::kAcknowledge || kind == PacketKind::kGoodbye;
}

Status decode(const std::byte* in, std::size_t size, PacketHeader& header) {
  LAPWING_TRY(decode_header(in, size, header));
  return check_body(header, in);
}

Status decode_header(const std::byte* in, std::size_t size, PacketHeader& header) {
  if (size < kPacketHeaderBytes) return broken("a packet shorter than its header");
  if (load_little<std::uint8_t>(in) != kPacketVersion) return broken("a packet of another version");
  const auto kind = load_little<std::uint8_t>(in + 1);
  if (kind < static_cast<std::uint8_t>(PacketKind::kData) || kind > static_cast<std::uint8_t>(PacketKind::kGoodbye))
    return broken("a packet of no kind that there is");
  header.kind = static_cast<PacketKind>(kind);
  header.to = {load_little<std::uint16_t>(in + 2), load_little<std::uint32_t>(in + 4), load_little<std::uint64_t>(in + 8)};
  header.number = load_little<std::uint32_t>(in + 16);
  header.acknowledged = load_little<std::uint32_t>(in + 20);
  header.credit = load_little<std::uint32_t>(in + 24);
  header.bytes = load_little<std::uint16_t>(in + 28);
  header.flags = load_little<std::uint8_t>(in + 30);
  header.transmission = load_little<std::uint32_t>(in + 32);
  header.heard = load_little<std::uint32_t>(in + 36);
  if (header.bytes > size - kPacketHeaderBytes) return broken("a packet that claims more bytes than came");
  if ((header.flags & ~flags_of(header.kind)) != 0 || load_little<std::uint8_t>(in + 31) != 0)
    return broken("a packet with flags that its kind does not have");
  return {};
}

Status check_body(const PacketHeader& header, const std::byte* in) {
  const char* wrong = wrong_length(header, in);
  return wrong == nullptr ? Status() : broken(wrong);
}

std::size_t add_check(std::byte* packet) noexcept {
  if (!is_of_ranks(static_cast<PacketKind>(load_little<std::uint8_t>(packet + 1)))) return 0;
  const std::size_t bytes = packet_bytes(packet);
  store_little(packet + bytes, crc32c(0, packet, bytes));
  return kPacketCheckBytes;
}

bool check_holds(const PacketHeader& header, const std::byte* in, std::size_t size) noexcept {
  if (!is_of_ranks(header.kind)) return true;
  const std::size_t bytes = kPacketHeaderBytes + header.bytes;
  return size >= bytes + kPacketCheckBytes && load_little<std::uint32_t>(in + bytes) == crc32c(0, in, bytes);
}

Piece piece_of(const PacketHeader& header, const std::byte* in) noexcept {
  Piece piece;
  const std::byte* at = in + kPacketHeaderBytes;
  piece.frame = load_little<std::uint32_t>(at);
  piece.offset = load_little<std::uint32_t>(at + 4);
  if (piece.offset == 0) piece.header = at + kPieceBytes;
  const std::size_t overhead = piece_overhead(piece.offset);
  piece.payload = in + overhead;
  piece.payload_bytes = kPacketHeaderBytes + header.bytes - overhead;
  return piece;
}

void encode_piece(std::uint32_t frame, std::uint32_t offset, std::byte* out) noexcept {
  store_little(out + kPacketHeaderBytes, frame);
  store_little(out + kPacketHeaderBytes + 4, offset);
}

void encode_way_back(const PacketAddress& address, std::byte* out) noexcept {
  store_little(out + kPacketHeaderBytes, address.endpoint);
  store_little(out + kPacketHeaderBytes + 2, std::uint16_t{0});
  store_little(out + kPacketHeaderBytes + 4, address.source);
  store_little(out + kPacketHeaderBytes + 8, address.tag);
}

PacketAddress way_back_of(const std::byte* in) noexcept {
  const std::byte* at = in + kPacketHeaderBytes;
  return {load_little<std::uint16_t>(at), load_little<std::uint32_t>(at + 4), load_little<std::uint64_t>(at + 8)};
}

}  // namespace lapwing::wire
