// The frame: what ranks say to each other once a connection is trusted. Little-endian, version 1, 64 bytes of header, then
// `payload_bytes` of payload. Every transport carries the same frames; docs/wire-format.md has the whole format.
//
//   0        1        2                 4                                  8
//   +--------+--------+-----------------+----------------------------------+
//   | kind   | flags  | reserved = 0    | credit: units given back         |
//   +--------+--------+-----------------+----------------------------------+  8
//   | sequence: number of this frame on this ordered pair of ranks         |
//   +----------------------------------------------------------------------+ 16
//   | payload_bytes: what follows this header                              |
//   +----------------------------------------------------------------------+ 24
//   | context: communicator and plane                                      |
//   +-----------------------------------+----------------------------------+ 32
//   | source: rank in the communicator  | tag                              |
//   +-----------------------------------+----------------------------------+ 40
//   | message_bytes: the whole message, whatever part of it is here        |
//   +----------------------------------------------------------------------+ 48
//   | sender_token: the sender's request                                   |
//   +----------------------------------------------------------------------+ 56
//   | receiver_token: the receiver's request; kEager, kRts: a note         |
//   +----------------------------------------------------------------------+ 64
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace lapwing::wire {

inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 64;
// No single frame carries more; longer messages travel as several.
inline constexpr std::uint64_t kMaxPayloadBytes = 64u << 20;

// The words of the field: RTS request to send, CTS clear to send, ACK acknowledgement.
enum class FrameKind : std::uint8_t {
  kEager = 1,      // a whole message. sender_token != 0: synchronous, answered by kAck when it is matched
  kRts = 2,        // rendezvous; payload: the first bytes. May offer a pull (kFlagPullable)
  kCts = 3,        // sender_token answers a kRts, receiver_token names where data goes
  kData = 4,       // the next bytes of a rendezvous, in order; receiver_token from kCts
  kAck = 5,        // sender_token's message was matched (synchronous send), or was pulled whole (rendezvous by pull)
  kCredit = 6,     // only gives credit back
  kCancel = 7,     // MPI_Cancel of a send: sender_token; answered by kCancelAck
  kCancelAck = 8,  // kFlagCancelled: the message was taken back; else it had been matched
  kGoodbye = 9,    // the sender's rank has finalized; nothing follows
};

inline constexpr std::uint8_t kFlagPullable = 1;   // of kRts: the payload is a u64 address in the sender's memory
inline constexpr std::uint8_t kFlagCancelled = 1;  // of kCancelAck

struct FrameHeader {
  FrameKind kind{};
  std::uint8_t flags = 0;
  std::uint32_t credit = 0;
  std::uint64_t sequence = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t context = 0;
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t sender_token = 0;
  std::uint64_t receiver_token = 0;
};

void encode(const FrameHeader& header, std::byte* out) noexcept;
// Leaves the sequence out: shared memory keeps a stamp of its own there.
void encode_around_sequence(const FrameHeader& header, std::byte* out) noexcept;
inline constexpr std::size_t kSequenceOffset = 8;

// Checks kind, flags, reserved bits and lengths; the text of an error says what rule was broken.
Status decode(const std::byte* in, FrameHeader& header);

}  // namespace lapwing::wire
