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

// Whether the program may answer by a socket. kAsked: it is not known yet, and permission() tells later.
struct Permission {
  enum class State { kNone, kAsked, kGranted, kRefused };
  State state = State::kNone;
  Status why;  // it is refused
};

class Loader {
 public:
  virtual ~Loader() = default;

  // As Program's. After prepare() there is a zone, after load() there are areas.
  virtual Status prepare(std::uint32_t connections, std::uint32_t zone_blocks) = 0;
  virtual Status load() = 0;
  virtual const Descriptor& areas() const noexcept = 0;
  virtual const Descriptor& zone() const noexcept = 0;
  virtual const Descriptor& notices() const noexcept = 0;  // with the areas
  // The area is as new.
  virtual Joining join(std::uint32_t index, int socket) = 0;
  // The program sees no packet of the socket that has joined any more. What it has answered is still sent.
  virtual void leave(std::uint32_t index) noexcept = 0;
  // Requests of the connections that join here, the first of which has, may be answered by the socket until it is closed. Waits for nothing.
  virtual Permission answer_by(std::uint32_t index, int socket) = 0;
  virtual Permission permission(std::uint32_t index) = 0;
  // Both sockets.
  virtual void forget(std::uint32_t index) noexcept = 0;
  // "by ...", for a person.
  virtual std::string by() const = 0;
};

}  // namespace lapwing::net::kernel
