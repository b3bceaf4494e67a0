// Bursts. A system call for each of many small messages costs far more than the messages. So from the second message on that
// is posted to one peer in quick succession, frames wait for the next poll, in which all leave together: the application's own
// (any function that waits or tests), or the event thread's, when the lazy timer finds that the application has left to compute. A
// lone message never waits. Pure.
#pragma once

#include <cstdint>

#include "base/tuning.h"

namespace lapwing::net::tcp {

class Burst {
 public:
  // Whether a frame that is posted now waits. `small`: it may. `received`: frames that have come from the peer in all. Where one has come since the
  // last post, this may be the answer that is waited for.
  bool joins(std::int64_t now, bool small, std::uint64_t received) noexcept {
    length_ = now - last_post_ <= tuning().tcp_burst_gap && received == received_ ? length_ + 1 : 0;
    received_ = received;
    if (!small || length_ < kSentAtOnce || kept_back_ >= tuning().tcp_burst_frames) return false;
    last_post_ = now;
    ++kept_back_;
    return true;
  }
  // ... and left, with all that waited.
  void left(std::int64_t now) noexcept { last_post_ = now; }
  void flushed() noexcept { kept_back_ = 0; }
  bool keeps_back() const noexcept { return kept_back_ > 0; }

 private:
  static constexpr unsigned kSentAtOnce = 1;

  std::int64_t last_post_ = 0;  // when the last post ended, ns
  unsigned length_ = 0;
  unsigned kept_back_ = 0;  // frames that wait for the burst's end, not for the socket
  std::uint64_t received_ = 0;  // when the last post began
};

}  // namespace lapwing::net::tcp
