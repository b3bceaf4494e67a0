// When a host that does not answer counts as gone: after `patience` (LAPWING_PEER_TIMEOUT), on an idle connection as on a busy one. A
// break that is shorter is survived; a host that has gone is told within half as long again. Pure arithmetic: Socket
// asks the kernel, and LivenessMonitor acts.
#pragma once

#include <cstdint>

#include "net/tcp/socket.h"

namespace lapwing::net::tcp {

// What the kernel is told about a connection.
//
//   idle    the kernel probes, and gives up when all probes in a row were lost. So these span the patience: a break that begins just
//           before the first must not swallow the last
//   busy    the kernel sends again, after ever longer pauses. These are bounded, so that a connection goes on soon after a break, and
//           a host that answers again is heard in time. (Linux 6.15; before that a pause may be as long as the break was)
//
// Beyond about 15 minutes the kernel gives a busy connection up by itself (net.ipv4.tcp_retries2).
KernelPatience kernel_patience(std::int64_t patience) noexcept;

// What inspections of a busy connection have found.
class Silence {
 public:
  // True when its host has left everything unanswered for so long that it counts as gone. A process that is stopped leaves its host
  // to answer, which then takes no data but acknowledges the kernel's probes of its window.
  bool lasts(std::int64_t now, const Socket::Acknowledgement& heard, std::int64_t patience) noexcept;

 private:
  static constexpr std::int64_t kNone = -1;
  std::int64_t since_ =
      kNone;  // the first inspection that found something unanswered, and since which no answer has come
};

}  // namespace lapwing::net::tcp
