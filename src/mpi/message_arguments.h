// From the parameters of an MPI function to the arguments of a send or receive. The shims have checked all of them.
#pragma once

#include <limits>

#include "datatype/pack.h"
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

// A receive may name a count that no memory has room for, and means whatever comes: it gets as many elements as have countable bytes.
inline std::uint64_t receivable(MPI_Count count, const datatype::Datatype& type) noexcept {
  if (datatype::countable(type, count)) [[likely]]
    return static_cast<std::uint64_t>(count);
  return static_cast<std::uint64_t>(std::numeric_limits<MPI_Count>::max() / type.size());
}

inline p2p::ReceiveArguments from(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                                  MPI_Comm comm) noexcept {
  p2p::ReceiveArguments arguments;
  arguments.buffer = buffer;
  arguments.type = datatype::resolve(type);
  arguments.count = receivable(count, *arguments.type);
  arguments.source = source;
  arguments.tag = tag;
  arguments.communicator = resolve(comm);
  return arguments;
}

}  // namespace lapwing::mpi
