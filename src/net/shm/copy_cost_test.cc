#include "net/shm/copy_cost.h"

#include <gtest/gtest.h>

namespace lapwing::net::shm {
namespace {

TEST(CopyCost, IsWhatAByteTookSinceTheLastTime) {
  CopyCost cost;
  EXPECT_EQ(cost.take(), 0u) << "nothing has been copied";
  cost.copied(1000, 100);
  cost.copied(3000, 100);
  EXPECT_EQ(cost.bytes(), 4000u);
  EXPECT_EQ(cost.take(), 51u);
  EXPECT_EQ(cost.take(), 0u);
  cost.copied(1 << 20, 0);
  EXPECT_EQ(cost.take(), 1u) << "which is known, though the clock has not moved";
}

}  // namespace
}  // namespace lapwing::net::shm
