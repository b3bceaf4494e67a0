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

// An operand may be where the result goes: an element is read before it is written, which the compiler is told, or it would look for an overlap
// of the two, find one, and go on element by element.
#if defined(__clang__)
#define LAPWING_NO_LOOP_CARRIED_DEPENDENCE _Pragma("clang loop vectorize(assume_safety)")
#else
#define LAPWING_NO_LOOP_CARRIED_DEPENDENCE _Pragma("GCC ivdep")
#endif

template <typename T, typename Combine>
[[gnu::always_inline]] inline void reduce_elements(const void* left, const void* right, void* result, std::size_t count) noexcept {
  const auto* lefts = static_cast<const std::byte*>(left);
  const auto* rights = static_cast<const std::byte*>(right);
  auto* results = static_cast<std::byte*>(result);
  LAPWING_NO_LOOP_CARRIED_DEPENDENCE
  for (std::size_t i = 0; i < count; ++i) {
    T a;
    T b;
    std::memcpy(&a, lefts + i * sizeof(T), sizeof(T));
    std::memcpy(&b, rights + i * sizeof(T), sizeof(T));
    b = Combine::apply(a, b);
    std::memcpy(results + i * sizeof(T), &b, sizeof(T));
  }
}

template <typename T, typename Combine>
void reduce_anywhere(const void* left, const void* right, void* result, std::size_t count) noexcept {
  reduce_elements<T, Combine>(left, right, result, count);
}
template <typename T, typename Combine>
LAPWING_WIDE_VECTORS void reduce_wide(const void* left, const void* right, void* result, std::size_t count) noexcept {
  reduce_elements<T, Combine>(left, right, result, count);
}
template <typename T, typename Combine>
Kernel reduce_loop(Vectors vectors) noexcept {
  return vectors == Vectors::kWide ? reduce_wide<T, Combine> : reduce_anywhere<T, Combine>;
}

}  // namespace lapwing::datatype
