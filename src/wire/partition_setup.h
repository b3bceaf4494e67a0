// What a partitioned send tells its receiver once: the tags, number and size of its partitions (docs/wire-format.md, Planes).
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "wire/little_endian.h"

namespace lapwing::wire {

struct PartitionSetup {
  static constexpr std::size_t kBytes = 16;
  using Bytes = std::array<std::byte, kBytes>;
  // Partitions that bring no bytes, which cost the receiver memory all the same.
  static constexpr std::int32_t kMostEmptyParts = 1 << 20;

  std::int32_t first_tag = 0;
  std::int32_t partitions = 0;
  std::uint64_t partition_bytes = 0;
};

inline PartitionSetup::Bytes encode(const PartitionSetup& setup) noexcept {
  PartitionSetup::Bytes bytes;
  store_little(bytes.data(), setup.first_tag);
  store_little(bytes.data() + 4, setup.partitions);
  store_little(bytes.data() + 8, setup.partition_bytes);
  return bytes;
}

// False where tags or lengths would overflow, or where partitions without bytes would cost the receiver memory without end.
inline bool decode(const PartitionSetup::Bytes& bytes, PartitionSetup& setup) noexcept {
  setup.first_tag = load_little<std::int32_t>(bytes.data());
  setup.partitions = load_little<std::int32_t>(bytes.data() + 4);
  setup.partition_bytes = load_little<std::uint64_t>(bytes.data() + 8);
  if (setup.partitions < 0 || setup.first_tag < 0 || setup.partitions > INT_MAX - setup.first_tag) return false;
  if (setup.partition_bytes == 0) return setup.partitions <= PartitionSetup::kMostEmptyParts;
  return setup.partitions == 0 || setup.partition_bytes <= UINT64_MAX / static_cast<std::uint64_t>(setup.partitions);
}

}  // namespace lapwing::wire
