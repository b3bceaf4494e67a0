#include "wire/frame.h"

#include <cinttypes>

#include "wire/little_endian.h"

namespace lapwing::wire {
namespace {

// Where each field lies: the picture in frame.h.
constexpr std::size_t kKindAt = 0;
constexpr std::size_t kFlagsAt = 1;
constexpr std::size_t kReservedAt = 2;
constexpr std::size_t kCreditAt = 4;
constexpr std::size_t kSequenceAt = 8;
constexpr std::size_t kPayloadBytesAt = 16;
constexpr std::size_t kContextAt = 24;
constexpr std::size_t kSourceAt = 32;
constexpr std::size_t kTagAt = 36;
constexpr std::size_t kMessageBytesAt = 40;
constexpr std::size_t kSenderTokenAt = 48;
constexpr std::size_t kReceiverTokenAt = 56;
static_assert(kReceiverTokenAt + 8 == kHeaderBytes);
static_assert(kSequenceAt == kSequenceOffset);

constexpr std::uint64_t kPullAddressBytes = 8;

constexpr bool is_kind(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(FrameKind::kEager) && kind <= static_cast<std::uint8_t>(FrameKind::kGoodbye);
}

constexpr std::uint8_t allowed_flags(FrameKind kind) {
  switch (kind) {
    case FrameKind::kRts:
      return kFlagPullable;
    case FrameKind::kCancelAck:
      return kFlagCancelled;
    default:
      return 0;
  }
}

constexpr bool may_carry_payload(FrameKind kind) {
  return kind == FrameKind::kEager || kind == FrameKind::kRts || kind == FrameKind::kData;
}

Status check_lengths(const FrameHeader& header) {
  const unsigned kind = static_cast<unsigned>(header.kind);
  if (header.payload_bytes > kMaxPayloadBytes) {
    return Status::error(MPI_ERR_OTHER,
                         "a frame of kind %u announces %" PRIu64 " payload bytes; %" PRIu64 " is the limit", kind,
                         header.payload_bytes, kMaxPayloadBytes);
  }
  if (header.payload_bytes != 0 && !may_carry_payload(header.kind)) {
    return Status::error(MPI_ERR_OTHER,
                         "a frame of kind %u announces %" PRIu64 " payload bytes, but that kind has none", kind,
                         header.payload_bytes);
  }
  if (header.kind == FrameKind::kEager && header.payload_bytes != header.message_bytes) {
    return Status::error(MPI_ERR_OTHER, "an eager frame carries %" PRIu64 " bytes of a message of %" PRIu64 " bytes",
                         header.payload_bytes, header.message_bytes);
  }
  if (header.kind == FrameKind::kRts) {
    const std::uint64_t prefix = (header.flags & kFlagPullable) != 0 ? kPullAddressBytes : 0;
    if (header.payload_bytes < prefix || header.payload_bytes - prefix > header.message_bytes) {
      return Status::error(MPI_ERR_OTHER, "an RTS carries %" PRIu64 " bytes for a message of %" PRIu64 " bytes",
                           header.payload_bytes, header.message_bytes);
    }
  }
  return {};
}

}  // namespace

void encode(const FrameHeader& header, std::byte* out) noexcept {
  encode_around_sequence(header, out);
  store_little(out + kSequenceAt, header.sequence);
}

void encode_around_sequence(const FrameHeader& header, std::byte* out) noexcept {
  store_little(out + kKindAt, static_cast<std::uint8_t>(header.kind));
  store_little(out + kFlagsAt, header.flags);
  store_little(out + kReservedAt, std::uint16_t{0});
  store_little(out + kCreditAt, header.credit);
  store_little(out + kPayloadBytesAt, header.payload_bytes);
  store_little(out + kContextAt, header.context);
  store_little(out + kSourceAt, header.source);
  store_little(out + kTagAt, header.tag);
  store_little(out + kMessageBytesAt, header.message_bytes);
  store_little(out + kSenderTokenAt, header.sender_token);
  store_little(out + kReceiverTokenAt, header.receiver_token);
}

Status decode(const std::byte* in, FrameHeader& header) {
  const auto kind = load_little<std::uint8_t>(in + kKindAt);
  if (!is_kind(kind)) return Status::error(MPI_ERR_OTHER, "there is no frame kind %u", static_cast<unsigned>(kind));
  header.kind = static_cast<FrameKind>(kind);
  header.flags = load_little<std::uint8_t>(in + kFlagsAt);
  if ((header.flags & ~allowed_flags(header.kind)) != 0) {
    return Status::error(MPI_ERR_OTHER, "a frame of kind %u has unknown flags 0x%02x", static_cast<unsigned>(kind),
                         static_cast<unsigned>(header.flags));
  }
  if (const auto reserved = load_little<std::uint16_t>(in + kReservedAt); reserved != 0) {
    return Status::error(MPI_ERR_OTHER, "a frame of kind %u has 0x%04x in the reserved bits",
                         static_cast<unsigned>(kind), static_cast<unsigned>(reserved));
  }
  header.credit = load_little<std::uint32_t>(in + kCreditAt);
  header.sequence = load_little<std::uint64_t>(in + kSequenceAt);
  header.payload_bytes = load_little<std::uint64_t>(in + kPayloadBytesAt);
  header.context = load_little<std::uint64_t>(in + kContextAt);
  header.source = load_little<std::int32_t>(in + kSourceAt);
  header.tag = load_little<std::int32_t>(in + kTagAt);
  header.message_bytes = load_little<std::uint64_t>(in + kMessageBytesAt);
  header.sender_token = load_little<std::uint64_t>(in + kSenderTokenAt);
  header.receiver_token = load_little<std::uint64_t>(in + kReceiverTokenAt);
  return check_lengths(header);
}

}  // namespace lapwing::wire
