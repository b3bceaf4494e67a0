// From handles to objects, inline because every function on messages does it.
//
// The shims include this rather than process/process.h; what they need of the process is its head.
#pragma once

#include "comm/communicator.h"
#include "mpi.h"
#include "process/head.h"

namespace lapwing::mpi {

// Null when the handle is of no living communicator.
inline comm::Communicator* resolve(MPI_Comm handle) noexcept {
  if (is_address(handle)) {
    auto* communicator = reinterpret_cast<comm::Communicator*>(handle);
    return communicator->kind() == ObjectKind::kCommunicator ? communicator : nullptr;
  }
  const process::ProcessHead* process = process::the_process.load(std::memory_order_acquire);
  if (process == nullptr) return nullptr;
  if (handle == MPI_COMM_WORLD) return process->world;
  return handle == MPI_COMM_SELF ? process->self : nullptr;
}

}  // namespace lapwing::mpi
