#include "net/tcp/patrol.h"

#include <algorithm>

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kRoundsPerPatience = 4;

}  // namespace

// Probes begin after half the time; the rest is for some of them to be answered.
void Patrol::watch_over(const Socket& socket, const Address& remote) const noexcept {
  if (remote.is_loopback()) return;
  const int seconds = static_cast<int>(std::max<std::int64_t>(patience_ / kSecond, 2));
  const int idle = std::max(seconds / 2, 1);
  const int between = std::max(seconds / 6, 1);
  socket.keep_alive(idle, between, std::max((seconds - idle) / between, 1));
}

void Patrol::begin() noexcept {
  if (round_) engine_.set_timer(timer_, engine_.clock().now() + patience_ / kRoundsPerPatience);
}

void Patrol::go_round() noexcept {
  if (round_()) begin();
}

}  // namespace lapwing::net::tcp
