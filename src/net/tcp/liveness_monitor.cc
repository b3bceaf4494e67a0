#include "net/tcp/liveness_monitor.h"

#include "net/tcp/liveness.h"

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kRoundsPerPatience = 4;

}  // namespace

void LivenessMonitor::watch_over(const Socket& socket, const Address& remote) const noexcept {
  if (remote.is_loopback()) return;
  socket.keep_alive(kernel_patience(patience_));
}

void LivenessMonitor::begin() noexcept {
  if (round_) engine_.set_timer(timer_, engine_.clock().now() + patience_ / kRoundsPerPatience);
}

void LivenessMonitor::inspect_all() noexcept {
  if (round_()) begin();
}

}  // namespace lapwing::net::tcp
