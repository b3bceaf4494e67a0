// A small eager message inside its header: between ranks of one host, where a frame costs what its cache lines cost
// (docs/wire-format.md). Inline, because encoding and decoding is half of what a small message costs there.
//
// `reserved` is 1, and the payload lies where message_bytes and the tokens would be, which follow from the rest. The sequence is left
// out: shared memory keeps a stamp of its own there, and both sides count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/small_copy.h"
#include "wire/frame.h"
#include "wire/little_endian.h"

namespace lapwing::wire {

inline constexpr std::uint64_t kInlineBytes = 24;
inline constexpr std::size_t kInlinePayloadAt = 40;
static_assert(kInlinePayloadAt + kInlineBytes == kHeaderBytes && kInlineBytes <= kSmallCopy);

// The first four bytes of every such frame: kind, no flags, reserved = 1.
inline constexpr std::uint32_t kInlineMark = static_cast<std::uint32_t>(FrameKind::kEager) | 1u << 16;

inline bool fits_inline(const FrameHeader& header) noexcept {
  return header.kind == FrameKind::kEager && header.payload_bytes <= kInlineBytes && header.sender_token == 0;
}

inline void encode_inline(const FrameHeader& header, const std::byte* payload, std::byte* out) noexcept {
  store_little(out, kInlineMark);
  store_little(out + 4, header.credit);
  store_little(out + 16, header.payload_bytes);
  store_little(out + 24, header.context);
  store_little(out + 32, header.source);
  store_little(out + 36, header.tag);
  copy_small(out + kInlinePayloadAt, payload, header.payload_bytes);
}

inline bool is_inline(const std::byte* in) noexcept {
  return load_little<std::uint32_t>(in) == kInlineMark;
}

inline const std::byte* inline_payload(const std::byte* in) noexcept {
  return in + kInlinePayloadAt;
}

// Of a frame that is_inline(). False when it claims more payload than fits. Fills all but the sequence.
inline bool decode_inline(const std::byte* in, FrameHeader& header) noexcept {
  header.kind = FrameKind::kEager;
  header.flags = 0;
  header.credit = load_little<std::uint32_t>(in + 4);
  header.payload_bytes = header.message_bytes = load_little<std::uint64_t>(in + 16);
  header.context = load_little<std::uint64_t>(in + 24);
  header.source = load_little<std::int32_t>(in + 32);
  header.tag = load_little<std::int32_t>(in + 36);
  header.sender_token = header.receiver_token = 0;
  return header.payload_bytes <= kInlineBytes;
}

}  // namespace lapwing::wire
