// A post with a part for each rank, where the parts differ in length:
//
//   ends    one 32-bit word per rank: where its part ends, counted from the beginning of the post
//   parts   one after the other
//
// The rank that reads its part expects so many bytes; what the table says is checked, because a peer wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coll/block.h"

namespace lapwing::coll {

constexpr std::uint64_t parts_table_bytes(std::uint64_t ranks) noexcept {
  return ranks * sizeof(std::uint32_t);
}
// The longest part of which every rank may have one in a post of so many bytes.
constexpr std::uint64_t longest_part(std::uint64_t posted, std::uint64_t ranks) noexcept {
  return posted > parts_table_bytes(ranks) ? (posted - parts_table_bytes(ranks)) / ranks : 0;
}

inline std::uint64_t bytes_with_table(const Blocks& parts) noexcept {
  std::uint64_t bytes = parts_table_bytes(parts.size());
  for (const Block& part : parts) bytes += part.bytes();
  return bytes;
}

// `copy_in(part, to)` copies the bytes of one part.
template <typename CopyIn>
void write_parts(const Blocks& parts, std::byte* to, CopyIn copy_in) noexcept {
  std::uint64_t end = parts_table_bytes(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].bytes() != 0) copy_in(parts[i], to + end);
    end += parts[i].bytes();
    const auto word = static_cast<std::uint32_t>(end);
    std::memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

struct PartPlace {
  std::uint64_t offset = 0, bytes = 0;
};
// Nothing where the post is too short for its table, or the table makes no sense.
inline PartPlace find_part(const std::byte* data, std::uint64_t bytes, std::uint64_t ranks,
                           std::uint64_t rank) noexcept {
  const std::uint64_t table = parts_table_bytes(ranks);
  if (bytes < table) return {};
  const auto end_of = [data](std::uint64_t part) {
    std::uint32_t end;
    std::memcpy(&end, data + part * sizeof end, sizeof end);
    return std::uint64_t{end};
  };
  const std::uint64_t begin = rank == 0 ? table : end_of(rank - 1), end = end_of(rank);
  if (begin < table || begin > end || end > bytes) return {};
  return {begin, end - begin};
}

}  // namespace lapwing::coll
