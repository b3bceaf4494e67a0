// When a host that does not answer counts as gone: after `patience` (LAPWING_PEER_TIMEOUT), on an idle connection as on a busy one. A
// break that is shorter is survived; a host that has gone is told within half as long again. And when a connection has stalled: after
// some tenths of a second, so that a link that resumes tries another one long before the kernel, whose pauses double, tries this one
// again. Pure arithmetic: Socket asks the kernel, and LivenessMonitor acts.
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

// A message of the handshake fits every buffer, and is sent again 0.2 and 0.6 s after the first time. A host that has not taken it by then is
// either cut off, or takes nothing of this connection any more.
inline constexpr int kHandshakeResendsInVain = 2;

// What inspections of a busy connection have found.
class Silence {
 public:
  enum class Kind {
    kNone,   // the host answers, or nothing has had to be sent again
    kStall,  // what was sent again, and again, is unanswered: packets are lost on this way at present. Or the host answers, and takes nothing of it
    kGone,   // everything has been unanswered for so long that the host counts as gone
  };
  // A process that is stopped leaves its host to answer, which then takes no data but acknowledges the kernel's probes of its window.
  // `stall`: of what length a silence is one.
  Kind judge(std::int64_t now, const Socket::Acknowledgement& heard, std::int64_t stall, std::int64_t patience) noexcept;
  // When it began, if it is one.
  std::int64_t since() const noexcept { return since_; }

 private:
  static constexpr std::int64_t kNone = -1;
  std::int64_t since_ =
      kNone;  // the first inspection that found something unanswered, and since which no answer has come
};

// Breaks of one kind between which nothing comes through: where everything is damaged or swallowed on the way, another connection is no better.
class VainBreaks {
 public:
  // Another break; so many frames have come through so far. For how long (ns) none has.
  std::int64_t note(std::int64_t now, std::uint64_t frames) noexcept;

 private:
  static constexpr std::int64_t kNever = -1;
  std::uint64_t frames_ = 0;
  std::int64_t since_ = kNever;  // the first break after the last of them
};

}  // namespace lapwing::net::tcp
