// From handles to objects, inline because every function on messages does it.
//
// The shims include this rather than process.h; what they need of the process is its head.
#pragma once

#include <atomic>

#include "comm/communicator.h"
#include "mpi.h"

namespace lapwing::mpi {

struct Process;

// The beginning of a Process: the communicators with predefined handles.
struct ProcessHead {
  comm::Communicator* world = nullptr;
  comm::Communicator* self = nullptr;
};

// Null outside initialization..finalization. The pointer itself is read without a lock. Set by process.cc alone.
inline std::atomic<ProcessHead*> the_process{nullptr};

inline bool is_running() noexcept {
  return the_process.load(std::memory_order_relaxed) != nullptr;
}

// Null when the handle is of no living communicator.
inline comm::Communicator* resolve(MPI_Comm handle) noexcept {
  if (!is_predefined(handle)) {
    auto* communicator = reinterpret_cast<comm::Communicator*>(handle);
    return communicator->kind() == ObjectKind::kCommunicator ? communicator : nullptr;
  }
  const ProcessHead* process = the_process.load(std::memory_order_acquire);
  if (process == nullptr) return nullptr;
  if (handle == MPI_COMM_WORLD) return process->world;
  return handle == MPI_COMM_SELF ? process->self : nullptr;
}

}  // namespace lapwing::mpi
