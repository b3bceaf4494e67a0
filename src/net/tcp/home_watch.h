// Finds out when a connection that goes by another network can go by its own again.
//
// The home of a rail (rails.h) is the network that it is for, that of a link the address over which it stood first. Either is mended by whatever
// network works when that one breaks. While it is away, bare TCP connections to the peer's address at home are tried, after pauses that double;
// nothing is sent on them. One that stands says that packets pass in both directions. When kInARow have stood, a second apart, the user breaks its
// connection and mends it with the home address first, so that nothing is lost.
//
// A network that lets connections be made and then fails must not take the link back every few seconds: the pauses go on doubling where it has
// stayed at home for less than the last pause.
//
// Cost: while away a timer and one connection attempt for each pause, of 1 to 64 s; at home nothing.
#pragma once

#include <functional>

#include "engine/engine.h"
#include "net/tcp/address.h"
#include "net/tcp/socket.h"

namespace lapwing::net::tcp {

class HomeWatch {
 public:
  static constexpr unsigned kInARow = 3;

  // `on_reachable` is called from a timer, once for each begin(), unless end() comes first.
  HomeWatch(engine::Engine& engine, std::function<void()> on_reachable);
  ~HomeWatch() { end(); }

  // The connection goes by another network: `home` is to be tried.
  void begin(const Address& home) noexcept;
  // It is at home, or there is none.
  void end() noexcept;

 private:
  // It does not count as work under way.
  struct ProbeTimer : engine::Timer {
    explicit ProbeTimer(HomeWatch& owner) noexcept
        : Timer([](Timer& timer) noexcept { static_cast<ProbeTimer&>(timer).watch.on_time(); }, kIdle), watch(owner) {}
    HomeWatch& watch;
  };

  void on_time() noexcept;
  bool reached() noexcept;
  void wait(std::int64_t nanoseconds) noexcept { engine_.set_timer(timer_, engine_.clock().now() + nanoseconds); }

  engine::Engine& engine_;
  const std::function<void()> on_reachable_;
  ProbeTimer timer_;
  Address home_;
  Socket probe_;  // an attempt under way
  bool away_ = false;
  std::int64_t pause_ = 0, ended_ = 0;
  unsigned stood_ = 0;  // of the last attempts in a row
};

}  // namespace lapwing::net::tcp
