// How what goes one way between ranks that have a core each is cut on a shared area (one_way_on_area.cc): into eighths, because some wait for the
// first piece and others for the last, but not into shorter pieces than are worth a post, nor into longer ones than stay in the caches. Pure; bytes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::coll {

// What is posted once is worth a post sooner where only one other rank posts as well.
constexpr std::uint64_t one_way_piece(std::uint64_t bytes, int ranks) noexcept {
  constexpr std::uint64_t kParts = 8, kLine = 64, kMost = 64 * 1024;
  const std::uint64_t least = ranks == 2 ? 8 * 1024 : 16 * 1024;
  return std::clamp((bytes / kParts + kLine - 1) / kLine * kLine, least, kMost);
}

}  // namespace lapwing::coll
