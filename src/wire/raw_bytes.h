// Bytes as libsodium wants them.
#pragma once

#include <cstddef>

namespace lapwing::wire {

inline const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}
inline unsigned char* raw(std::byte* bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes);
}

}  // namespace lapwing::wire
