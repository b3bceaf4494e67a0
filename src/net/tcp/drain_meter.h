// How fast a connection takes what it is given, and so when it would have taken more: the share of each of several follows from that. Pure; told the
// time.
//
// A window is a time in which the connection was never without something to send. At the end of each the rate is the mean of what it was and of what
// the window has shown; so a connection that has stalled loses half of it with every window, and after a second hardly gets anything any more. One
// that has nothing to send keeps its rate, but for a rate that says "hardly anything": that is forgotten after a while, so that it gets a piece to
// show what it can.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::net::tcp {

class DrainMeter {
 public:
  // A connection stands, and nothing is known of it.
  void begin(std::int64_t now) noexcept { *this = DrainMeter(), window_began_ = now; }
  // So many bytes were given to it.
  void give(std::uint64_t bytes) noexcept { given_ += bytes; }
  // So many of them have not left.
  void look(std::int64_t now, std::uint64_t backlog) noexcept;

  // Bytes per second; 0: not known.
  double rate() const noexcept { return rate_; }

 private:
  static constexpr std::int64_t kWindow = 10'000'000;     // ns
  static constexpr std::int64_t kForget = 1'000'000'000;  // ns
  static constexpr double kHardlyAnything = 1e6;          // bytes per second

  void begin_window(std::int64_t now, std::uint64_t left, bool busy) noexcept {
    window_began_ = now, left_before_ = left, busy_ = busy;
  }

  std::uint64_t given_ = 0, left_before_ = 0;
  std::int64_t window_began_ = 0;
  bool busy_ = false;
  double rate_ = 0;
};

inline void DrainMeter::look(std::int64_t now, std::uint64_t backlog) noexcept {
  const std::uint64_t left = given_ - std::min(given_, backlog);
  const std::int64_t length = now - window_began_;
  if (backlog == 0) {
    if (busy_) return begin_window(now, left, false);
    if (length >= kForget && rate_ < kHardlyAnything) rate_ = 0;
    return;
  }
  if (!busy_) return begin_window(now, left, true);
  if (length < kWindow) return;
  const std::uint64_t moved = left - std::min(left, left_before_);
  const double here = static_cast<double>(moved) * 1e9 / static_cast<double>(length);
  rate_ = rate_ == 0 ? std::max(here, 1.0) : (rate_ + here) / 2;
  begin_window(now, left, true);
}

}  // namespace lapwing::net::tcp
