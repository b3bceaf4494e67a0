// Where a rank's socket comes from: its own rights (own_source.h), or the service `lapwing accelerator` (service_source.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "net/ether/shared_queue.h"
#include "net/ether/steering.h"

namespace lapwing::net::ether {

// A socket, and the memory of packets that it shares with the kernel.
struct MadeSocket {
  std::byte* memory = nullptr;     // mapped
  std::size_t bytes = 0;           // kMemoryBytes, and what is behind them
  int fd = -1;
  SharedQueue* shared = nullptr;   // by which other ranks may share the queue that it will have; null: none may
};

// One that has joined another rank's queue.
struct JoinedQueue {
  MadeSocket made;
  std::uint32_t queue = 0, place = 0;
  std::uint32_t number = 0;  // of the endpoint
};

class SocketSource {
 public:
  virtual ~SocketSource() = default;

  // A socket that has its rings and is bound to nothing. What is made is the caller's.
  virtual Status make(MadeSocket& made) = 0;
  // Binds it to a queue of the interface, and has the program in the kernel bring this endpoint's packets there. `in_pieces`: packets of several
  // chunks as well, which a kernel may refuse. `taken`: another socket has the queue.
  virtual Status bind(const MadeSocket& made, std::uint32_t queue, bool in_pieces, bool& taken) = 0;
  // One of these queues, which are taken, with the rank of this job that has it: that of the fewest. The text of an error says why there is none, as
  // things are.
  virtual Status join(std::span<const std::uint32_t>, JoinedQueue&) { return Status::error(MPI_ERR_OTHER, "it shares none"); }
  // No other rank joins any more.
  virtual void end_offer() noexcept {}
  // No packets are for this endpoint any more.
  virtual void leave(std::uint32_t number) noexcept = 0;
  // "by the service at ..."; empty: by itself.
  virtual std::string by() const = 0;
};

}  // namespace lapwing::net::ether
