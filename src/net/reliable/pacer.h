// Spreads packets over a round trip, so that a window that has just opened does not fill a switch's buffer at once: a token bucket, as TCP's (Linux:
// twice the window per round trip in slow start, 1.2 times later). Bursts of up to kBurst packets leave without a pause, because to wait for
// less than a wake-up's time costs more than it saves; and a window of two bursts is not spread at all. The
// round trip is the shortest of late: a mean one contains how long ranks were not running, and a rate after that would never become a higher one.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::net::reliable {

class Pacer {
 public:
  static constexpr double kBurst = 32;

  // When the next packet may leave: `now`, or later.
  std::int64_t next(std::int64_t now) const noexcept {
    const double held = tokens(now);
    return held >= 1 ? now : now + static_cast<std::int64_t>((1 - held) * per_packet_) + 1;
  }
  void sent(std::int64_t now, double window, bool starting, std::int64_t round_trip) noexcept {
    tokens_ = tokens(now) - 1;
    at_ = now;
    per_packet_ = window <= 2 * kBurst ? kNothing : static_cast<double>(round_trip) / (window * (starting ? 2.0 : 1.2));
  }

 private:
  double tokens(std::int64_t now) const noexcept {
    return std::min(kBurst, tokens_ + static_cast<double>(now - at_) / per_packet_);
  }

  static constexpr double kNothing = 1e-3;

  double tokens_ = kBurst;
  double per_packet_ = kNothing;  // ns
  std::int64_t at_ = 0;
};

}  // namespace lapwing::net::reliable
