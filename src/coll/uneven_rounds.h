// In how many rounds of posts the next all-to-all of unequal blocks goes on an area (uneven_on_area.cc): all ranks must have the same number, and each
// knows its own blocks alone. So it is what the last blocking call before would have needed, whose posts all ranks have read: as many as the most of
// them said at once, and if that is less, fewer by one part in eight of the difference with each call, because calls with short blocks and with long ones
// may take turns. A round in which nothing is to be moved costs a post of each rank. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/area_parts.h"

namespace lapwing::coll {

class UnevenRounds {
 public:
  // With so many ranks: longer blocks are worth a message each, and a schedule has a step for each rank and round.
  static constexpr std::uint64_t most(std::uint64_t ranks) noexcept { return std::clamp<std::uint64_t>(1024 / ranks, 1, kMost); }

  std::uint32_t now() const noexcept { return now_; }
  // At the end of a blocking call: the most that a rank said in it.
  void needed(std::uint32_t rounds) noexcept {
    const std::uint32_t fewer = now_ - std::min(now_, rounds);
    now_ = std::max(rounds, now_ - (fewer + 7) / 8);
  }

 private:
  static constexpr std::uint64_t kMost = 32;
  static_assert(kMost <= kMostPartRounds);

  std::uint32_t now_ = 1;
};

}  // namespace lapwing::coll
