// How many packets may be under way, so that the network is full and others get their share of it: CUBIC (RFC 9438), the rule of most TCP
// connections, so that beside one of them neither starves. It is taken rather than Reno's because a loss costs it 30 % and not half: on a link that
// loses packets by itself that is goodput. A rule that heeds delay alone (Vegas) would get nothing beside TCP, and one that models the
// bandwidth (BBR) needs seconds to see that others have come.
//
// Slow start ends at the first loss, or with as many packets as may be under way (1.5 MB). To end it where round trips become longer (HyStart, RFC
// 9406) was tried: on machines whose cores are shared a rank that is not running for some milliseconds looks like a queue, and the window stayed so
// small that each such pause held up the stream.
//
// Units are packets. Pure; times in ns.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::net::reliable {

class Congestion {
 public:
  // A burst of so many packets is what TCP's segmentation offload sends at once, too; RFC 6928's 10 would make a 64 KiB message wait three times.
  static constexpr double kFirstWindow = 32;
  static constexpr double kLeastWindow = 4;

  explicit Congestion(double most) noexcept : most_(most) {}

  double window() const noexcept { return window_; }
  bool starting() const noexcept { return window_ < threshold_; }

  // `packets` were acknowledged. `limited`: the window was what held back more, else its size is not being tried.
  void acknowledged(std::uint64_t packets, bool limited, std::int64_t now, std::int64_t round_trip) noexcept;
  // Packets were lost: once for all of those that were under way together.
  void lost(std::int64_t now) noexcept;
  // Nothing has come back for so long that the window says nothing any more.
  void timed_out(std::int64_t now) noexcept;

 private:
  static constexpr double kCut = 0.7;     // beta
  static constexpr double kGrowth = 0.4;  // C
  static constexpr double kNever = 1e18;

  void begin_epoch(std::int64_t now) noexcept;
  double cubic(double seconds) const noexcept;

  const double most_;
  double window_ = kFirstWindow;
  double threshold_ = kNever;  // of slow start
  double most_before_ = 0;     // W_max: where the last loss was
  double like_reno_ = 0;       // W_est: what Reno's rule would have
  double seconds_back_ = 0;    // K: after so long the window is where it was
  std::int64_t epoch_ = 0;     // when it began to grow again; 0: not yet
};

}  // namespace lapwing::net::reliable
