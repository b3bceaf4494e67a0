// A process, as this one numbers it: a place in its process table (runtime/process_table.h), where its job and its rank in that job stand.
//
// Dense, so that what is kept for each peer lies in an array. It means nothing to another process, which has a table of its own, and so it
// never travels: wire::JobRank does.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace lapwing {

struct ProcessId {
  std::uint32_t index = 0;

  friend constexpr auto operator<=>(ProcessId, ProcessId) noexcept = default;
};

}  // namespace lapwing

template <>
struct std::hash<lapwing::ProcessId> {
  std::size_t operator()(lapwing::ProcessId process) const noexcept { return process.index; }
};
