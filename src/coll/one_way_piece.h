// How what goes one way between two ranks that have a core each is cut on a shared area (between_two_on_area.cc): into eighths, because one of the
// two waits for the first piece and the other one for the last, but not into shorter pieces than are worth a post, nor into longer ones than stay
// in the caches. Pure; bytes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::coll {

constexpr std::uint64_t one_way_piece(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kParts = 8, kLine = 64, kLeast = 8 * 1024, kMost = 64 * 1024;
  return std::clamp((bytes / kParts + kLine - 1) / kLine * kLine, kLeast, kMost);
}

}  // namespace lapwing::coll
