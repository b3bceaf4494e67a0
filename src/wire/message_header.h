// The header of point-to-point messages, in the words that a frame leaves to its protocol (wire/frame.h). Every message, from
// every process, passes here, so packing and unpacking are inline.
//
//   16       17       18                20                                 24
//   +--------+--------+-----------------+----------------------------------+
//   | kind   | flags  | reserved = 0    | credit: units given back         |
//   +--------+--------+-----------------+----------------------------------+ 24
//   | context: communicator and plane; kData: offset in the message        |
//   +-----------------------------------+----------------------------------+ 32
//   | source: rank in the communicator  | tag                              |
//   +-----------------------------------+----------------------------------+ 40
//   | message_bytes: the whole message; kEager: 0, the payload is all      |
//   +----------------------------------------------------------------------+ 48
//   | sender_token: the sender's request                                   |
//   +----------------------------------------------------------------------+ 56
//   | receiver_token: the receiver's request; kEager, kRts: a note         |
//   +----------------------------------------------------------------------+ 64
#pragma once

#include <cstdint>

#include "base/status.h"
#include "wire/frame.h"
#include "wire/job_rank.h"

namespace lapwing::wire {

// The words of the field: RTS request to send, CTS clear to send, ACK acknowledgement, FIN finished.
enum class MessageKind : std::uint8_t {
  kEager = 1,      // a whole message. sender_token != 0: synchronous, answered by kAck when it is matched
  kRts = 2,        // rendezvous; payload: the first bytes. May offer a pull (kFlagPullable)
  kCts = 3,        // sender_token answers a kRts, receiver_token names the transfer; message_bytes: wanted. May come twice (kFlagByCarrier)
  kData = 4,       // bytes of the transfer `receiver_token`, from `offset` on
  kAck = 5,        // sender_token's synchronous message was matched. May come twice (kFlagByCarrier)
  kFin = 6,        // sender_token's rendezvous needs no more: its message was pulled, or came with the kRts
  kCredit = 7,     // only gives credit back
  kCancel = 8,     // MPI_Cancel of a send: sender_token; answered by kCancelAck. Its payload is ignored
  kCancelAck = 9,  // kFlagCancelled: the message was taken back; else it had been matched
  kLost = 10,      // the sender has lost a process for good: context names it (lost_process)
};

inline constexpr std::uint8_t kFlagPullable = 1;   // of kRts: the payload is a u64 address in the sender's memory
inline constexpr std::uint8_t kFlagAtOnce = 2;     // of kRts: what carries it may answer it, where the receiver's process does not run
inline constexpr std::uint8_t kFlagByCarrier = 1;  // of kCts, kAck: made by what carries what it answers, and so not as safe from loss as other frames
inline constexpr std::uint8_t kFlagAgain = 2;      // of kCts, kAck: one by the carrier may be lost, and this one stands for it
inline constexpr std::uint8_t kFlagCancelled = 1;  // of kCancelAck

struct MessageHeader {
  MessageKind kind{};
  std::uint8_t flags = 0;
  std::uint32_t credit = 0;
  std::uint64_t context = 0;  // not of kData
  std::uint64_t offset = 0;   // of kData alone
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t sender_token = 0;
  std::uint64_t receiver_token = 0;
  std::uint64_t payload_bytes = 0;  // in the transport's header
};

// The process that a kLost frame is about.
constexpr std::uint64_t as_context(JobRank process) noexcept {
  return std::uint64_t{process.job} << 32 | process.rank;
}
constexpr JobRank lost_process(const MessageHeader& header) noexcept {
  return {static_cast<std::uint32_t>(header.context >> 32), static_cast<std::uint32_t>(header.context)};
}

constexpr FrameHeader pack(const MessageHeader& header) noexcept {
  const bool eager = header.kind == MessageKind::kEager, data = header.kind == MessageKind::kData;
  const auto source = static_cast<std::uint32_t>(header.source), tag = static_cast<std::uint32_t>(header.tag);
  return {{wire_word(header.payload_bytes | static_cast<std::uint64_t>(Protocol::kMessages) << 32), 0,
           wire_word(static_cast<std::uint64_t>(header.kind) | std::uint64_t{header.flags} << 8 |
                     std::uint64_t{header.credit} << 32),
           wire_word(data ? header.offset : header.context), wire_word(source | std::uint64_t{tag} << 32),
           wire_word(eager ? 0 : header.message_bytes), wire_word(header.sender_token),
           wire_word(header.receiver_token)}};
}

// The credit alone, which is known last.
constexpr void set_credit(FrameHeader& frame, std::uint32_t credit) noexcept {
  frame.set_own(0, static_cast<std::uint32_t>(frame.own(0)) | std::uint64_t{credit} << 32);
}

// Of a frame of this kind, without looking for breaches.
constexpr MessageHeader unpack_as(MessageKind kind, const FrameHeader& frame) noexcept {
  MessageHeader header;
  header.kind = kind;
  header.flags = static_cast<std::uint8_t>(frame.own(0) >> 8);
  header.credit = static_cast<std::uint32_t>(frame.own(0) >> 32);
  const bool data = header.kind == MessageKind::kData;
  header.context = data ? 0 : frame.own(1);
  header.offset = data ? frame.own(1) : 0;
  header.source = static_cast<std::int32_t>(static_cast<std::uint32_t>(frame.own(2)));
  header.tag = static_cast<std::int32_t>(frame.own(2) >> 32);
  header.payload_bytes = frame.payload_bytes();
  header.message_bytes = header.kind == MessageKind::kEager ? header.payload_bytes : frame.own(3);
  header.sender_token = frame.own(4);
  header.receiver_token = frame.own(5);
  return header;
}

// Of a frame that has been checked.
constexpr MessageHeader unpack(const FrameHeader& frame) noexcept {
  return unpack_as(static_cast<MessageKind>(frame.own(0) & 0xff), frame);
}

// A sound eager message, the usual frame: decode() would find nothing wrong. Its tag, context and source are left to judge.
constexpr bool is_plain_eager(const FrameHeader& frame) noexcept {
  return static_cast<std::uint32_t>(frame.own(0)) == static_cast<std::uint32_t>(MessageKind::kEager) &&
         frame.own(3) == 0;
}

// Checks kind, flags, reserved bits and lengths; the text of an error says what rule was broken.
Status decode(const FrameHeader& frame, MessageHeader& header);

}  // namespace lapwing::wire
