#include <cstdint>
#include <type_traits>

#include "datatype/kernel_loop.h"
#include "datatype/kernels.h"

namespace lapwing::datatype {
namespace {

// Signed overflow wraps, as the same sum would in Fortran's and C's usual compilers, instead of being undefined.
template <typename T>
struct Arithmetic {
  using Type = T;
};
template <>
struct Arithmetic<std::int8_t> {
  using Type = std::uint32_t;
};
template <>
struct Arithmetic<std::int16_t> {
  using Type = std::uint32_t;
};
template <>
struct Arithmetic<std::uint16_t> {  // two of them would overflow the int they are promoted to
  using Type = std::uint32_t;
};
template <>
struct Arithmetic<std::int32_t> {
  using Type = std::uint32_t;
};
template <>
struct Arithmetic<std::int64_t> {
  using Type = std::uint64_t;
};
template <>
struct Arithmetic<Int128> {
  __extension__ typedef unsigned __int128 Type;
};
template <typename T>
using ArithmeticType = typename Arithmetic<T>::Type;

struct Sum {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(static_cast<ArithmeticType<T>>(a) + static_cast<ArithmeticType<T>>(b));
  }
  template <typename T>
  static Complex<T> apply(Complex<T> a, Complex<T> b) noexcept {
    return {apply(a.real, b.real), apply(a.imaginary, b.imaginary)};
  }
};

struct Product {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>(static_cast<ArithmeticType<T>>(a) * static_cast<ArithmeticType<T>>(b));
  }
  template <typename T>
  static Complex<T> apply(Complex<T> a, Complex<T> b) noexcept {
    return {static_cast<T>(a.real * b.real - a.imaginary * b.imaginary),
            static_cast<T>(a.real * b.imaginary + a.imaginary * b.real)};
  }
};

struct Minimum {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return a < b ? a : b;
  }
};

struct Maximum {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return a > b ? a : b;
  }
};

template <typename Combine>
Kernel number_kernel(Element element, Vectors vectors) noexcept {
  switch (element) {
    case Element::kInt8:
      return reduce_loop<std::int8_t, Combine>(vectors);
    case Element::kInt16:
      return reduce_loop<std::int16_t, Combine>(vectors);
    case Element::kInt32:
      return reduce_loop<std::int32_t, Combine>(vectors);
    case Element::kInt64:
      return reduce_loop<std::int64_t, Combine>(vectors);
    case Element::kInt128:
      return reduce_loop<Int128, Combine>(vectors);
    case Element::kUint8:
      return reduce_loop<std::uint8_t, Combine>(vectors);
    case Element::kUint16:
      return reduce_loop<std::uint16_t, Combine>(vectors);
    case Element::kUint32:
      return reduce_loop<std::uint32_t, Combine>(vectors);
    case Element::kUint64:
      return reduce_loop<std::uint64_t, Combine>(vectors);
    case Element::kFloat16:
      return reduce_loop<Half, Combine>(vectors);
    case Element::kFloat32:
      return reduce_loop<float, Combine>(vectors);
    case Element::kFloat64:
      return reduce_loop<double, Combine>(vectors);
    case Element::kLongDouble:
      return reduce_loop<long double, Combine>(vectors);
    case Element::kFloat128:
      return reduce_loop<Quad, Combine>(vectors);
    default:
      return nullptr;
  }
}

template <typename Combine>
Kernel complex_kernel(Element element, Vectors vectors) noexcept {
  switch (element) {
    case Element::kComplex16:
      return reduce_loop<Complex<Half>, Combine>(vectors);
    case Element::kComplex32:
      return reduce_loop<Complex<float>, Combine>(vectors);
    case Element::kComplex64:
      return reduce_loop<Complex<double>, Combine>(vectors);
    case Element::kComplexLongDouble:
      return reduce_loop<Complex<long double>, Combine>(vectors);
    case Element::kComplex128:
      return reduce_loop<Complex<Quad>, Combine>(vectors);
    default:
      return number_kernel<Combine>(element, vectors);
  }
}

}  // namespace

Kernel arithmetic_kernel(MPI_Op op, Element element, Vectors vectors) noexcept {
  if (op == MPI_SUM) return complex_kernel<Sum>(element, vectors);
  if (op == MPI_PROD) return complex_kernel<Product>(element, vectors);
  if (op == MPI_MIN) return number_kernel<Minimum>(element, vectors);
  if (op == MPI_MAX) return number_kernel<Maximum>(element, vectors);
  return nullptr;
}

}  // namespace lapwing::datatype
