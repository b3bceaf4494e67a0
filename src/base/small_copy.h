// Copies of a few bytes, inline: a call of memcpy takes longer than the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lapwing {

// At most so many bytes.
inline constexpr std::size_t kSmallCopy = 32;

// Like memcpy. Two copies of a fixed size that overlap in the middle cover every length between one and two times that size.
inline void copy_small(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const auto both_ends = [&]<typename Word>(Word) {
    Word first, last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + bytes - sizeof(Word), &last, sizeof(Word));
  };
  struct Sixteen {
    std::uint64_t words[2];
  };
  if (bytes >= 16) return both_ends(Sixteen{});
  if (bytes >= 8) return both_ends(std::uint64_t{});
  if (bytes >= 4) return both_ends(std::uint32_t{});
  if (bytes >= 2) return both_ends(std::uint16_t{});
  if (bytes == 1) *to = *from;
}

}  // namespace lapwing
