// Which of the numbers that a sender counts have come, so that none is taken twice: neither what the network has doubled nor what an attacker sends
// again. Numbers far behind the highest count as if they had come. The method is that of IPsec (RFC 4303, section 3.4.3).
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>

namespace lapwing::wire {

class ReplayWindow {
 public:
  static constexpr std::uint64_t kNumbers = 2048;  // behind the highest; more than packets are under way (kMostPacketsUnderWay)

  bool is_new(std::uint64_t number) const noexcept {
    return number >= end_ || (end_ - number <= kNumbers && !came_[place_of(number)]);
  }
  // One that is new has come.
  void note(std::uint64_t number) noexcept {
    if (number >= end_) {
      const std::uint64_t fresh = std::min(number - end_, kNumbers - 1);
      for (std::uint64_t skipped = 1; skipped <= fresh; ++skipped) came_[place_of(number - skipped)] = false;
      end_ = number + 1;
    }
    came_[place_of(number)] = true;
  }

 private:
  static std::size_t place_of(std::uint64_t number) noexcept { return static_cast<std::size_t>(number % kNumbers); }

  std::bitset<kNumbers> came_;
  std::uint64_t end_ = 0;  // behind the highest that has come
};

}  // namespace lapwing::wire
