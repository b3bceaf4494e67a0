// Whether direct copies were the faster way, as communicators have found it out (direct_trials.h): this process's memory, for those that are made
// later. By the family of collectives, whose members differ only in whether blocks have one length, the class of lengths, and the number of ranks,
// of which those between two powers of two count as one.
//
// What the ranks of a communicator remember differs, because each was a member of others. So where they must go alike, what rank 0 remembers
// decides, and rank 0 tells them. With the endpoint's lock held.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace lapwing::coll {

class KnownWays {
 public:
  static constexpr unsigned kFamilies = 4, kClasses = 10;
  enum class Way : std::uint8_t { kUnknown, kNotDirect, kDirect };

  void add(unsigned family, unsigned length, int ranks, bool directly) noexcept {
    ways_[family][length][of_ranks(ranks)] = directly ? Way::kDirect : Way::kNotDirect;
  }
  Way of(unsigned family, unsigned length, int ranks) const noexcept { return ways_[family][length][of_ranks(ranks)]; }

 private:
  static constexpr unsigned kSizes = 12;
  static unsigned of_ranks(int ranks) noexcept {
    return std::min<unsigned>(kSizes - 1, static_cast<unsigned>(std::bit_width(static_cast<unsigned>(ranks))));
  }

  std::array<std::array<std::array<Way, kSizes>, kClasses>, kFamilies> ways_{};
};

}  // namespace lapwing::coll
