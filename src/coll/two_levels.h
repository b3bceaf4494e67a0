// What the algorithms on two levels share (two_levels_*.cc): the ranks of this host as a team, and the ranks that speak for the hosts.
//
// Which algorithm each of the two teams uses is chosen as for any other team (compile.h): what goes on inside a host depends on whether its
// ranks have an area, which only they know; what goes on between hosts depends on what all ranks know.
#pragma once

#include <algorithm>

#include "coll/schedule.h"

namespace lapwing::coll {

class TwoLevels {
 public:
  // The root speaks for its own host.
  TwoLevels(Schedule& schedule, int root)
      : schedule_(schedule),
        levels_(*schedule.levels()),
        speakers_(schedule.keep_members(levels_.speakers(root))),
        root_host_(levels_.host_of(root)) {}

  const Levels& levels() const noexcept { return levels_; }
  // In the team across: a host's number.
  int root_host() const noexcept { return root_host_; }
  // In the team inside.
  int speaker() const noexcept { return levels_.place_of(speakers_[static_cast<std::size_t>(levels_.host())]); }
  bool speaks() const noexcept { return speaker() == levels_.place(); }

  void inside() const noexcept { schedule_.set_team_inside(); }
  // For ranks that speak.
  void across() const noexcept { schedule_.set_team_across(speakers_); }

 private:
  Schedule& schedule_;
  const Levels& levels_;
  const std::vector<int>& speakers_;
  const int root_host_;
};

// Calls add(index, first, count) for each of the segments of at most `bytes` bytes that so many elements of `size` bytes make; once at least.
template <typename Add>
void for_segments(std::uint64_t elements, std::uint64_t size, std::uint64_t bytes, Add add) {
  const std::uint64_t each = std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, size));
  std::size_t index = 0;
  for (std::uint64_t first = 0; first == 0 || first < elements; first += each)
    add(index++, first, std::min(each, elements - first));
}

// The blocks of a host's members as one, where they follow each other in memory because the ranks do; else an empty one.
inline Block run_of(const Blocks& all, const std::vector<int>& members) noexcept {
  const bool neighbors = members.back() - members.front() + 1 == static_cast<int>(members.size());
  if (!neighbors) return {};
  const Block& first = all[static_cast<std::size_t>(members.front())];
  return {first.address, first.count * members.size(), first.type};
}

}  // namespace lapwing::coll
