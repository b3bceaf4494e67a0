// Whether a sender asks the program in the peer's kernel for an answer (net/kernel/area.h), or the peer's process as ever: whichever has been
// quicker. Pure.
//
// The program's answer is sent by a thread of the kernel's, on the core on which the request came: on one machine the sender's own. It may be quicker
// than the peer's event thread where that has to wait for its core, and slower, by a slice of the scheduler at times, where the kernel's thread has
// to. Which it is depends on the machine, its load and the program. So some messages of a trial ask the kernel, and the median of their times
// decides. The ways go by turns of four messages, of which the first is not counted: a receiver that learns whether its kernel takes what comes, and so
// need not be woken for it (Receiver::learn_what_is_taken), would learn nothing of single ones. The kernel's turn is the first: where all cores compute, a
// program with few such messages gains milliseconds by that, and elsewhere it loses some tens of us. A trial costs messages that go the slower way,
// milliseconds each where all cores compute: it ends as soon as all of one way have been much quicker than all of the other. One that confirms that the
// kernel is slower is followed by ever more messages without another.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "net/transport.h"

namespace lapwing::net::tcp {

class AnswerChoice {
 public:
  static constexpr std::uint32_t kTurn = 4;                                  // messages
  static constexpr std::size_t kSamples = 8, kFewest = kTurn - 1;            // of each way; so few where the result is clear
  static constexpr std::uint32_t kFirstStay = 256, kLongestStay = 1u << 16;  // messages, until the next trial

  // Of each message that could ask. Never kNever.
  Asking asks() noexcept {
    if (left_ > 0) {
      --left_;
      return winner_;
    }
    return tried_++ / kTurn % 2 == 0 ? Asking::kKernel : Asking::kProcess;
  }
  bool on_trial() const noexcept { return left_ == 0; }
  // Such a message had what it waited for after so many ns.
  void took(Asking way, std::int64_t time) noexcept {
    Samples& samples = way == Asking::kKernel ? kernel_ : process_;
    if (std::exchange(last_, way) != way) return;
    if (left_ > 0 || samples.count == kSamples) return;
    samples.times[samples.count++] = time;
    const bool clear = std::min(kernel_.count, process_.count) >= kFewest && (kernel_.is_clearly_below(process_) || process_.is_clearly_below(kernel_));
    if (clear || (kernel_.count == kSamples && process_.count == kSamples)) decide();
  }

 private:
  struct Samples {
    std::array<std::int64_t, kSamples> times;
    std::size_t count = 0;
    auto end() noexcept { return times.begin() + static_cast<std::ptrdiff_t>(count); }
    std::int64_t take_median() noexcept {
      const auto middle = times.begin() + static_cast<std::ptrdiff_t>(count / 2);
      std::nth_element(times.begin(), middle, end());
      count = 0;
      return *middle;
    }
    bool is_clearly_below(Samples& other) noexcept {
      return 3 * *std::max_element(times.begin(), end()) < 2 * *std::min_element(other.times.begin(), other.end());
    }
  };

  void decide() noexcept {
    const std::int64_t kernel = kernel_.take_median(), process = process_.take_median();
    winner_ = kernel < process - process / 8 ? Asking::kKernel : Asking::kProcess;
    stay_ = winner_ == Asking::kKernel ? kFirstStay : std::min(2 * stay_, kLongestStay);
    left_ = stay_;
    tried_ = 0;
    last_ = Asking::kNever;
  }

  Asking winner_ = Asking::kProcess, last_ = Asking::kNever;  // last_: of the messages that were timed
  std::uint32_t left_ = 0, stay_ = kFirstStay / 2, tried_ = 0;
  Samples kernel_, process_;
};

}  // namespace lapwing::net::tcp
