// From the parameters of an MPI function to the arguments of a send or receive. The shims have checked all of them.
#pragma once

#include "mpi/handles.h"
#include "p2p/messenger.h"

namespace lapwing::mpi {

inline p2p::SendArguments to(const void* buffer, MPI_Count count, MPI_Datatype type, int destination, int tag,
                             MPI_Comm comm, p2p::SendMode mode) noexcept {
  p2p::SendArguments arguments;
  arguments.buffer = buffer;
  arguments.count = static_cast<std::uint64_t>(count);
  arguments.type = datatype::resolve(type);
  arguments.destination = destination;
  arguments.tag = tag;
  arguments.communicator = resolve(comm);
  arguments.mode = mode;
  return arguments;
}

inline p2p::ReceiveArguments from(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                                  MPI_Comm comm) noexcept {
  p2p::ReceiveArguments arguments;
  arguments.buffer = buffer;
  arguments.count = static_cast<std::uint64_t>(count);
  arguments.type = datatype::resolve(type);
  arguments.source = source;
  arguments.tag = tag;
  arguments.communicator = resolve(comm);
  return arguments;
}

}  // namespace lapwing::mpi
