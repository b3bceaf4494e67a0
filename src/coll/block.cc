#include "coll/block.h"

namespace lapwing::coll {

Block bytes_block(void* address, std::uint64_t bytes) noexcept {
  return {address, bytes, datatype::resolve(MPI_BYTE)};
}

Blocks uniform_blocks(const void* base, std::uint64_t count, datatype::Datatype& type, int ranks) {
  Blocks blocks;
  blocks.reserve(static_cast<std::size_t>(ranks));
  const std::int64_t step = static_cast<std::int64_t>(count) * type.extent();
  for (int i = 0; i < ranks; ++i) blocks.push_back({Block::at(const_cast<void*>(base), i * step), count, &type});
  return blocks;
}

Blocks vector_blocks(const void* base, CountArray counts, CountArray displacements, datatype::Datatype& type,
                     int ranks) {
  Blocks blocks;
  blocks.reserve(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks); ++i) {
    void* address = Block::at(const_cast<void*>(base), displacements[i] * type.extent());
    blocks.push_back({address, static_cast<std::uint64_t>(counts[i]), &type});
  }
  return blocks;
}

Blocks typed_blocks(const void* base, CountArray counts, CountArray displacements, const MPI_Datatype* types,
                    int ranks) {
  Blocks blocks;
  blocks.reserve(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks); ++i) {
    void* address = Block::at(const_cast<void*>(base), displacements[i]);
    const auto count = static_cast<std::uint64_t>(counts[i]);
    blocks.push_back({address, count, datatype::resolve(count != 0 ? types[i] : MPI_BYTE)});  // the type of an empty piece does not matter
  }
  return blocks;
}

}  // namespace lapwing::coll
