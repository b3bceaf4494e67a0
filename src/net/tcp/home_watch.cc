#include "net/tcp/home_watch.h"

#include <algorithm>
#include <utility>

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kFirstPause = kSecond, kLongestPause = 64 * kSecond;
constexpr std::int64_t kTimeToConnect = kSecond / 2;

}  // namespace

HomeWatch::HomeWatch(engine::Engine& engine, std::function<void()> on_reachable)
    : engine_(engine), on_reachable_(std::move(on_reachable)), timer_(*this) {}

void HomeWatch::begin(const Address& home) noexcept {
  home_ = home;
  away_ = true;
  if (pause_ == 0 || engine_.clock().now() - ended_ > pause_) pause_ = kFirstPause;
  if (!timer_.pending()) wait(pause_);
}

void HomeWatch::end() noexcept {
  engine_.cancel_timer(timer_);
  probe_.close();
  stood_ = 0;
  if (std::exchange(away_, false)) ended_ = engine_.clock().now();
}

// Between two attempts, or when one has had its time.
void HomeWatch::on_time() noexcept {
  if (!probe_ && Socket::connect(home_, {}, probe_) == 0) return wait(kTimeToConnect);
  stood_ = reached() ? stood_ + 1 : 0;
  if (stood_ > 0 && stood_ < kInARow) return wait(kFirstPause);
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  if (std::exchange(stood_, 0) != 0) return on_reachable_();
  wait(pause_);
}

bool HomeWatch::reached() noexcept {
  const Socket probe = std::move(probe_);
  return probe && probe.is_connected() && probe.pending_error() == 0;
}

}  // namespace lapwing::net::tcp
