// The kinds of value that the reduction kernels and external32 distinguish.
//
// Many predefined datatypes share one kind: MPI_INT, MPI_INT32_T, MPI_INTEGER and MPI_INTEGER4 all hold kInt32. What
// the standard allows on a type depends on more than the kind (MPI_CHAR is no integer to a reduction), hence Category.
#pragma once

#include <cstdint>

namespace lapwing::datatype {

enum class Element : std::uint8_t {
  kNone,  // no value of its own: derived and pair types
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kInt128,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kLongDouble,
  kFloat128,
  kComplex16,  // the number is the width of one part, as for the floats
  kComplex32,
  kComplex64,
  kComplexLongDouble,
  kComplex128,
};

inline constexpr int kElementKinds = static_cast<int>(Element::kComplex128) + 1;

// The groups of MPI 5.0, section "predefined reduction operations".
enum class Category : std::uint8_t {
  kNone,  // no predefined reduction: characters, MPI_PACKED, derived types
  kCInteger,
  kFortranInteger,
  kFloatingPoint,
  kLogical,
  kComplex,
  kByte,
  kMultiLanguage,  // MPI_AINT, MPI_OFFSET, MPI_COUNT
  kPair,           // value and index, for MPI_MINLOC and MPI_MAXLOC
};

}  // namespace lapwing::datatype
