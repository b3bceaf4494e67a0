// The loops of the predefined reductions, one per operation and kind of element.
#pragma once

#include <cstddef>

#include "datatype/element.h"
#include "mpi.h"

namespace lapwing::datatype {

// result[i] = left[i] op right[i]; the result may be where one of the operands is.
using Kernel = void (*)(const void* left, const void* right, void* result, std::size_t count) noexcept;

// What the processor's vector instructions take at a time, as far as the loops make a difference: up to 16 bytes, or 32.
enum class Vectors { kNarrow, kWide };
inline Vectors vectors_here() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") ? Vectors::kWide : Vectors::kNarrow;
#else
  return Vectors::kNarrow;
#endif
}

// Null when the operation has no meaning for the kind. Whether the standard allows it on a type is op.cc's business.
Kernel arithmetic_kernel(MPI_Op op, Element element, Vectors vectors) noexcept;  // MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX
Kernel bit_kernel(MPI_Op op, Element element, Vectors vectors) noexcept;         // MPI_BAND ... and MPI_LAND ...
Kernel pair_kernel(MPI_Op op, Element value, Element index) noexcept;            // MPI_MINLOC, MPI_MAXLOC

}  // namespace lapwing::datatype
