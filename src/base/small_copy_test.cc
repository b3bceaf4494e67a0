#include "base/small_copy.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lapwing {
namespace {

TEST(SmallCopy, CopiesEveryLengthAndNothingElse) {
  std::byte from[kSmallCopy];
  for (std::size_t i = 0; i < kSmallCopy; ++i) from[i] = static_cast<std::byte>(i + 1);
  for (std::size_t bytes = 0; bytes <= kSmallCopy; ++bytes) {
    std::byte to[kSmallCopy + 1] = {};
    copy_small(to, from, bytes);
    EXPECT_EQ(std::memcmp(to, from, bytes), 0) << bytes;
    EXPECT_EQ(to[bytes], std::byte{0}) << bytes;
  }
}

}  // namespace
}  // namespace lapwing
