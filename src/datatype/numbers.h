// The number types of Fortran and C that C++20 has no portable name for.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

namespace lapwing::datatype {

__extension__ typedef __int128 Int128;
#if LDBL_MANT_DIG == 113
using Quad = long double;
#else
__extension__ typedef __float128 Quad;
#endif

// IEEE binary16 as storage; arithmetic happens in float. Not every compiler we build with has _Float16 on x86.
class Half {
 public:
  Half() noexcept = default;
  Half(float value) noexcept : bits_(from_float(value)) {}     // NOLINT: reads like the built-in types
  operator float() const noexcept { return to_float(bits_); }  // NOLINT

 private:
  static float to_float(std::uint16_t bits) noexcept {
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    float magnitude = 0;
    if (exponent == 31) {
      magnitude = fraction != 0 ? std::nanf("") : HUGE_VALF;
    } else {
      magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }

  // Rounds to nearest, ties to even.
  static std::uint16_t from_float(float value) noexcept {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7e00;
    if (magnitude >= 65520.0f) return sign | 0x7c00;
    if (magnitude < 0x1p-14f) return sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24f));
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude);
    const std::uint32_t rounded = bits + 0xfff + ((bits >> 13) & 1);
    return sign | static_cast<std::uint16_t>((rounded >> 13) - ((127 - 15) << 10));
  }

  std::uint16_t bits_ = 0;
};

// std::complex is specified for float, double and long double only, and its product checks for NaN; this one is the
// textbook's.
template <typename T>
struct Complex {
  T real;
  T imaginary;
};

}  // namespace lapwing::datatype
