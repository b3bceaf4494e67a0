#include "net/tcp/liveness_monitor.h"

#include <algorithm>

#include "base/tuning.h"
#include "net/tcp/liveness.h"

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kRoundsPerPatience = 4;

}  // namespace

LivenessMonitor::LivenessMonitor(engine::Engine& engine, std::int64_t patience, bool resuming) noexcept
    : timer_(*this),
      engine_(engine),
      patience_(patience),
      between_rounds_(resuming ? std::min(patience / kRoundsPerPatience, tuning().tcp_stall) : patience / kRoundsPerPatience) {}

void LivenessMonitor::watch_over(const Socket& socket, const Address& remote, bool resumes) const noexcept {
  if (remote.is_loopback()) return;
  socket.keep_alive(kernel_patience(resumes ? patience_with_connection() : patience_));
}

void LivenessMonitor::begin() noexcept {
  if (round_) engine_.set_timer(timer_, engine_.clock().now() + between_rounds_);
}

void LivenessMonitor::inspect_all() noexcept {
  if (round_()) begin();
}

}  // namespace lapwing::net::tcp
