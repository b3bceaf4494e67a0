// A post with a part for each rank, where the parts differ in length:
//
//   ends    one 32-bit word per rank: where its part ends, counted from the beginning of the post; flags: the part is not posted, and
//           comes as a message; or it lies in the memory of the rank that posts, and what is posted is its place; and, the same for all
//           parts, what this rank needs for its blocks (uneven_rounds.h)
//   parts   one after the other; one that is not short begins with a cache line, or vector moves would write and read across two
//
// The rank that posts decides for each part. The rank that reads its part expects so many bytes; what the table says is checked, because a
// peer wrote it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coll/block.h"

namespace lapwing::coll {

inline constexpr std::uint32_t kPartByMessage = std::uint32_t{1} << 31, kPartInPlace = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kPartFlags = kPartByMessage | kPartInPlace;
inline constexpr unsigned kPartNeedShift = 24;
inline constexpr std::uint32_t kPartEnd = (std::uint32_t{1} << kPartNeedShift) - 1, kMostPartNeed = 63;

// Where a rank's buffer lies, as it posts it for others that copy from there or to there.
struct BufferPlace {
  std::uint64_t address = 0, bytes = 0;
};
inline BufferPlace place_of(const Block& run) noexcept {
  if (run.bytes() == 0) return {};
  return {reinterpret_cast<std::uintptr_t>(Block::at(run.address, run.type->true_lb())), run.bytes()};
}

// How parts go.
struct PartRules {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  std::uint64_t longest = kNever;      // what is longer goes as a message
  std::uint64_t least_place = kNever;  // but what is a run of bytes and has so many is left in place
  std::uint32_t need = 0;              // what the rank needs for its blocks (uneven_rounds.h), at most kMostPartNeed; 0: that is not asked

  bool in_place(const Block& part) const noexcept { return part.bytes() >= least_place && part.type->contiguous(); }
  bool by_message(const Block& part) const noexcept { return part.bytes() > longest && !in_place(part); }
  std::uint64_t posted_bytes(const Block& part) const noexcept {
    return in_place(part) ? sizeof(BufferPlace) : by_message(part) ? 0 : part.bytes();
  }
  std::uint32_t flags(const Block& part) const noexcept {
    return in_place(part) ? kPartInPlace : by_message(part) ? kPartByMessage : 0;
  }
};

constexpr std::uint64_t parts_table_bytes(std::uint64_t ranks) noexcept {
  return ranks * sizeof(std::uint32_t);
}
inline constexpr std::uint64_t kLine = 64, kAlignedPart = 256;
constexpr std::uint64_t aligned(std::uint64_t offset) noexcept { return (offset + kLine - 1) / kLine * kLine; }
// Where a part of so many bytes begins behind one that ends there.
constexpr std::uint64_t part_begin(std::uint64_t end, std::uint64_t bytes) noexcept {
  return bytes < kAlignedPart ? end : aligned(end);
}
// The longest part of which every rank may have one in a post of so many bytes, or a shorter one.
constexpr std::uint64_t longest_part(std::uint64_t posted, std::uint64_t ranks) noexcept {
  const std::uint64_t table = parts_table_bytes(ranks);
  if (posted <= aligned(table)) return 0;
  const std::uint64_t lines = (posted - aligned(table)) / ranks / kLine * kLine;
  return lines >= kAlignedPart + kLine ? lines : std::min((posted - table) / ranks, kAlignedPart - 1);
}

// Where the first `count` of them end.
inline std::uint64_t end_of_parts(const Blocks& parts, std::size_t count, const PartRules& rules) noexcept {
  std::uint64_t end = parts_table_bytes(parts.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = rules.posted_bytes(parts[i]);
    end = part_begin(end, bytes) + bytes;
  }
  return end;
}
inline std::uint64_t bytes_with_table(const Blocks& parts, const PartRules& rules) noexcept {
  return end_of_parts(parts, parts.size(), rules);
}

// `copy_in(part, to)` copies the bytes of one part.
template <typename CopyIn>
void write_parts(const Blocks& parts, const PartRules& rules, std::byte* to, CopyIn copy_in) noexcept {
  std::uint64_t end = parts_table_bytes(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Block& part = parts[i];
    const std::uint64_t bytes = rules.posted_bytes(part), begin = part_begin(end, bytes);
    if (rules.in_place(part)) {
      const BufferPlace place = place_of(part);
      std::memcpy(to + begin, &place, sizeof place);
    } else if (bytes != 0) {
      copy_in(part, to + begin);
    }
    end = begin + bytes;
    const std::uint32_t word = static_cast<std::uint32_t>(end) | rules.need << kPartNeedShift | rules.flags(part);
    std::memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

struct PartPlace {
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t flags = 0;
  std::uint32_t need = 0;

  bool by_message() const noexcept { return (flags & kPartByMessage) != 0; }
  bool in_place() const noexcept { return (flags & kPartInPlace) != 0; }
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
  const auto end_in = [](std::uint32_t word) { return std::uint64_t{word & kPartEnd}; };
  const std::uint32_t word = word_of(rank);
  const std::uint64_t before = rank == 0 ? table : end_in(word_of(rank - 1)), end = end_in(word);
  const std::uint64_t begin = end >= aligned(before) + kAlignedPart ? aligned(before) : before;
  if (begin < table || begin > end || end > bytes) return {};
  return {begin, end - begin, word & kPartFlags, word >> kPartNeedShift & kMostPartNeed};
}
// What is posted for a part, or of a whole post, that is left in place. Nothing where it is too short for that.
inline BufferPlace read_place(const std::byte* data, std::uint64_t bytes) noexcept {
  BufferPlace place;
  if (bytes >= sizeof place) std::memcpy(&place, data, sizeof place);
  return place;
}

}  // namespace lapwing::coll
