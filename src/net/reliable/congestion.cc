#include "net/reliable/congestion.h"

#include <cmath>

namespace lapwing::net::reliable {
void Congestion::acknowledged(std::uint64_t packets, bool limited, std::int64_t now, std::int64_t round_trip) noexcept {
  if (!limited) return;
  const auto count = static_cast<double>(packets);
  if (starting()) {
    window_ = std::min(window_ + count, most_);
    return;
  }
  if (epoch_ == 0) begin_epoch(now);
  // Reno's rule with this cut: the same mean window as half a packet's, a packet's growth (RFC 9438, 4.3).
  constexpr double kLikeReno = 3 * (1 - kCut) / (1 + kCut);
  like_reno_ += (like_reno_ < most_before_ ? kLikeReno : 1.0) * count / window_;
  const double target = cubic(static_cast<double>(now - epoch_ + round_trip) * 1e-9);
  if (target < like_reno_)
    window_ = std::max(window_, like_reno_);
  else
    window_ += (std::clamp(target, window_, 1.5 * window_) - window_) * count / window_;
  window_ = std::min(window_, most_);
}

void Congestion::begin_epoch(std::int64_t now) noexcept {
  epoch_ = now;
  most_before_ = std::max(most_before_, window_);
  seconds_back_ = std::cbrt((most_before_ - window_) / kGrowth);
  like_reno_ = window_;
}

double Congestion::cubic(double seconds) const noexcept {
  const double after = seconds - seconds_back_;
  return kGrowth * after * after * after + most_before_;
}

void Congestion::lost(std::int64_t) noexcept {
  // One that has been cut again before it was where it was gives way to others sooner (fast convergence).
  most_before_ = window_ < most_before_ ? window_ * (1 + kCut) / 2 : window_;
  window_ = std::max(window_ * kCut, kLeastWindow);
  threshold_ = window_;
  epoch_ = 0;
}

void Congestion::timed_out(std::int64_t now) noexcept {
  lost(now);
  window_ = kLeastWindow;
}

}  // namespace lapwing::net::reliable
