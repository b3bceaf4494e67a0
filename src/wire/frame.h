// The frame: what processes say to each other once a link is trusted. Little-endian, version 3: a header of 64 bytes, then
// `length` bytes of payload. Every transport carries the same frames; docs/wire-format.md has the whole format.
//
//   0                          4        5        6                 8
//   +--------------------------+--------+--------+-----------------+
//   | length: of the payload   |protocol| flags  | reserved = 0    |   the transport's header
//   +--------------------------+--------+--------+-----------------+  8
//   | sequence: of this frame  | acknowledgement: frames received  |
//   +--------------------------+-----------------------------------+ 16
//   | the protocol's own header: six words that no transport reads |
//   +--------------------------------------------------------------+ 64
//
// In memory the header is the same eight words, in the wire's byte order: what a protocol has written is copied, not translated.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/status.h"

namespace lapwing::wire {

inline constexpr std::uint16_t kVersion = 3;
inline constexpr std::size_t kHeaderBytes = 64;
// No single frame carries more; longer messages travel as several.
inline constexpr std::uint64_t kMaxPayloadBytes = 64u << 20;

// Whose header it is, and so which sink takes the frame.
enum class Protocol : std::uint8_t {
  kChannel = 0,   // the two ends of a channel to each other. No sink sees it
  kMessages = 1,  // point to point (wire/message_header.h)
  kPackets = 2,   // a packet that takes a detour (wire/packet_frame.h)
};
inline constexpr std::size_t kProtocols = 3;

// The first word of the header of a kChannel frame; the others are 0.
enum class ChannelWord : std::uint64_t {
  kGoodbye = 1,      // this process sends nothing more
  kAcknowledge = 2,  // only the number of frames received, which every header has
};

// The payload lies in the last three words of the header (wire/inline_frame.h). Only in shared memory.
inline constexpr std::uint8_t kFlagInline = 1;
// The sender would be told soon that this frame has come. Only over TCP.
inline constexpr std::uint8_t kFlagAcknowledge = 2;
// A trailer follows the payload: kTrailerBytes that mean nothing, in a packet of their own, which the payload's length does not count. Of that packet
// a program in the receiver's kernel may make an answer (docs/ethernet.md, Answers by the kernel). Only over TCP.
inline constexpr std::uint8_t kFlagTrailer = 4;
inline constexpr std::uint64_t kTrailerBytes = kHeaderBytes;  // as many as the answer has

// Between a word of the wire and the processor's.
constexpr std::uint64_t wire_word(std::uint64_t value) noexcept {
  if constexpr (std::endian::native == std::endian::little) return value;
  std::uint64_t swapped = 0;
  for (int byte = 0; byte < 8; ++byte) swapped = swapped << 8 | (value >> (8 * byte) & 0xff);
  return swapped;
}

struct FrameHeader {
  static constexpr std::size_t kWords = 8, kOwnWords = 6;

  std::uint64_t words[kWords] = {};

  constexpr std::uint64_t word(std::size_t index) const noexcept { return wire_word(words[index]); }
  constexpr void set_word(std::size_t index, std::uint64_t value) noexcept { words[index] = wire_word(value); }
  // The protocol's own.
  constexpr std::uint64_t own(std::size_t index) const noexcept { return wire_word(words[index + 2]); }
  constexpr void set_own(std::size_t index, std::uint64_t value) noexcept { set_word(index + 2, value); }

  // Of a payload, at most kMaxPayloadBytes.
  constexpr void describe(Protocol protocol, std::uint64_t payload_bytes) noexcept {
    set_word(0, payload_bytes | static_cast<std::uint64_t>(protocol) << 32);
  }
  constexpr void set_flags(std::uint8_t flags) noexcept {
    set_word(0, (word(0) & ~(std::uint64_t{0xff} << 40)) | std::uint64_t{flags} << 40);
  }
  constexpr void number(std::uint32_t sequence, std::uint32_t acknowledgement) noexcept {
    set_word(1, sequence | std::uint64_t{acknowledgement} << 32);
  }
  constexpr std::uint64_t payload_bytes() const noexcept { return static_cast<std::uint32_t>(wire_word(words[0])); }
  constexpr std::uint8_t protocol() const noexcept { return static_cast<std::uint8_t>(wire_word(words[0]) >> 32); }
  constexpr bool is(Protocol of) const noexcept { return protocol() == static_cast<std::uint8_t>(of); }
  constexpr std::uint8_t flags() const noexcept { return static_cast<std::uint8_t>(wire_word(words[0]) >> 40); }
  constexpr std::uint64_t trailer_bytes() const noexcept { return (flags() & kFlagTrailer) != 0 ? kTrailerBytes : 0; }
  constexpr std::uint16_t reserved() const noexcept { return static_cast<std::uint16_t>(wire_word(words[0]) >> 48); }
  struct Numbers {
    std::uint32_t sequence, acknowledgement;
  };
  constexpr Numbers numbers() const noexcept {
    const std::uint64_t both = wire_word(words[1]);
    return {static_cast<std::uint32_t>(both), static_cast<std::uint32_t>(both >> 32)};
  }
};
static_assert(sizeof(FrameHeader) == kHeaderBytes);

// The words from `first` on, one by one, which the compiler would not do: they were written one by one a moment ago, and a read of
// several at once waits until all of them have left the store buffer.
inline void copy_words(const FrameHeader& header, std::size_t first, std::byte* to) noexcept {
  const volatile std::uint64_t* words = header.words;
  for (std::size_t index = first; index < FrameHeader::kWords; ++index) {
    const std::uint64_t word = words[index];
    std::memcpy(to + index * sizeof word, &word, sizeof word);
  }
}

inline FrameHeader channel_frame(ChannelWord word) noexcept {
  FrameHeader header;
  header.describe(Protocol::kChannel, 0);
  header.set_own(0, static_cast<std::uint64_t>(word));
  return header;
}

inline FrameHeader goodbye() noexcept { return channel_frame(ChannelWord::kGoodbye); }

// The usual frame: of a protocol that this version knows, and not too long.
constexpr bool is_sound(const FrameHeader& header) noexcept {
  const std::uint64_t word = wire_word(header.words[0]);
  const std::uint64_t rest = (word >> 32) & ~(std::uint64_t{kFlagAcknowledge | kFlagTrailer} << 8);
  return rest < kProtocols && rest != 0 && static_cast<std::uint32_t>(word) <= kMaxPayloadBytes;
}
// The transport's header, and the whole one of a kChannel frame; the text of an error says what rule was broken.
Status check(const FrameHeader& header);

}  // namespace lapwing::wire
