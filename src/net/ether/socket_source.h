// Where a rank's socket comes from: its own rights (own_source.h), or the service `lapwing accelerator` (service_source.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "net/ether/steering.h"

namespace lapwing::net::ether {

class SocketSource {
 public:
  virtual ~SocketSource() = default;

  // Memory of kMemoryBytes, mapped, and a socket that has it and its rings and is bound to nothing. Both are the caller's.
  virtual Status make(std::byte*& memory, int& fd) = 0;
  // Binds it to a queue of the interface, and has the program in the kernel bring this endpoint's packets there. `in_pieces`: packets of several
  // chunks as well, which a kernel may refuse. `taken`: another socket has the queue.
  virtual Status bind(int fd, std::uint32_t queue, bool in_pieces, bool& taken) = 0;
  // No packets are for this endpoint any more.
  virtual void leave(std::uint32_t queue) noexcept = 0;
  // "by the service at ..."; empty: by itself.
  virtual std::string by() const = 0;
};

}  // namespace lapwing::net::ether
