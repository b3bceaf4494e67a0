// A small payload inside its header: between ranks of one host, where a frame costs what its cache lines cost
// (docs/wire-format.md). Inline, because this is half of what a small message costs there.
//
// Whatever the protocol: the last three words of its header must be 0, and hold the payload instead. The second word is left
// out: shared memory keeps a stamp of its own there, and both sides count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/small_copy.h"
#include "wire/frame.h"

namespace lapwing::wire {

inline constexpr std::uint64_t kInlineBytes = 24;
inline constexpr std::size_t kInlinePayloadAt = 40;
static_assert(kInlinePayloadAt + kInlineBytes == kHeaderBytes && kInlineBytes <= kSmallCopy);
inline constexpr std::uint64_t kInlineMark = std::uint64_t{kFlagInline} << 40;

inline bool fits_inline(const FrameHeader& header) noexcept {
  const auto length = static_cast<std::uint32_t>(wire_word(header.words[0]));
  return length <= kInlineBytes && (header.words[5] | header.words[6] | header.words[7]) == 0;
}

inline void store_word(std::byte* line, std::size_t index, std::uint64_t word) noexcept {
  std::memcpy(line + index * sizeof word, &word, sizeof word);
}
inline std::uint64_t load_word(const std::byte* line, std::size_t index) noexcept {
  std::uint64_t word;
  std::memcpy(&word, line + index * sizeof word, sizeof word);
  return word;
}

// All words but the second. `place`: where the payload lies, if not behind the line; in the 16 bits that are reserved elsewhere.
inline void store_around_stamp(const FrameHeader& header, std::byte* line, std::uint16_t place = 0) noexcept {
  store_word(line, 0, header.words[0] | wire_word(std::uint64_t{place} << 48));
  copy_words(header, 2, line);
}
inline void load_around_stamp(const std::byte* line, FrameHeader& header) noexcept {
  header.words[0] = load_word(line, 0);
  for (std::size_t index = 2; index < FrameHeader::kWords; ++index) header.words[index] = load_word(line, index);
}

// Takes the place out of the header.
inline std::uint16_t take_place(FrameHeader& header) noexcept {
  const std::uint16_t place = header.reserved();
  header.words[0] ^= wire_word(std::uint64_t{place} << 48);
  return place;
}

inline void encode_inline(const FrameHeader& header, const std::byte* payload, std::byte* line) noexcept {
  store_word(line, 0, header.words[0] | wire_word(kInlineMark));
  for (std::size_t index = 2; index < 5; ++index) store_word(line, index, header.words[index]);
  copy_small(line + kInlinePayloadAt, payload, static_cast<std::uint32_t>(wire_word(header.words[0])));
}

inline bool is_inline(const std::byte* line) noexcept {
  return (load_word(line, 0) & wire_word(kInlineMark)) != 0;
}

inline const std::byte* inline_payload(const std::byte* line) noexcept {
  return line + kInlinePayloadAt;
}

// Of a frame that is_inline(), as if it were not. False when it claims more payload than fits, or is unsound.
inline bool decode_inline(const std::byte* line, FrameHeader& header) noexcept {
  header.words[0] = load_word(line, 0) ^ wire_word(kInlineMark);
  for (std::size_t index = 2; index < 5; ++index) header.words[index] = load_word(line, index);
  header.words[5] = header.words[6] = header.words[7] = 0;
  return is_sound(header) && header.payload_bytes() <= kInlineBytes;
}

}  // namespace lapwing::wire
