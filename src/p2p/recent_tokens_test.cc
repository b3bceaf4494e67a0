#include "p2p/recent_tokens.h"

#include <gtest/gtest.h>

#include <vector>

namespace lapwing::p2p {
namespace {

TEST(RecentTokens, TheLastOnesAreKeptInTheirOrder) {
  RecentTokens tokens;
  for (std::uint64_t count = 0; count <= 2 * RecentTokens::kMost; ++count) {
    std::vector<std::uint64_t> kept, expected;
    for (std::uint64_t token = count - std::min<std::uint64_t>(count, RecentTokens::kMost); token < count; ++token) expected.push_back(token);
    tokens.for_each([&](std::uint64_t token) { kept.push_back(token); });
    EXPECT_EQ(kept, expected);
    tokens.add(count);
  }
}

}  // namespace
}  // namespace lapwing::p2p
