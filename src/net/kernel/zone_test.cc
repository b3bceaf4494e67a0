#include "net/kernel/zone.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "net/kernel/own_loader.h"

namespace lapwing::net::kernel::tests {
namespace {

TEST(FreeSpace, IsGivenOutFromTheFront) {
  FreeSpace space(1000);
  EXPECT_EQ(space.take(100, 1), 0u);
  EXPECT_EQ(space.take(100, 64), 128u);
  EXPECT_EQ(space.take(28, 1), 100u) << "what the alignment left";
  EXPECT_EQ(space.take(773, 1), FreeSpace::kNone);
  EXPECT_EQ(space.take(772, 1), 228u);
  EXPECT_EQ(space.take(1, 1), FreeSpace::kNone);
}

TEST(FreeSpace, HasNothingWithoutMemory) {
  FreeSpace space;
  EXPECT_EQ(space.take(1, 1), FreeSpace::kNone);
  EXPECT_TRUE(space.all_free());
}

TEST(FreeSpace, WhatIsNotItsIsNotGivenBack) {
  FreeSpace space(100);
  space.take(10, 1);
  space.give_back(5);
  EXPECT_FALSE(space.all_free());
}

TEST(FreeSpace, BlocksNeverOverlapAndComeTogetherAgain) {
  constexpr std::size_t kBytes = 10'000;
  FreeSpace space(kBytes);
  std::map<std::size_t, std::size_t> blocks;  // offset to end
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      const std::size_t bytes = 1 + random() % 900, alignment = std::size_t{1} << random() % 8;
      const std::size_t at = space.take(bytes, alignment);
      if (at == FreeSpace::kNone) continue;
      ASSERT_EQ(at % alignment, 0u);
      ASSERT_LE(at + bytes, kBytes);
      const auto next = blocks.lower_bound(at);
      ASSERT_TRUE(next == blocks.end() || at + bytes <= next->first);
      ASSERT_TRUE(next == blocks.begin() || std::prev(next)->second <= at);
      blocks[at] = at + bytes;
    } else if (!blocks.empty()) {
      const auto block = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
      space.give_back(block->first);
      blocks.erase(block);
    }
  }
  for (const auto& [at, end] : blocks) space.give_back(at);
  EXPECT_TRUE(space.all_free());
  EXPECT_EQ(space.take(kBytes, 1), 0u);
}

TEST(Zone, HandsOutMemoryThatTheKernelShares) {
  OwnLoader loader;
  if (const Status created = loader.prepare(1, Zone::blocks(1)); !created.ok()) GTEST_SKIP() << created.text();
  Zone zone;
  ASSERT_TRUE(zone.map(loader.zone().fd(), 1).ok());
  void* const whole = zone.allocate(kZoneBlock, 1);
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(zone.allocate(1, 1), nullptr);
  std::memset(whole, 1, kZoneBlock);
  zone.free(whole);
  void* const page = zone.allocate(10, 4096);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page) % 4096, 0u);
  EXPECT_EQ(zone.allocate(~std::size_t{0}, 1), nullptr);
  EXPECT_EQ(zone.allocate(10, 2 * Zone::kMostAlignment), nullptr);
}

TEST(Zone, IsOfWholeBlocks) {
  EXPECT_EQ(Zone::blocks(0), 1u);
  EXPECT_EQ(Zone::blocks(kZoneBlock), 1u);
  EXPECT_EQ(Zone::blocks(kZoneBlock + 1), 2u);
  EXPECT_EQ(Zone::blocks(~std::uint64_t{0}), Zone::kMostBlocks);
}

TEST(Zone, HasNothingBeforeItIsMapped) {
  Zone zone;
  EXPECT_EQ(zone.allocate(1, 1), nullptr);
  EXPECT_EQ(zone.address(), 0u);
}

}  // namespace
}  // namespace lapwing::net::kernel::tests
