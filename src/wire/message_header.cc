#include "wire/message_header.h"

#include <cinttypes>

namespace lapwing::wire {
namespace {

constexpr std::uint64_t kPullAddressBytes = 8;

constexpr bool is_kind(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(MessageKind::kEager) &&
         kind <= static_cast<std::uint8_t>(MessageKind::kLost);
}

constexpr std::uint8_t allowed_flags(MessageKind kind) {
  switch (kind) {
    case MessageKind::kRts:
      return kFlagPullable | kFlagAtOnce;
    case MessageKind::kCts:
    case MessageKind::kAck:
      return kFlagByCarrier | kFlagAgain;
    case MessageKind::kCancelAck:
      return kFlagCancelled;
    default:
      return 0;
  }
}

constexpr bool may_carry_payload(MessageKind kind) {
  return kind == MessageKind::kEager || kind == MessageKind::kRts || kind == MessageKind::kData || kind == MessageKind::kCancel;
}

Status check_lengths(const FrameHeader& frame, const MessageHeader& header) {
  const unsigned kind = static_cast<unsigned>(header.kind);
  if (header.payload_bytes != 0 && !may_carry_payload(header.kind)) {
    return Status::error(MPI_ERR_OTHER,
                         "a message frame of kind %u announces %" PRIu64 " payload bytes, but that kind has none", kind,
                         header.payload_bytes);
  }
  if (header.kind == MessageKind::kEager && frame.own(3) != 0) {
    return Status::error(MPI_ERR_OTHER,
                         "an eager frame says that its message has %" PRIu64 " bytes: the payload is all of it",
                         frame.own(3));
  }
  if (header.kind == MessageKind::kRts) {
    const std::uint64_t prefix = (header.flags & kFlagPullable) != 0 ? kPullAddressBytes : 0;
    if (header.payload_bytes < prefix || header.payload_bytes - prefix > header.message_bytes) {
      return Status::error(MPI_ERR_OTHER, "an RTS carries %" PRIu64 " bytes for a message of %" PRIu64 " bytes",
                           header.payload_bytes, header.message_bytes);
    }
  }
  return {};
}

}  // namespace

Status decode(const FrameHeader& frame, MessageHeader& header) {
  const auto kind = static_cast<std::uint8_t>(frame.own(0));
  if (!is_kind(kind))
    return Status::error(MPI_ERR_OTHER, "there is no kind %u of message frames", static_cast<unsigned>(kind));
  header = unpack(frame);
  if ((header.flags & ~allowed_flags(header.kind)) != 0) {
    return Status::error(MPI_ERR_OTHER, "a message frame of kind %u has unknown flags 0x%02x",
                         static_cast<unsigned>(kind), static_cast<unsigned>(header.flags));
  }
  if (const auto reserved = static_cast<std::uint16_t>(frame.own(0) >> 16); reserved != 0) {
    return Status::error(MPI_ERR_OTHER, "a message frame of kind %u has 0x%04x in the reserved bits",
                         static_cast<unsigned>(kind), static_cast<unsigned>(reserved));
  }
  return check_lengths(frame, header);
}

}  // namespace lapwing::wire
