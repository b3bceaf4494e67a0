#include <cstdint>

#include "datatype/kernel_loop.h"
#include "datatype/kernels.h"

namespace lapwing::datatype {
namespace {

struct BitAnd {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return a & b;
  }
};
struct BitOr {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return a | b;
  }
};
struct BitXor {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return a ^ b;
  }
};

// Anything but zero is true; true is written as one, which is also gfortran's .TRUE.
struct LogicalAnd {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct LogicalXor {
  template <typename T>
  static T apply(T a, T b) noexcept {
    return static_cast<T>((a != 0) != (b != 0));
  }
};

// Signedness makes no difference to any of these.
template <typename Combine>
Kernel integer_kernel(Element element, Vectors vectors) noexcept {
  switch (element) {
    case Element::kInt8:
    case Element::kUint8:
      return reduce_loop<std::uint8_t, Combine>(vectors);
    case Element::kInt16:
    case Element::kUint16:
      return reduce_loop<std::uint16_t, Combine>(vectors);
    case Element::kInt32:
    case Element::kUint32:
      return reduce_loop<std::uint32_t, Combine>(vectors);
    case Element::kInt64:
    case Element::kUint64:
      return reduce_loop<std::uint64_t, Combine>(vectors);
    case Element::kInt128:
      return reduce_loop<Int128, Combine>(vectors);
    default:
      return nullptr;
  }
}

}  // namespace

Kernel bit_kernel(MPI_Op op, Element element, Vectors vectors) noexcept {
  if (op == MPI_BAND) return integer_kernel<BitAnd>(element, vectors);
  if (op == MPI_BOR) return integer_kernel<BitOr>(element, vectors);
  if (op == MPI_BXOR) return integer_kernel<BitXor>(element, vectors);
  if (op == MPI_LAND) return integer_kernel<LogicalAnd>(element, vectors);
  if (op == MPI_LOR) return integer_kernel<LogicalOr>(element, vectors);
  if (op == MPI_LXOR) return integer_kernel<LogicalXor>(element, vectors);
  return nullptr;
}

}  // namespace lapwing::datatype
