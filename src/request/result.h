// What a completed operation tells its user. src/mpi turns it into an MPI_Status.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "mpi.h"

namespace lapwing::request {

struct Result {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  std::uint64_t bytes = 0;
  std::uint64_t note = 0;  // of a message inside the library: what its sender wrote beside it
  bool cancelled = false;
  Status status;  // why it failed, if it did

  // The empty status of MPI 5.0, section 3.7.3.
  static Result empty() { return {}; }
  void clear() noexcept {
    source = MPI_ANY_SOURCE;
    tag = MPI_ANY_TAG;
    bytes = 0;
    note = 0;
    cancelled = false;
    if (!status.ok()) status = Status();
  }
};

}  // namespace lapwing::request
