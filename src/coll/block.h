// Blocks: where the data of one message or one operand lies. Plain values; a schedule that is made of them keeps the
// types.
#pragma once

#include <cstdint>
#include <vector>

#include "base/count_array.h"
#include "datatype/datatype.h"

namespace lapwing::coll {

struct Block {
  void* address = nullptr;  // as a user gives it: MPI_BOTTOM is legal
  std::uint64_t count = 0;
  datatype::Datatype* type = nullptr;

  // Both are the same data. The address alone does not say so: two types say what lies where from MPI_BOTTOM.
  bool operator==(const Block&) const noexcept = default;
  std::uint64_t bytes() const noexcept { return type ? count * static_cast<std::uint64_t>(type->size()) : 0; }
  // `elements` of it from the element `first` on.
  Block part(std::uint64_t first, std::uint64_t elements) const noexcept {
    return {at(address, static_cast<std::int64_t>(first) * type->extent()), elements, type};
  }
  // Addresses are computed as numbers: MPI_BOTTOM plus a displacement is an address too.
  static void* at(void* base, std::int64_t offset) noexcept {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset));
  }
};

// One block for each rank, in the order of ranks (or of neighbours).
using Blocks = std::vector<Block>;

inline Block block(const void* address, std::uint64_t count, datatype::Datatype* type) noexcept {
  return {const_cast<void*>(address), count, type};
}
// Bytes without a type of the user's.
Block bytes_block(void* address, std::uint64_t bytes) noexcept;

// `ranks` blocks of `count` elements, one after the other.
Blocks uniform_blocks(const void* base, std::uint64_t count, datatype::Datatype& type, int ranks);
// Counts and displacements in units of the type's extent (the v forms).
Blocks vector_blocks(const void* base, CountArray counts, CountArray displacements, datatype::Datatype& type,
                     int ranks);
// Displacements in bytes, a type for each (the w forms).
Blocks typed_blocks(const void* base, CountArray counts, CountArray displacements, const MPI_Datatype* types,
                    int ranks);

}  // namespace lapwing::coll
