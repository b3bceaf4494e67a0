// Arbitrary frames that should hold a packet, as a peer gone mad might send them over its connection: each is taken, or the rule that it breaks is
// named; what is taken lies within the payload.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/internal_error.h"
#include "wire/packet_frame.h"

// First the frame's header, then its payload; the address is made right mostly, or nothing would get far.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lapwing;
  constexpr std::uint64_t kTag = 42;
  constexpr std::uint32_t kSource = 7;
  wire::FrameHeader frame;
  if (size < sizeof frame) return 0;
  std::memcpy(frame.words, data, sizeof frame);
  if (const char* wrong = wire::wrong_packet_frame(frame); wrong != nullptr) {
    LAPWING_CHECK(wrong[0] != '\0');
    return 0;
  }
  const std::size_t count = size - sizeof frame;
  if (count != frame.payload_bytes()) return 0;
  LAPWING_CHECK(count >= wire::kPacketHeaderBytes && count <= wire::kMostFramedPacket);
  std::vector<std::byte> payload(count);  // exactly, so that a sanitizer sees every byte too many
  std::memcpy(payload.data(), data + sizeof frame, count);
  wire::PacketHeader header;
  const Status sound = wire::decode_framed(payload.data(), count, kTag, kSource, header);
  LAPWING_CHECK(sound.ok() || sound.text()[0] != '\0');
  if (!sound.ok()) return 0;
  LAPWING_CHECK(wire::kPacketHeaderBytes + header.bytes == count && wire::packet_bytes(payload.data()) == count);
  if (header.kind != wire::PacketKind::kData) return 0;
  const wire::Piece piece = wire::piece_of(header, payload.data());
  LAPWING_CHECK(piece.payload >= payload.data() && piece.payload + piece.payload_bytes == payload.data() + count);
  return 0;
}
