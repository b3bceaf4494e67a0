// Messages of bytes between the ranks of a LoopJob.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "p2p/loop_network_for_tests.h"

namespace lapwing::p2p {

using Bytes = std::vector<std::uint8_t>;

// For containers: nothing is derived from these, so that they may be destroyed as what they are.
struct Send final : SendRequest {
  using SendRequest::SendRequest;
};
struct Receive final : ReceiveRequest {
  using ReceiveRequest::ReceiveRequest;
};

inline Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(seed * 31 + i * 7 + (i >> 8));
  return data;
}

inline SendArguments to(LoopJob::Rank& rank, int destination, int tag, const Bytes& data,
                 SendMode mode = SendMode::kStandard) {
  SendArguments arguments;
  arguments.buffer = data.data();
  arguments.count = data.size();
  arguments.type = datatype::resolve(MPI_BYTE);
  arguments.destination = destination;
  arguments.tag = tag;
  arguments.communicator = rank.world;
  arguments.mode = mode;
  return arguments;
}

inline ReceiveArguments from(LoopJob::Rank& rank, int source, int tag, Bytes& data) {
  ReceiveArguments arguments;
  arguments.buffer = data.data();
  arguments.count = data.size();
  arguments.type = datatype::resolve(MPI_BYTE);
  arguments.source = source;
  arguments.tag = tag;
  arguments.communicator = rank.world;
  return arguments;
}

}  // namespace lapwing::p2p
