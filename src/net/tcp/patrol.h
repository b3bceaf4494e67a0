// Notices that a peer's host has gone: switched off, or cut from the network for good. Nobody says so on the wire, and left alone
// the kernel tries for a quarter of an hour to deliver what was sent, and waits for ever for what will never come.
//
//   nothing under way   the kernel's keepalive probes the connection (watch_over), which costs this process nothing
//   something sent      while it is not acknowledged the kernel does not probe. So from a flush on until everything is
//                       acknowledged, rounds are made in which each link is inspected, a few per LAPWING_PEER_TIMEOUT
//
// Not TCP_USER_TIMEOUT: it also ends connections to a process that is merely stopped (by a debugger, by a batch system) once its
// buffers are full, though its host answers. Here only a host counts that does not answer. This host itself is never taken for gone,
// not even when it has thousands of ranks and answers itself late.
#pragma once

#include <functional>

#include "engine/engine.h"
#include "net/tcp/socket.h"

namespace lapwing::net::tcp {

class Patrol {
 public:
  // `patience` in nanoseconds. `round` inspects all links, and says whether something is still under way.
  Patrol(engine::Engine& engine, std::int64_t patience) noexcept : timer_(*this), engine_(engine), patience_(patience) {}
  ~Patrol() { stop(); }
  void set_round(std::function<bool()> round) { round_ = std::move(round); }

  // Something was sent.
  void wanted() noexcept {
    if (!timer_.pending()) begin();
  }
  void stop() noexcept { engine_.cancel_timer(timer_); }

  std::int64_t patience() const noexcept { return patience_; }
  void watch_over(const Socket& socket, const Address& remote) const noexcept;

 private:
  // It does not count as work under way: nobody need be armed for it.
  struct RoundTimer : engine::Timer {
    explicit RoundTimer(Patrol& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<RoundTimer&>(timer).patrol.go_round(); }, kIdle), patrol(owner) {}
    Patrol& patrol;
  };

  void begin() noexcept;
  void go_round() noexcept;

  RoundTimer timer_;
  engine::Engine& engine_;
  const std::int64_t patience_;
  std::function<bool()> round_;
};

}  // namespace lapwing::net::tcp
