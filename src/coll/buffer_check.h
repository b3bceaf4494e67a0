// The part of a collective call's check that looks at where its data lies.
#pragma once

#include "base/status.h"
#include "coll/call.h"

namespace lapwing::coll {

// MPI_ERR_BUFFER for null pointers with data, and for one memory on both sides. What else the arguments can get wrong has
// been checked.
Status check_buffers(const Call& call, const comm::Communicator& communicator);

}  // namespace lapwing::coll
