// The packet: what two ranks say to each other over a carrier that loses, doubles and reorders, such as raw Ethernet. Little-endian; 40 bytes of
// header, and then what its kind says. docs/wire-format.md has the whole format; src/net/reliable/ makes ordered frames of packets.
//
//   0         1         2                   4                                       8
//   +---------+---------+-------------------+---------------------------------------+
//   | version | kind    | endpoint          | source: the sender's rank             |   read by the program in the kernel
//   +---------+---------+-------------------+---------------------------------------+  8
//   | tag: of the receiver's endpoint, which only ranks of its job know             |
//   +---------------------------------------+---------------------------------------+ 16
//   | number: of this packet                | acknowledged: all before it have come |
//   +---------------------------------------+-------------------+---------+---------+ 24
//   | credit: packets before it may be sent | bytes behind this | flags   | 0       |
//   +---------------------------------------+-------------------+---------+---------+ 32
//   | transmission: counts what was sent    | heard: the latest that has come       |
//   +---------------------------------------+---------------------------------------+ 40
//
// A packet that is sent again keeps its number, and is another transmission: so it is known which of the two has come, how long it took, and which
// earlier ones it has overtaken.
//
//   kData         | frame | offset |, the frame's header (64 bytes) where offset is 0, bytes of its payload from there on
//   kAcknowledge  words of a bitmap: bit i of word w: packet acknowledged + 1 + 64 w + i has come
//   kProbe, kPresent, kGone   | endpoint | 0 (2) | source | tag |, of the way back: what answers swaps it with that of the header
//   kGoodbye      nothing
//
// Where frames are checked (LAPWING_WIRE) a CRC-32C of all of that follows (4), but for kProbe and its answers, which a kernel makes. Where they are
// sealed: packet_seal.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "wire/frame.h"

namespace lapwing::wire {

inline constexpr std::uint8_t kPacketVersion = 1;
inline constexpr std::size_t kPacketHeaderBytes = 40;
inline constexpr std::size_t kPieceBytes = 8;       // frame and offset
inline constexpr std::size_t kWayBackBytes = 16;    // of kProbe and its answers
inline constexpr std::size_t kMostMapWords = 16;    // of an acknowledgement
inline constexpr std::size_t kPacketCheckBytes = 4;
inline constexpr std::uint64_t kMostPacketsUnderWay = 1024;

enum class PacketKind : std::uint8_t {
  kData = 1,         // a piece of a frame; numbered
  kAcknowledge = 2,  // only what every header says, and which later packets have come
  kProbe = 3,        // asks whether the endpoint is there. The kernel of its host answers, though its process computes
  kPresent = 4,      // it is; to a kProbe of this number
  kGone = 5,         // there is none (any more), or none that packets from there reach
  kGoodbye = 6,      // this process sends nothing more, and reads nothing
};

inline constexpr std::uint8_t kPacketAsks = 1;    // of kData: acknowledge it now
inline constexpr std::uint8_t kPacketBroken = 2;  // of kGoodbye: because what came broke a rule, or not all that was posted was sent

// Of a packet that encode() has made.
std::size_t packet_bytes(const std::byte* packet) noexcept;

// Where a packet goes: an endpoint of a host, and what tells it that the packet is of its job.
struct PacketAddress {
  std::uint16_t endpoint = 0;
  std::uint32_t source = 0;  // who sends there
  std::uint64_t tag = 0;
};

struct PacketHeader {
  PacketKind kind{};
  PacketAddress to;
  std::uint32_t number = 0;
  std::uint32_t acknowledged = 0;
  std::uint32_t credit = 0;
  std::uint16_t bytes = 0;
  std::uint8_t flags = 0;
  std::uint32_t transmission = 0;  // of kData, from 1 on
  std::uint32_t heard = 0;         // transmission of the other direction; 0: none has come
};

// A part of a frame. Its memory is the packet's.
struct Piece {
  std::uint32_t frame = 0;
  std::uint32_t offset = 0;
  const std::byte* header = nullptr;  // kHeaderBytes, where offset is 0; else null
  const std::byte* payload = nullptr;
  std::size_t payload_bytes = 0;
};

void encode(const PacketHeader& header, std::byte* out) noexcept;
// What has changed when a packet leaves, perhaps once more.
struct PacketStamp {
  std::uint32_t acknowledged, credit;
  std::uint8_t flags;
  std::uint32_t transmission, heard;
};
void stamp(const PacketStamp& stamp, std::byte* out) noexcept;
// Checks everything that does not depend on what was said before; the text of an error says which rule was broken. `size` may be larger than the
// packet: Ethernet fills short ones up.
Status decode(const std::byte* in, std::size_t size, PacketHeader& header);
// The two halves of it, for packets that are sealed: of what follows the header nothing is known before it is opened.
Status decode_header(const std::byte* in, std::size_t size, PacketHeader& header);
Status check_body(const PacketHeader& header, const std::byte* in);
// Whether a rank makes packets of this kind; the others, of a probe and its answers, are a kernel's, which seals and checks nothing.
bool is_of_ranks(PacketKind kind) noexcept;

// Writes the CRC-32C behind a packet that is about to leave; returns how many bytes that is, none for those that have none.
std::size_t add_check(std::byte* packet) noexcept;
// Of a packet of `size` bytes, with what Ethernet fills up, whose header decode() has found right.
bool check_holds(const PacketHeader& header, const std::byte* in, std::size_t size) noexcept;

// What is behind a header of kData that decode() has found right.
Piece piece_of(const PacketHeader& header, const std::byte* in) noexcept;
inline constexpr std::size_t piece_overhead(std::uint64_t offset) noexcept {
  return kPacketHeaderBytes + kPieceBytes + (offset == 0 ? kHeaderBytes : 0);
}
void encode_piece(std::uint32_t frame, std::uint32_t offset, std::byte* out) noexcept;

void encode_way_back(const PacketAddress& address, std::byte* out) noexcept;
PacketAddress way_back_of(const std::byte* in) noexcept;

}  // namespace lapwing::wire
