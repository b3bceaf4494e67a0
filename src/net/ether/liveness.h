// Whether a peer is there, that says nothing. Its process may compute, or be stopped, and then acknowledges nothing; so its host's kernel is asked
// (steer.bpf.c), by probes, which it answers as long as the process lives. Pure arithmetic.
//
//   nothing under way   a peer that is watched over is asked a few times per patience (LAPWING_PEER_TIMEOUT)
//   something sent      one that has let some time-outs pass is asked more often
//
// A host counts as gone when it has answered nothing for `patience`, though it was asked all the time. A process that did not look for a while (it
// polls and has computed, or was stopped) has not asked meanwhile, and begins again: one answer may have been lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace lapwing::net::ether {

class Liveness {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // Between questions while something waits: where there is no other way, and where a detour stands by, so that a false alarm costs little.
  static constexpr std::int64_t kPause = 250'000'000, kPauseBeforeDetour = 50'000'000;

  Liveness(std::int64_t patience, std::int64_t most_pause) noexcept : patience_(patience), most_pause_(most_pause) {}

  void watch() noexcept { watched_ = true; }
  // Something came from it, or from its host's kernel.
  void heard() noexcept { asked_since_ = kNever; }

  enum class Order { kNothing, kAsk, kGone };
  // `silent`: what was sent is not acknowledged, though time-outs have passed.
  Order judge(std::int64_t now, bool silent) noexcept {
    if (!silent && !watched_) return Order::kNothing;
    if (asked_since_ != kNever && now - asked_since_ >= patience_) {
      if (now - asked_at_ <= kMissed * pause(silent)) return Order::kGone;
      asked_since_ = now;
    }
    if (now < asked_at_ + pause(silent)) return Order::kNothing;
    asked_at_ = now;
    if (asked_since_ == kNever) asked_since_ = now;
    return Order::kAsk;
  }
  // When judge() wants to be called.
  std::int64_t deadline(bool silent) const noexcept {
    if (!silent && !watched_) return kNever;
    const std::int64_t ask = asked_at_ + pause(silent);
    return asked_since_ == kNever ? ask : std::min(ask, asked_since_ + patience_);
  }

  // Between questions.
  std::int64_t pause(bool silent) const noexcept {
    const bool urgent = silent || asked_since_ != kNever;
    return urgent ? std::min(most_pause_, patience_ / kPerPatience) : patience_ / kPerPatience;
  }

 private:
  static constexpr std::int64_t kPerPatience = 4, kMissed = 3;  // pauses: fewer than a patience has

  const std::int64_t patience_, most_pause_;
  std::int64_t asked_at_ = 0;
  std::int64_t asked_since_ = kNever;  // the first question since something was heard
  bool watched_ = false;
};

}  // namespace lapwing::net::ether
