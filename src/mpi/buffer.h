// Buffers attached to objects that come to their end.
#pragma once

#include <memory>

#include "base/status.h"
#include "comm/communicator.h"

namespace lapwing::mpi {

// What freeing a communicator or finalizing a session does with its buffer: waits until it is empty and takes it off.
Status detach_at_end(std::unique_ptr<comm::Extra>& buffer);

}  // namespace lapwing::mpi
