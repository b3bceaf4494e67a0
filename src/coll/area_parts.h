// A post with a part for each rank, where the parts differ in length:
//
//   ends    one 32-bit word per rank: where its part ends, counted from the beginning of the post; with kPartByMessage, if the part
//           is longer than what is posted, and comes as a message
//   parts   one after the other
//
// The rank that reads its part expects so many bytes; what the table says is checked, because a peer wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coll/block.h"

namespace lapwing::coll {

inline constexpr std::uint32_t kPartByMessage = std::uint32_t{1} << 31;

constexpr std::uint64_t parts_table_bytes(std::uint64_t ranks) noexcept {
  return ranks * sizeof(std::uint32_t);
}
// The longest part of which every rank may have one in a post of so many bytes.
constexpr std::uint64_t longest_part(std::uint64_t posted, std::uint64_t ranks) noexcept {
  return posted > parts_table_bytes(ranks) ? (posted - parts_table_bytes(ranks)) / ranks : 0;
}

// Of parts of which those longer than `longest` are not posted.
inline std::uint64_t bytes_with_table(const Blocks& parts, std::uint64_t longest) noexcept {
  std::uint64_t bytes = parts_table_bytes(parts.size());
  for (const Block& part : parts) bytes += part.bytes() <= longest ? part.bytes() : 0;
  return bytes;
}

// `copy_in(part, to)` copies the bytes of one part.
template <typename CopyIn>
void write_parts(const Blocks& parts, std::uint64_t longest, std::byte* to, CopyIn copy_in) noexcept {
  std::uint64_t end = parts_table_bytes(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint64_t bytes = parts[i].bytes();
    const bool by_message = bytes > longest;
    if (bytes != 0 && !by_message) copy_in(parts[i], to + end);
    if (!by_message) end += bytes;
    const std::uint32_t word = static_cast<std::uint32_t>(end) | (by_message ? kPartByMessage : 0);
    std::memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

struct PartPlace {
  std::uint64_t offset = 0, bytes = 0;
  bool by_message = false;
};
// Nothing where the post is too short for its table, or the table makes no sense.
inline PartPlace find_part(const std::byte* data, std::uint64_t bytes, std::uint64_t ranks,
                           std::uint64_t rank) noexcept {
  const std::uint64_t table = parts_table_bytes(ranks);
  if (bytes < table) return {};
  const auto word_of = [data](std::uint64_t part) {
    std::uint32_t word;
    std::memcpy(&word, data + part * sizeof word, sizeof word);
    return word;
  };
  const auto end_in = [](std::uint32_t word) { return std::uint64_t{word & ~kPartByMessage}; };
  const std::uint32_t word = word_of(rank);
  const std::uint64_t begin = rank == 0 ? table : end_in(word_of(rank - 1)), end = end_in(word);
  if (begin < table || begin > end || end > bytes) return {};
  return {begin, end - begin, (word & kPartByMessage) != 0};
}

}  // namespace lapwing::coll
