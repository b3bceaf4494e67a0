// What a send and a receive are started with.
#pragma once

#include <cstdint>

#include "comm/communicator.h"
#include "datatype/datatype.h"

namespace lapwing::p2p {

enum class SendMode { kStandard, kSynchronous, kReady, kBuffered };

struct SendArguments {
  const void* buffer = nullptr;
  std::uint64_t count = 0;
  datatype::Datatype* type = nullptr;
  int destination = MPI_PROC_NULL;  // rank in communicator->peers(plane)
  int tag = 0;
  comm::Communicator* communicator = nullptr;
  comm::Plane plane = comm::Plane::kPointToPoint;
  SendMode mode = SendMode::kStandard;
  bool waits = false;       // the caller waits for its end at once
  bool rendezvous = false;  // whatever its length: no byte leaves before its receive is there
  // Up to this length it leaves without being asked for, as credit allows, though it is longer than others that do: where the peer's kernel holds it.
  std::uint64_t unasked = 0;
  std::uint64_t note = 0;  // goes along, into the receive's result; a user's messages have none
};

struct ReceiveArguments {
  void* buffer = nullptr;
  std::uint64_t count = 0;
  datatype::Datatype* type = nullptr;
  int source = MPI_PROC_NULL;  // or MPI_ANY_SOURCE
  int tag = 0;                 // or MPI_ANY_TAG
  comm::Communicator* communicator = nullptr;
  comm::Plane plane = comm::Plane::kPointToPoint;
};

}  // namespace lapwing::p2p
