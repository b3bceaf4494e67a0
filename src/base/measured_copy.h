// Copies into, or out of, memory that several cores use, in the way that takes least time on this machine, between these cores: vector moves or
// the string instruction (bulk_copy.h). Which one that is differs between processors, by a factor of up to six one way and of three the other way,
// and with the distance of the cores; so it is measured while the program runs, for each class of lengths by itself.
//
//   rest    copies go the way that was the faster one in the last trial; at first, while the memory is touched for the first time, the one that
//           suits the processor as far as that is known
//   trial   some copies go either way by turns, and are timed; the string instruction is taken from then on if its median is smaller by a tenth.
//           A median, because the core may be lost in the middle of a copy.
//
// Copies that the string instruction may stumble over (follows_closely()) go by vector moves, and are not counted.
//
// Each rest is four times as long as the one before, up to a bound: what a slower way costs in trials is then one copy in some hundreds.
// Used by one thread at a time, with the endpoint's lock held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace lapwing {

// Which way copies of one class of lengths go. Knows no time and moves no byte.
class CopyTrial {
 public:
  enum class Way : std::uint8_t { kVectors, kString };

  CopyTrial() noexcept : CopyTrial(Way::kVectors) {}
  explicit CopyTrial(Way first) noexcept : best_(first) {}

  // What copies go by but for trials.
  Way best() const noexcept { return best_; }
  // The next copy's.
  Way way() const noexcept { return trying() ? static_cast<Way>(timed_ % 2) : best_; }
  // Whether the next copy is to be timed.
  bool trying() const noexcept { return left_ == 0; }
  // A copy that was not to be timed.
  void copied() noexcept { --left_; }
  // A copy that was, with the time that a byte took, in any unit.
  void timed(double per_byte) noexcept;

  static constexpr unsigned kOfEach = 9;  // copies of a trial that go each way
  static constexpr std::uint32_t kFirstRest = 32, kLongestRest = 8192;

 private:
  std::array<std::array<double, kOfEach>, 2> times_{};
  std::uint32_t left_ = kFirstRest, rest_ = kFirstRest;
  unsigned timed_ = 0;  // in this trial
  Way best_;
};

class MeasuredCopy {
 public:
  MeasuredCopy() noexcept;

  // Like memcpy. What is too short to be measured goes as the shortest that is measured; what is shorter than kLeastString by vector moves.
  void operator()(Clock& clock, std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
  // Whether so many bytes go by the string instruction, but for trials.
  bool by_string(std::size_t bytes) const noexcept;

  static constexpr std::size_t kLeast = 4096;        // shorter ones differ by less than the clock tells
  static constexpr std::size_t kLeastString = 1536;  // to begin costs the string instruction as much as to copy a kilobyte

 private:
  static constexpr unsigned kClasses = 6;  // one for each power of two from kLeast on; the last has all that is longer
  static unsigned class_of(std::size_t bytes) noexcept;

  std::array<CopyTrial, kClasses> trials_;
};

}  // namespace lapwing
