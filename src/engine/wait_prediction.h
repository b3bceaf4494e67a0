// How long a wait will last, as far as the past tells. Iterative programs wait about as long each time: a rank that has less to compute,
// or a faster core, waits for the same peer in each step. It need not poll from the beginning of such a wait, nor be notified at its
// end, which costs the peer a system call and this rank a wake-up: it sleeps until shortly before, and polls then.
//
// Waits are told apart by what the application computed before them, in powers of two, for want of anything cheaper that tells the
// steps of a program apart. A wait is expected to last for at least as long as the shortest of the last kRemembered of its kind.
// So one that is shorter, whose sleep the peer had to end, stops the predictions of its kind for as many waits.
//
// Pure, and times are in nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace lapwing::engine {

class WaitPrediction {
 public:
  static constexpr unsigned kRemembered = 3;

  // The shortest and the longest wait of those remembered; 0 where the past says nothing.
  struct Expected {
    std::int64_t least, most;
  };

  // A wait begins after so much computing.
  Expected begins(std::int64_t computed) noexcept {
    kind_ = &kinds_[kind_after(computed)];
    const auto [least, most] = std::minmax_element(kind_->waits.begin(), kind_->waits.end());
    return {*least, *most};
  }
  // The wait has ended after so long. Without a begins() before, nothing is remembered.
  void ended(std::int64_t waited) noexcept {
    if (kind_ == nullptr) return;
    kind_->waits[kind_->next] = waited;
    kind_->next = (kind_->next + 1) % kRemembered;
    kind_ = nullptr;
  }

 private:
  // Computing from below 2^16 ns to 2^31 ns and more.
  static constexpr unsigned kKinds = 16, kShortest = 16;
  struct Kind {
    std::array<std::int64_t, kRemembered> waits{};
    unsigned next = 0;
  };
  static unsigned kind_after(std::int64_t computed) noexcept {
    const auto width = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(computed)));
    return std::clamp(width, kShortest, kShortest + kKinds - 1) - kShortest;
  }

  std::array<Kind, kKinds> kinds_{};
  Kind* kind_ = nullptr;  // of the wait that has begun
};

}  // namespace lapwing::engine
