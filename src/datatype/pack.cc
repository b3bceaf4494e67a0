#include "datatype/pack.h"

#include <algorithm>
#include <cstring>

#include "base/bulk_copy.h"
#include "datatype/walk.h"

namespace lapwing::datatype {

void pack(const void* buffer, std::uint64_t count, const Datatype& type, void* out) noexcept {
  Walk walk(type, buffer, count);
  walk.gather(out, walk.remaining());
}

void unpack(const void* in, void* buffer, std::uint64_t count, const Datatype& type) noexcept {
  Walk walk(type, buffer, count);
  walk.scatter(in, walk.remaining());
}

std::uint64_t pack(const void* buffer, std::uint64_t count, const Datatype& type, std::uint64_t offset, void* out,
                   std::uint64_t capacity) noexcept {
  Walk walk(type, buffer, count);
  walk.seek(std::min(offset, walk.total()));
  const std::uint64_t bytes = std::min(capacity, walk.remaining());
  walk.gather(out, bytes);
  return bytes;
}

std::uint64_t unpack(const void* in, std::uint64_t bytes, void* buffer, std::uint64_t count, const Datatype& type,
                     std::uint64_t offset) noexcept {
  Walk walk(type, buffer, count);
  walk.seek(std::min(offset, walk.total()));
  bytes = std::min(bytes, walk.remaining());
  walk.scatter(in, bytes);
  return bytes;
}

namespace {

// Addresses are computed as numbers: MPI_BOTTOM plus a displacement is an address too.
void* run_of(const void* buffer, const Datatype& type) noexcept {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(type.true_lb()));
}

}  // namespace

std::uint64_t copy(const void* source, std::uint64_t source_count, const Datatype& source_type, void* destination,
                   std::uint64_t destination_count, const Datatype& destination_type) noexcept {
  if (source_type.contiguous() && destination_type.contiguous()) {  // of a few bytes, to begin two walks takes longer than the copy
    const std::uint64_t bytes = std::min(source_count * static_cast<std::uint64_t>(source_type.size()),
                                         destination_count * static_cast<std::uint64_t>(destination_type.size()));
    plain_copy(run_of(destination, destination_type), run_of(source, source_type), bytes);
    return bytes;
  }
  Walk from(source_type, source, source_count);
  Walk to(destination_type, destination, destination_count);
  const std::uint64_t bytes = std::min(from.remaining(), to.remaining());
  std::uint64_t left = bytes;
  // A side that is one run serves as the other side's buffer. Otherwise a small buffer between them keeps the loops of
  // the two walks tight.
  if (left <= from.run_bytes()) {
    to.scatter(from.run(), left);
  } else if (left <= to.run_bytes()) {
    from.gather(to.run(), left);
  } else {
    std::byte buffer[4096];
    while (left > 0) {
      const std::size_t part = std::min<std::uint64_t>(left, sizeof buffer);
      from.gather(buffer, part);
      to.scatter(buffer, part);
      left -= part;
    }
  }
  return bytes;
}

}  // namespace lapwing::datatype
