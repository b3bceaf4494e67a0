// How the next all-to-all of unequal blocks goes on an area (uneven_on_area.cc): in how many rounds of posts, and whether on the area at all. All ranks
// must do the same, and each knows its own blocks alone. So it is by what the last blocking call before would have needed, whose posts all ranks have
// read; a program's calls come again and are alike. Each rank says there (UnevenNeed) what the longest of its blocks asks for, and what counts is the
// most that a rank has said.
//
//   rounds     as many as needed at once, and if that is less, fewer by one part in eight of the difference with each call, because calls with short
//              blocks and with long ones may take turns. A round in which nothing is to be moved costs a post of each rank.
//   messages   where blocks of that length are sooner there by messages (as_messages() in selection.h), the next calls have no post at all; after
//              some of them one goes by the area again, and says how long blocks are by now. Seven calls at first, and then twice as many and one, up to
//              kLongestRun, which cost little where blocks are shorter or longer again.
//
// Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/area_parts.h"

namespace lapwing::coll {

// What a rank says, in six bits that grow with the length of its longest block: one round; two rounds or more, of blocks that would rather go as
// messages; as many of longer ones.
class UnevenNeed {
 public:
  static constexpr std::uint32_t kMostRounds = 31;

  constexpr UnevenNeed() noexcept = default;  // short blocks alone
  static constexpr UnevenNeed as_messages(std::uint32_t rounds) noexcept { return UnevenNeed(std::clamp(rounds, 2u, kMostRounds)); }
  static constexpr UnevenNeed on_area(std::uint32_t rounds) noexcept { return rounds <= 1 ? UnevenNeed() : UnevenNeed(kLong + std::min(rounds, kMostRounds)); }
  static constexpr UnevenNeed said(std::uint32_t bits) noexcept { return UnevenNeed(std::max(bits, 1u)); }

  constexpr std::uint32_t bits() const noexcept { return bits_; }
  constexpr std::uint32_t rounds() const noexcept { return std::max(bits_ % kLong, 1u); }
  constexpr bool by_messages() const noexcept { return bits_ > 1 && bits_ < kLong; }

 private:
  static constexpr std::uint32_t kLong = kMostRounds + 1;
  static_assert(kLong + kMostRounds <= kMostPartNeed);
  explicit constexpr UnevenNeed(std::uint32_t bits) noexcept : bits_(bits) {}

  std::uint32_t bits_ = 1;
};

class UnevenRounds {
 public:
  static constexpr std::uint32_t kFirstRun = 7, kLongestRun = 31;  // calls

  // With so many ranks: longer blocks are worth a message each, and a schedule has a step for each rank and round.
  static constexpr std::uint64_t most(std::uint64_t ranks) noexcept { return std::clamp<std::uint64_t>(1024 / ranks, 1, UnevenNeed::kMostRounds); }

  std::uint32_t now() const noexcept { return now_; }
  bool by_messages() const noexcept { return left_ > 0; }
  // A blocking call goes so.
  void called() noexcept {
    if (left_ > 0) --left_;
  }
  // At the end of a blocking call by the area: the most that a rank said in it.
  void needed(UnevenNeed most) noexcept {
    const std::uint32_t fewer = now_ - std::min(now_, most.rounds());
    now_ = std::max(most.rounds(), now_ - (fewer + 7) / 8);
    run_ = most.by_messages() ? std::min(2 * run_ + 1, kLongestRun) : kFirstRun / 2;
    left_ = most.by_messages() ? run_ : 0;
  }

 private:
  std::uint32_t now_ = 1;
  std::uint32_t run_ = kFirstRun / 2, left_ = 0;
};

}  // namespace lapwing::coll
