#include "net/tcp/watched_hosts.h"

#include <gtest/gtest.h>

namespace lapwing::net::tcp {
namespace {

TEST(WatchedHosts, OneRankStandsForAHostAndNoneForOurOwn) {
  WatchedHosts hosts;
  hosts.reset("here", 6);
  const char* where[] = {"here", "here", "there", "there", "yonder", "yonder"};
  for (std::uint32_t peer = 0; peer < 6; ++peer) hosts.add({peer}, where[peer]);
  hosts.meet({5});
  PeerId chosen{99};
  EXPECT_FALSE(hosts.choose({1}, chosen));
  ASSERT_TRUE(hosts.choose({2}, chosen));
  EXPECT_EQ(chosen.index, 2u);
  ASSERT_TRUE(hosts.choose({3}, chosen));
  EXPECT_EQ(chosen.index, 2u);
  ASSERT_TRUE(hosts.choose({4}, chosen));
  EXPECT_EQ(chosen.index, 5u);  // met already
  EXPECT_TRUE(hosts.replace({2}, {3}));
  EXPECT_FALSE(hosts.replace({3}, {3}));
  ASSERT_TRUE(hosts.choose({2}, chosen));
  EXPECT_EQ(chosen.index, 3u);
}

TEST(WatchedHosts, OfThousandsAFewAreMet) {
  WatchedHosts hosts;
  constexpr std::uint32_t kHosts = 4000;
  hosts.reset("0", kHosts);
  for (std::uint32_t peer = 0; peer < kHosts; ++peer) hosts.add({peer}, std::to_string(peer));
  hosts.meet({3999});
  PeerId chosen;
  std::uint32_t watched = 0;
  for (std::uint32_t peer = 1; peer < kHosts; ++peer) watched += hosts.choose({peer}, chosen);
  EXPECT_EQ(watched, WatchedHosts::kMost + 1);
  EXPECT_TRUE(hosts.choose({3999}, chosen));
}

TEST(WatchedHosts, OnASingleHostThereAreNone) {
  WatchedHosts hosts;
  PeerId chosen;
  hosts.meet({3});
  EXPECT_FALSE(hosts.choose({3}, chosen));
}

}  // namespace
}  // namespace lapwing::net::tcp
