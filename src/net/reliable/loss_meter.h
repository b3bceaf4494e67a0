// Which part of the packets of one direction is lost at present: a mean that forgets, over some kMemory packets. Pure arithmetic.
//
// It decides which way long messages go. TCP waits for 200 ms where the last packet of a message is lost, whatever the round trip is; so where the
// network loses packets, its speed on a sound one is worth nothing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::net::reliable {

class LossMeter {
 public:
  void arrived() noexcept { share_ -= share_ / kMemory; }
  void lost(std::uint32_t packets) noexcept { share_ = std::min(1.0, share_ + packets / kMemory); }
  // One that had been taken for lost.
  void came_late() noexcept { share_ = std::max(0.0, share_ - 1 / kMemory); }

  // One lost packet is remembered for some 5000 that are not. While data goes the other way few packets are seen, so a loss must count for long;
  // and on a sound network it costs the few milliseconds that so many packets take longer than TCP's segments.
  bool lossy() const noexcept { return share_ > kLossy; }

 private:
  static constexpr double kMemory = 4096, kLossy = 1.0 / 14'000;

  double share_ = 0;
};

}  // namespace lapwing::net::reliable
