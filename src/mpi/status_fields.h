// The private part of MPI_Status, the same for all functions that fill or read one:
//
//   MPI_internal[0..1]   bytes of the message (64-bit count; unaligned in the structure, hence memcpy)
//   MPI_internal[2]      1 when the operation was cancelled
//   MPI_internal[3..4]   unused, zero
#pragma once

#include <cstdint>
#include <cstring>

#include "mpi.h"

namespace lapwing::mpi {

inline void status_set_bytes(MPI_Status& status, std::uint64_t bytes) noexcept {
  std::memcpy(&status.MPI_internal[0], &bytes, sizeof bytes);
}

inline std::uint64_t status_bytes(const MPI_Status& status) noexcept {
  std::uint64_t bytes;
  std::memcpy(&bytes, &status.MPI_internal[0], sizeof bytes);
  return bytes;
}

inline void status_set_cancelled(MPI_Status& status, bool cancelled) noexcept {
  status.MPI_internal[2] = cancelled ? 1 : 0;
}

inline bool status_cancelled(const MPI_Status& status) noexcept {
  return status.MPI_internal[2] != 0;
}

// Source, tag, bytes and the cancelled mark; MPI_ERROR stays as it is, because only the functions that return several
// statuses may set it (MPI 5.0, section 3.2.5).
inline void status_fill(MPI_Status& status, int source, int tag, std::uint64_t bytes, bool cancelled = false) noexcept {
  status.MPI_SOURCE = source;
  status.MPI_TAG = tag;
  status_set_bytes(status, bytes);
  status_set_cancelled(status, cancelled);
}

// The empty status: what a wait on a null or inactive request returns (section 3.7.3).
inline void status_set_empty(MPI_Status& status) noexcept {
  status.MPI_ERROR = MPI_SUCCESS;
  status_fill(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

// The status of an operation with MPI_PROC_NULL (section 3.10). MPI_ERROR stays as it is here too.
inline void status_set_proc_null(MPI_Status& status) noexcept {
  status_fill(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

}  // namespace lapwing::mpi
