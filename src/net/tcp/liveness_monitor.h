// Notices that a peer's host has gone: switched off, or cut from the network for good. Nothing says so on the wire, and left alone
// the kernel tries for a quarter of an hour to deliver what was sent, and waits for ever for what will never come.
//
//   nothing under way   the kernel's keepalive probes the connection (watch_over), which costs this process nothing
//   something sent      while it is not acknowledged the kernel does not probe. So from a flush on until everything is
//                       acknowledged, rounds are made in which each link is inspected, a few per LAPWING_PEER_TIMEOUT, and where links
//                       resume a few per second: a link whose connection has stalled makes another
//
// Not TCP_USER_TIMEOUT: it also ends connections to a process that is merely stopped (by a debugger, by a batch system) once its
// buffers are full, though its host answers. Here only a host counts that does not answer. This host itself is never taken for gone,
// not even when it has thousands of ranks and answers itself late.
#pragma once

#include <functional>

#include "engine/engine.h"
#include "net/tcp/socket.h"

namespace lapwing::net::tcp {

class LivenessMonitor {
 public:
  // `patience` in nanoseconds; `resuming`: some links may resume.
  LivenessMonitor(engine::Engine& engine, std::int64_t patience, bool resuming) noexcept;
  ~LivenessMonitor() { stop(); }
  // `round` inspects all links, and says whether something is still under way.
  void inspect_with(std::function<bool()> round) { round_ = std::move(round); }

  void something_sent() noexcept {
    if (!timer_.pending()) begin();
  }
  void stop() noexcept { engine_.cancel_timer(timer_); }

  std::int64_t patience() const noexcept { return patience_; }
  // `resumes`: when the kernel has given up the connection, there must be time left to make another.
  void watch_over(const Socket& socket, const Address& remote, bool resumes = false) const noexcept;
  // For what a link that resumes is given up after, at the latest.
  std::int64_t patience_with_connection() const noexcept { return patience_ / 2; }

 private:
  // It does not count as work under way: the event thread need not be armed for it.
  struct RoundTimer : engine::Timer {
    explicit RoundTimer(LivenessMonitor& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<RoundTimer&>(timer).liveness_monitor.inspect_all(); }, kIdle), liveness_monitor(owner) {}
    LivenessMonitor& liveness_monitor;
  };

  void begin() noexcept;
  void inspect_all() noexcept;

  RoundTimer timer_;
  engine::Engine& engine_;
  const std::int64_t patience_, between_rounds_;
  std::function<bool()> round_;
};

}  // namespace lapwing::net::tcp
