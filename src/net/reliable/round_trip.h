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

  // Where answers were lost, the next one makes the round trip of what it answers look longer, by seconds after an outage. So one sample counts for
  // twice the time-out at most; a way that has become slower is known after a few.
  void sample(std::int64_t time, std::int64_t now) noexcept {
    if (known()) time = std::min(time, 2 * timeout());
    latest_ = time;
    if (now - period_began_ > kPeriod) {
      period_began_ = now;
      shortest_before_ = shortest_;
      shortest_ = time;
    }
    shortest_ = std::min(shortest_, time);
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
  // Of the last second or two: that of the network, without what the two ranks did besides.
  std::int64_t shortest() const noexcept { return known() ? std::max<std::int64_t>(std::min(shortest_, shortest_before_), 1) : kAssumed; }
  // A packet that left so long before one that has come, and has not, is lost: its way took no eighth longer (RFC 9002, 6.1.2).
  std::int64_t reordering() const noexcept { return std::max(smoothed(), latest_) * 9 / 8 + kClock; }
  std::int64_t timeout() const noexcept {
    return std::clamp(smoothed() + 4 * (known() ? variation_ : kAssumed) + kLatestAcknowledgement, kLeastTimeout, kMostTimeout);
  }

 private:
  static constexpr std::int64_t kAssumed = 1'000'000, kClock = 20'000, kPeriod = 1'000'000'000;

  std::int64_t smoothed_ = 0, variation_ = 0, latest_ = 0;
  std::int64_t shortest_ = kMostTimeout, shortest_before_ = kMostTimeout, period_began_ = 0;
};

}  // namespace lapwing::net::reliable
