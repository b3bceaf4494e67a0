// A caller's array of counts or displacements, read as 64-bit whatever form of the function it came through.
//
// MPI_Alltoallv takes int arrays, MPI_Alltoallv_c takes MPI_Count arrays; everything behind the shims sees this view, so
// large counts are native and the int form copies nothing.
#pragma once

#include <cstddef>

#include "mpi.h"

namespace lapwing {

class CountArray {
 public:
  CountArray() noexcept = default;
  CountArray(const int* values) noexcept : narrow_(values) {}      // NOLINT: the shims rely on the conversion
  CountArray(const MPI_Count* values) noexcept : wide_(values) {}  // NOLINT; MPI_Aint is the same type in the ABI

  MPI_Count operator[](std::size_t index) const noexcept { return wide_ ? wide_[index] : narrow_[index]; }
  explicit operator bool() const noexcept { return wide_ != nullptr || narrow_ != nullptr; }

 private:
  const int* narrow_ = nullptr;
  const MPI_Count* wide_ = nullptr;
};

}  // namespace lapwing
