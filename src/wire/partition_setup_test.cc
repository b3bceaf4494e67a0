#include "wire/partition_setup.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lapwing::wire {
namespace {

TEST(PartitionSetup, BytesArePinned) {
  const PartitionSetup::Bytes bytes = encode({0x04030201, 0x08070605, 0x100f0e0d0c0b0a09});
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(i + 1));
}

TEST(PartitionSetup, WhatCannotBeIsRefused) {
  PartitionSetup decoded;
  EXPECT_TRUE(decode(encode({5, 3, 100}), decoded));
  EXPECT_EQ(decoded.first_tag, 5);
  EXPECT_EQ(decoded.partitions, 3);
  EXPECT_EQ(decoded.partition_bytes, 100u);
  EXPECT_FALSE(decode(encode({-1, 3, 100}), decoded));
  EXPECT_FALSE(decode(encode({0, -1, 100}), decoded));
  EXPECT_FALSE(decode(encode({INT_MAX, 1, 100}), decoded));
  EXPECT_FALSE(decode(encode({0, 3, UINT64_MAX / 2}), decoded));
  EXPECT_FALSE(decode(encode({0, (1 << 20) + 1, 0}), decoded));
}

}  // namespace
}  // namespace lapwing::wire
