// Integers in the byte order of the wire, whatever the processor's.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace lapwing::wire {

static_assert(std::endian::native == std::endian::little || std::endian::native == std::endian::big);

template <typename Integer>
void store_little(std::byte* out, Integer value) noexcept {
  auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(out, &bits, sizeof bits);
  } else {
    for (std::size_t i = 0; i < sizeof bits; ++i) out[i] = static_cast<std::byte>(bits >> (8 * i));
  }
}

template <typename Integer>
Integer load_little(const std::byte* in) noexcept {
  std::make_unsigned_t<Integer> bits = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&bits, in, sizeof bits);
  } else {
    for (std::size_t i = 0; i < sizeof bits; ++i) {
      bits = static_cast<decltype(bits)>(bits | static_cast<decltype(bits)>(in[i]) << (8 * i));
    }
  }
  return static_cast<Integer>(bits);
}

}  // namespace lapwing::wire
