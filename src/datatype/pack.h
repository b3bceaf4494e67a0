// Moving typed data between memory layouts, in streaming fashion: no temporary grows with the message.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "datatype/datatype.h"

namespace lapwing::datatype {

// Bytes of the packed form. The arguments of MPI functions have been looked at so that they are countable.
inline std::uint64_t packed_size(const Datatype& type, std::uint64_t count) noexcept {
  return static_cast<std::uint64_t>(type.size()) * count;
}

// Whether MPI_Count has a number for those bytes.
inline bool countable(const Datatype& type, std::int64_t count) noexcept {
  std::int64_t bytes;
  return !__builtin_mul_overflow(type.size(), count, &bytes);
}

// Packs all of it; `out` has room for packed_size().
void pack(const void* buffer, std::uint64_t count, const Datatype& type, void* out) noexcept;
void unpack(const void* in, void* buffer, std::uint64_t count, const Datatype& type) noexcept;
// The same for a part of the packed stream that begins at byte `offset`; returns the bytes moved (fewer only at the
// end).
std::uint64_t pack(const void* buffer, std::uint64_t count, const Datatype& type, std::uint64_t offset, void* out,
                   std::uint64_t capacity) noexcept;
std::uint64_t unpack(const void* in, std::uint64_t bytes, void* buffer, std::uint64_t count, const Datatype& type,
                     std::uint64_t offset) noexcept;

// Copies from one typed buffer to another as a message would; returns the bytes moved, at most what the destination
// takes. The caller compares packed sizes when more is an error.
std::uint64_t copy(const void* source, std::uint64_t source_count, const Datatype& source_type, void* destination,
                   std::uint64_t destination_count, const Datatype& destination_type) noexcept;

// external32 (MPI 5.0, chapter "I/O", section "external data representation").
std::uint64_t external_size(const Datatype& type, std::uint64_t count) noexcept;
// MPI_ERR_CONVERSION where a number has more bits than its type has in external32 (MPI_LONG, MPI_WCHAR): those are lost in `out`.
Status pack_external(const void* buffer, std::uint64_t count, const Datatype& type, void* out);
void unpack_external(const void* in, void* buffer, std::uint64_t count, const Datatype& type);

}  // namespace lapwing::datatype
