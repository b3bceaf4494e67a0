// How long a packet's way there and its acknowledgement's way back take, and after how long without one something is wrong: the smoothed time and its
// variation of RFC 6298. What is measured may contain up to kLatestAcknowledgement that the receiver waited for something to carry it, so the
// time-out allows for it (as RFC 9002, 6.2.1, does). Not the 200 ms or 1 s that TCP keeps as the least: the two ends are on one segment.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::net::reliable {

class RoundTrip {
 public:
  static constexpr std::int64_t kLatestAcknowledgement = 1'000'000;  // ns
  static constexpr std::int64_t kLeastTimeout = kLatestAcknowledgement + 500'000;
  static constexpr std::int64_t kMostTimeout = 500'000'000;

  // Only of packets that were sent once (Karn): of another it is not known which one was acknowledged.
  void sample(std::int64_t time) noexcept {
    latest_ = time;
    if (smoothed_ == 0) {
      smoothed_ = std::max<std::int64_t>(time, 1);
      variation_ = time / 2;
      return;
    }
    variation_ += (std::abs(smoothed_ - time) - variation_) / 4;
    smoothed_ += (time - smoothed_) / 8;
  }

  bool known() const noexcept { return smoothed_ != 0; }
  std::int64_t smoothed() const noexcept { return known() ? smoothed_ : kAssumed; }
  // A packet that left so long before one that has come, and has not, is lost: its way took no eighth longer (RFC 9002, 6.1.2).
  std::int64_t reordering() const noexcept { return std::max(smoothed(), latest_) * 9 / 8 + kClock; }
  std::int64_t timeout() const noexcept {
    return std::clamp(smoothed() + 4 * (known() ? variation_ : kAssumed) + kLatestAcknowledgement, kLeastTimeout, kMostTimeout);
  }

 private:
  static constexpr std::int64_t kAssumed = 1'000'000, kClock = 20'000;

  std::int64_t smoothed_ = 0, variation_ = 0, latest_ = 0;
};

}  // namespace lapwing::net::reliable
