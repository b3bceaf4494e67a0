// By which way packets to a peer leave: by ether, or by the detour, which is a connection of another transport (transport.h, take_detour). The way by
// ether is asked by probes when something is amiss (link.h). Probes that are not answered lead to the detour; there they go on, after ever longer
// pauses, and when they have been answered for a while the packets go by ether again. A way that was left soon after a return has to answer for
// longer the next time. Each side decides for the packets that it sends; what comes is taken by whichever way it comes. Where the interface has
// been taken away none ever goes by ether again. Pure arithmetic.
//
//   state        what it means                                                     packets leave by
//   kEther       nothing was asked, or the last probe was answered                  ether
//   kDoubtful    probes have not been answered, fewer than kMostUnanswered          ether
//   kDetour      none is answered                                                  the detour
//   kReturning   they are answered again                                           the detour
//   kClosed      there is no way by ether any more                                 the detour
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace lapwing::net::ether {

class Way {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr unsigned kMostUnanswered = 3;
  static constexpr std::int64_t kFirstPause = 100'000'000, kMostPause = 2'000'000'000;  // between probes on the detour
  static constexpr std::int64_t kSteady = 500'000'000, kMostSteady = 32'000'000'000;    // how long probes are answered before a return

  enum class State { kEther, kDoubtful, kDetour, kReturning, kClosed };
  State state() const noexcept { return state_; }
  bool on_detour() const noexcept { return state_ == State::kDetour || state_ == State::kReturning || closed(); }
  bool closed() const noexcept { return state_ == State::kClosed; }
  bool in_doubt() const noexcept { return state_ == State::kDoubtful; }

  // A probe has left by ether; or, where there is no way any more, would have.
  void asked(std::int64_t now) noexcept {
    asked_at_ = now;
    ++unanswered_;
    if (state_ == State::kEther) state_ = State::kDoubtful;
    if (state_ == State::kDetour || closed()) pause_ = std::min(2 * pause_, kMostPause);
  }
  // A probe was answered, by ether. One answer says little to a way that has just failed.
  void answered(std::int64_t now) noexcept {
    unanswered_ = 0;
    if (state_ == State::kDoubtful) state_ = State::kEther;
    if (state_ == State::kDetour) {
      state_ = State::kReturning;
      answering_since_ = now;
      pause_ = kFirstPause;
    } else if (state_ == State::kReturning && now - answering_since_ >= steady_) {
      state_ = State::kEther;
      returned_at_ = now;
    }
  }
  // The peer sends by the detour, or again and again what has come: its probes are not answered, or its answers are lost. Worth a question.
  void doubt() noexcept {
    if (state_ == State::kEther) state_ = State::kDoubtful;
  }

  // The interface is gone.
  void close() noexcept {
    state_ = State::kClosed;
    pause_ = kFirstPause;
  }

  // Before the next probe would leave. `pause`: between probes while in doubt.
  void judge(std::int64_t now, std::int64_t pause) noexcept {
    if (unanswered_ < kMostUnanswered || now < asked_at_ + (on_detour() ? pause_ : pause)) return;
    if (state_ == State::kDoubtful) leave(now);
    if (state_ == State::kReturning) state_ = State::kDetour;
  }
  // On the detour: a probe is due.
  bool asks(std::int64_t now) const noexcept { return on_detour() && now >= asked_at_ + pause_; }
  // When judge() or asks() has something to say.
  std::int64_t deadline(std::int64_t pause) const noexcept {
    if (on_detour()) return asked_at_ + pause_;
    return in_doubt() && unanswered_ >= kMostUnanswered ? asked_at_ + pause : kNever;
  }

 private:
  void leave(std::int64_t now) noexcept {
    const bool soon = returned_at_ != kNever && now - returned_at_ < kMostSteady;
    steady_ = soon ? std::min(2 * steady_, kMostSteady) : kSteady;
    pause_ = kFirstPause;
    state_ = State::kDetour;
  }

  State state_ = State::kEther;
  unsigned unanswered_ = 0;  // probes, since the last answer
  std::int64_t asked_at_ = 0;
  std::int64_t pause_ = kFirstPause;
  std::int64_t answering_since_ = 0;
  std::int64_t returned_at_ = kNever;
  std::int64_t steady_ = kSteady;
};

}  // namespace lapwing::net::ether
