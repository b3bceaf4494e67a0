// How what goes one way on a shared area is cut: a broadcast, a gather, a scatter. The ranks that post do not wait, so that copying in and copying
// out go on at the same time: in pieces of what a post has elsewhere (`most`), or, where each of two ranks has a core, of an eighth of what there is,
// because one of the two waits for the first piece and the other one for the last. Pure; bytes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::coll {

constexpr std::uint64_t one_way_piece(int ranks, bool oversubscribed, std::uint64_t bytes, std::uint64_t most) noexcept {
  constexpr std::uint64_t kLeast = 8 * 1024, kParts = 8, kLine = 64;
  if (ranks > 2 || oversubscribed) return most;
  return std::min(std::max((bytes / kParts + kLine - 1) / kLine * kLine, kLeast), most);
}

}  // namespace lapwing::coll
