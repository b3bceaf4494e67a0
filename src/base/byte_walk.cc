#include "base/byte_walk.h"

#include <cstring>

#include "base/bulk_copy.h"

namespace lapwing {

std::size_t ContiguousWalk::peek(iovec* segments, std::size_t capacity) noexcept {
  if (remaining() == 0 || capacity == 0) return 0;
  segments[0] = {base_ + position_, static_cast<std::size_t>(remaining())};
  return 1;
}

void ContiguousWalk::advance(std::uint64_t bytes) noexcept {
  position_ += bytes;
}

void ContiguousWalk::gather(void* destination, std::size_t bytes) noexcept {
  plain_copy(destination, base_ + position_, bytes);
  advance(bytes);
}

void ContiguousWalk::scatter(const void* source, std::size_t bytes) noexcept {
  plain_copy(base_ + position_, source, bytes);
  advance(bytes);
}

}  // namespace lapwing
