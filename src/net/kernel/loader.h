// Who has the kernel run the program of receive in the kernel, and lets it see sockets: this process (own_loader.h), or a service that has the
// rights for it (service_loader.h). Owned by a Program, which maps what it yields.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "net/bpf/bpf.h"

namespace lapwing::net::kernel {

using bpf::Descriptor;

// What became of a socket that was to join.
struct Joining {
  Status status;
  bool known = true;  // false: the program may see its packets, or not. Its connection cannot go on
};

class Loader {
 public:
  virtual ~Loader() = default;

  // As Program's. After prepare() there is a zone, after load() there are areas.
  virtual Status prepare(std::uint32_t connections, std::uint32_t zone_blocks) = 0;
  virtual Status load() = 0;
  virtual const Descriptor& areas() const noexcept = 0;
  virtual const Descriptor& zone() const noexcept = 0;
  // The area is as new.
  virtual Joining join(std::uint32_t index, int socket) = 0;
  // Whether it can let the program answer, and: requests of this area's connection are answered by the socket, until it is closed.
  virtual bool answers() const noexcept = 0;
  virtual Status answer_by(std::uint32_t index, int socket) = 0;
  virtual void forget(std::uint32_t index) noexcept = 0;
  // "by ...", for a person.
  virtual std::string by() const = 0;
};

}  // namespace lapwing::net::kernel
