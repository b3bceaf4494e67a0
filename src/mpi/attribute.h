// What other chapters need of attributes: copying with an object, deleting with it.
//
// User callbacks run inside these calls: application threads only, without the endpoint's lock. A failing callback
// makes the call fail with the callback's code, and then the object must not be freed (or: the copy must be given up).
#pragma once

#include "base/status.h"
#include "comm/communicator.h"
#include "datatype/datatype.h"

namespace lapwing::mpi {

Status copy_attributes(comm::Communicator& from, comm::Communicator& to);
Status delete_attributes(comm::Communicator& communicator);

Status copy_attributes(datatype::Datatype& from, datatype::Datatype& to);
Status delete_attributes(datatype::Datatype& type);

}  // namespace lapwing::mpi
