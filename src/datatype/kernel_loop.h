// The loop that all kernels share. Elements are loaded and stored with memcpy: buffers from packed data need no
// alignment, and compilers turn it into the same vector instructions.
//
// It is compiled twice: for any processor, and with vectors of 32 bytes. Not with fused multiplication and addition, which rounds
// once where others round twice: results must not depend on the machine.
#pragma once

#include <cstddef>
#include <cstring>

#include "datatype/kernels.h"
#include "datatype/numbers.h"

#if defined(__x86_64__)
#define LAPWING_WIDE_VECTORS __attribute__((target("avx2")))
#else
#define LAPWING_WIDE_VECTORS
#endif

namespace lapwing::datatype {

template <typename T, typename Combine>
[[gnu::always_inline]] inline void reduce_elements(const void* in, void* inout, std::size_t count) noexcept {
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

template <typename T, typename Combine>
void reduce_anywhere(const void* in, void* inout, std::size_t count) noexcept {
  reduce_elements<T, Combine>(in, inout, count);
}
template <typename T, typename Combine>
LAPWING_WIDE_VECTORS void reduce_wide(const void* in, void* inout, std::size_t count) noexcept {
  reduce_elements<T, Combine>(in, inout, count);
}
template <typename T, typename Combine>
Kernel reduce_loop(Vectors vectors) noexcept {
  return vectors == Vectors::kWide ? reduce_wide<T, Combine> : reduce_anywhere<T, Combine>;
}

}  // namespace lapwing::datatype
