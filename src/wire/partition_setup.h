// What a partitioned send tells its receiver: once, the tags, number and size of its partitions; and of partitions that share a tag, with each message,
// which of them it brings (docs/wire-format.md, Planes).
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "wire/little_endian.h"

namespace lapwing::wire {

struct PartitionSetup {
  static constexpr std::size_t kBytes = 20;
  using Bytes = std::array<std::byte, kBytes>;
  // Partitions that bring no bytes, which cost the receiver memory all the same.
  static constexpr std::int32_t kMostEmptyParts = 1 << 20;
  // Of partitions that share a tag.
  static constexpr std::int32_t kMostNeighbours = 256;
  static constexpr std::uint64_t kMostNeighbourBytes = 1 << 16;

  std::int32_t first_tag = 0;
  std::int32_t partitions = 0;
  std::uint64_t partition_bytes = 0;
  std::int32_t neighbours = 1;  // so many share a tag; the last one may have fewer

  std::int32_t tags() const noexcept { return partitions / neighbours + (partitions % neighbours != 0 ? 1 : 0); }
};

// Partitions of one message.
struct PartitionRun {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t end() const noexcept { return first + count; }
};

inline std::uint64_t note_of(PartitionRun run) noexcept {
  return static_cast<std::uint64_t>(run.first) << 32 | static_cast<std::uint64_t>(run.count);
}

// Without partitions when the note names none, or some that are not among these.
inline PartitionRun run_of(std::uint64_t note, PartitionRun among) noexcept {
  const std::uint64_t first = note >> 32, count = note & 0xffffffff;
  const bool sound = first >= static_cast<std::uint64_t>(among.first) && first + count <= static_cast<std::uint64_t>(among.end());
  return sound ? PartitionRun{static_cast<std::int32_t>(first), static_cast<std::int32_t>(count)} : PartitionRun{};
}

inline PartitionSetup::Bytes encode(const PartitionSetup& setup) noexcept {
  PartitionSetup::Bytes bytes;
  store_little(bytes.data(), setup.first_tag);
  store_little(bytes.data() + 4, setup.partitions);
  store_little(bytes.data() + 8, setup.partition_bytes);
  store_little(bytes.data() + 16, setup.neighbours);
  return bytes;
}

// False where tags or lengths would overflow, or where partitions without bytes would cost the receiver memory without end.
inline bool decode(const PartitionSetup::Bytes& bytes, PartitionSetup& setup) noexcept {
  setup.first_tag = load_little<std::int32_t>(bytes.data());
  setup.partitions = load_little<std::int32_t>(bytes.data() + 4);
  setup.partition_bytes = load_little<std::uint64_t>(bytes.data() + 8);
  setup.neighbours = load_little<std::int32_t>(bytes.data() + 16);
  if (setup.neighbours < 1 || setup.neighbours > PartitionSetup::kMostNeighbours) return false;
  if (setup.neighbours > 1 && setup.partition_bytes > PartitionSetup::kMostNeighbourBytes / static_cast<std::uint64_t>(setup.neighbours)) return false;
  if (setup.partitions < 0 || setup.first_tag < 0 || setup.tags() > INT_MAX - setup.first_tag) return false;
  if (setup.partition_bytes == 0) return setup.partitions <= PartitionSetup::kMostEmptyParts;
  return setup.partitions == 0 || setup.partition_bytes <= UINT64_MAX / static_cast<std::uint64_t>(setup.partitions);
}

}  // namespace lapwing::wire
