// MPI_MINLOC and MPI_MAXLOC. Of equal values the smaller index wins (MPI 5.0, section "MINLOC and MAXLOC"), which makes
// them commutative.
#include <cstdint>

#include "datatype/kernel_loop.h"
#include "datatype/kernels.h"

namespace lapwing::datatype {
namespace {

template <typename Value, typename Index>
struct Pair {
  Value value;
  Index index;
};

struct MinimumLocation {
  template <typename P>
  static P apply(const P& a, const P& b) noexcept {
    if (a.value == b.value) return {a.value, a.index < b.index ? a.index : b.index};
    return a.value < b.value ? a : b;
  }
};

struct MaximumLocation {
  template <typename P>
  static P apply(const P& a, const P& b) noexcept {
    if (a.value == b.value) return {a.value, a.index < b.index ? a.index : b.index};
    return a.value > b.value ? a : b;
  }
};

// Value and index are read and written one by one: the gap behind the last index may be no memory of ours (a buffer has the
// true extent), and the others belong to the user and stay as they are.
template <typename P>
P load(const std::byte* from) noexcept {
  P pair;
  std::memcpy(&pair.value, from + offsetof(P, value), sizeof pair.value);
  std::memcpy(&pair.index, from + offsetof(P, index), sizeof pair.index);
  return pair;
}

template <typename P, typename Combine>
void pair_loop(const void* left, const void* right, void* result, std::size_t count) noexcept {
  const auto* lefts = static_cast<const std::byte*>(left);
  const auto* rights = static_cast<const std::byte*>(right);
  auto* results = static_cast<std::byte*>(result);
  for (std::size_t i = 0; i < count; ++i) {
    const P pair = Combine::apply(load<P>(lefts + i * sizeof(P)), load<P>(rights + i * sizeof(P)));
    std::memcpy(results + i * sizeof(P) + offsetof(P, value), &pair.value, sizeof pair.value);
    std::memcpy(results + i * sizeof(P) + offsetof(P, index), &pair.index, sizeof pair.index);
  }
}

template <typename Value, typename Index>
Kernel kernel_for(MPI_Op op) noexcept {
  using P = Pair<Value, Index>;
  if (op == MPI_MINLOC) return pair_loop<P, MinimumLocation>;
  if (op == MPI_MAXLOC) return pair_loop<P, MaximumLocation>;
  return nullptr;
}

template <typename Value>
Kernel kernel_for_index(MPI_Op op, Element index) noexcept {
  switch (index) {
    case Element::kInt8:
      return kernel_for<Value, std::int8_t>(op);
    case Element::kInt16:
      return kernel_for<Value, std::int16_t>(op);
    case Element::kInt32:
      return kernel_for<Value, std::int32_t>(op);
    case Element::kInt64:
      return kernel_for<Value, std::int64_t>(op);
    case Element::kInt128:
      return kernel_for<Value, Int128>(op);
    case Element::kUint8:
      return kernel_for<Value, std::uint8_t>(op);
    case Element::kUint16:
      return kernel_for<Value, std::uint16_t>(op);
    case Element::kUint32:
      return kernel_for<Value, std::uint32_t>(op);
    case Element::kUint64:
      return kernel_for<Value, std::uint64_t>(op);
    // The Fortran pairs keep the index in a number of the value's type.
    case Element::kFloat32:
      return kernel_for<Value, float>(op);
    case Element::kFloat64:
      return kernel_for<Value, double>(op);
    default:
      return nullptr;
  }
}

}  // namespace

Kernel pair_kernel(MPI_Op op, Element value, Element index) noexcept {
  switch (value) {
    case Element::kInt8:
      return kernel_for_index<std::int8_t>(op, index);
    case Element::kInt16:
      return kernel_for_index<std::int16_t>(op, index);
    case Element::kInt32:
      return kernel_for_index<std::int32_t>(op, index);
    case Element::kInt64:
      return kernel_for_index<std::int64_t>(op, index);
    case Element::kInt128:
      return kernel_for_index<Int128>(op, index);
    case Element::kUint8:
      return kernel_for_index<std::uint8_t>(op, index);
    case Element::kUint16:
      return kernel_for_index<std::uint16_t>(op, index);
    case Element::kUint32:
      return kernel_for_index<std::uint32_t>(op, index);
    case Element::kUint64:
      return kernel_for_index<std::uint64_t>(op, index);
    case Element::kFloat16:
      return kernel_for_index<Half>(op, index);
    case Element::kFloat32:
      return kernel_for_index<float>(op, index);
    case Element::kFloat64:
      return kernel_for_index<double>(op, index);
    case Element::kLongDouble:
      return kernel_for_index<long double>(op, index);
    case Element::kFloat128:
      return kernel_for_index<Quad>(op, index);
    default:
      return nullptr;
  }
}

}  // namespace lapwing::datatype
