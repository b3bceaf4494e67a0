// MPI 5.0, section 7.8: names of communicators. (Those of datatypes are with the datatypes.)
#include <cstring>
#include <mutex>
#include <string>

#include "mpi/handles.h"
#include "mpi/implementation.h"
#include "mpi/shim_support.h"

namespace lapwing::mpi {

Status comm_set_name(MPI_Comm comm, const char* comm_name) {
  const std::lock_guard guard(process().engine.lock());
  resolve(comm)->name.assign(comm_name, strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1));
  return {};
}

Status comm_get_name(MPI_Comm comm, char* comm_name, int* resultlen) {
  comm::Communicator* communicator = nullptr;
  if (comm != MPI_COMM_NULL) LAPWING_TRY(check_comm("comm", comm, communicator));
  const std::lock_guard guard(process().engine.lock());  // another thread may set it
  // MPI_COMM_NULL has a name, too.
  const std::string name = communicator == nullptr ? "MPI_COMM_NULL" : communicator->name;
  const std::size_t length = name.copy(comm_name, MPI_MAX_OBJECT_NAME - 1);
  comm_name[length] = '\0';
  *resultlen = static_cast<int>(length);
  return {};
}

}  // namespace lapwing::mpi
