// The loop that all kernels share. Elements are loaded and stored with memcpy: buffers from packed data need no
// alignment, and compilers turn it into the same vector instructions.
#pragma once

#include <cstddef>
#include <cstring>

#include "datatype/numbers.h"

namespace lapwing::datatype {

template <typename T, typename Combine>
void reduce_loop(const void* in, void* inout, std::size_t count) noexcept {
  const auto* __restrict left = static_cast<const std::byte*>(in);
  auto* __restrict right = static_cast<std::byte*>(inout);
  for (std::size_t i = 0; i < count; ++i) {
    T a;
    T b;
    std::memcpy(&a, left + i * sizeof(T), sizeof(T));
    std::memcpy(&b, right + i * sizeof(T), sizeof(T));
    b = Combine::apply(a, b);
    std::memcpy(right + i * sizeof(T), &b, sizeof(T));
  }
}

}  // namespace lapwing::datatype
