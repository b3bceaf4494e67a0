#include "coll/scratch_pool.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/tuning.h"

namespace lapwing::coll {
namespace {

constexpr std::uint64_t kMuch = 1 << 20;

TEST(ScratchPool, GivesTheSameMemoryAgain) {
  ScratchPool pool;
  ScratchMemory memory = pool.take(kMuch);
  EXPECT_GE(memory.bytes, kMuch);
  const std::byte* address = memory.address.get();
  pool.give_back(std::move(memory));
  EXPECT_GE(pool.bytes(), kMuch);
  EXPECT_EQ(pool.take(kMuch - 100).address.get(), address);
  EXPECT_EQ(pool.bytes(), 0u);
}

TEST(ScratchPool, TakesTheSmallestThatHasRoom) {
  ScratchPool pool;
  ScratchMemory large = pool.take(kMuch), small = pool.take(kMuch / 2 + kMuch / 4);
  const std::byte* smaller = small.address.get();
  pool.give_back(std::move(small));
  pool.give_back(std::move(large));
  EXPECT_EQ(pool.take(kMuch / 2 + 1).address.get(), smaller);
  EXPECT_GE(pool.take(kMuch).bytes, kMuch);
  EXPECT_EQ(pool.bytes(), 0u);
}

TEST(ScratchPool, ShortOperandsLeaveLongMemoryAlone) {
  ScratchPool pool;
  pool.give_back(pool.take(kMuch));
  const ScratchMemory few = pool.take(kMuch / 4);
  EXPECT_LT(few.bytes, kMuch);
  EXPECT_GE(pool.bytes(), kMuch);
}

TEST(ScratchPool, KeepsNeitherLittleNorTooMuch) {
  Tuning values;
  values.coll_scratch_pool = 2 * kMuch;
  put_in_force(values);
  ScratchPool pool;
  pool.give_back(pool.take(100));
  EXPECT_EQ(pool.bytes(), 0u);
  pool.give_back(pool.take(3 * kMuch));
  EXPECT_EQ(pool.bytes(), 0u);
  ScratchMemory memories[4];
  for (ScratchMemory& each : memories) each = pool.take(kMuch);
  for (ScratchMemory& each : memories) pool.give_back(std::move(each));
  EXPECT_EQ(pool.bytes(), 2 * kMuch);
  put_in_force(Tuning());
}

}  // namespace
}  // namespace lapwing::coll
