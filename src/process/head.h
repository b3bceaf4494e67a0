// What every function on messages needs of the process object, for the shims, which do not include process.h.
#pragma once

#include <atomic>

#include "base/status.h"
#include "comm/communicator.h"

namespace lapwing::process {

// The beginning of a Process: the communicators with predefined handles.
struct ProcessHead {
  comm::Communicator* world = nullptr;
  comm::Communicator* self = nullptr;
};

// Null outside initialization..finalization. The pointer itself is read without a lock. Set by start_and_end.cc alone.
inline std::atomic<ProcessHead*> the_process{nullptr};

inline bool is_running() noexcept {
  return the_process.load(std::memory_order_relaxed) != nullptr;
}

// The error of a call outside; without initialization, after finalization, in a forked child.
Status not_running();

}  // namespace lapwing::process
