#include "wire/partition_setup.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lapwing::wire {
namespace {

TEST(PartitionSetup, BytesArePinned) {
  const PartitionSetup::Bytes bytes = encode({0x04030201, 0x08070605, 0x100f0e0d0c0b0a09, 0x14131211});
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], static_cast<std::byte>(i + 1));
}

TEST(PartitionSetup, WhatCannotBeIsRefused) {
  PartitionSetup decoded;
  EXPECT_TRUE(decode(encode({5, 3, 100, 2}), decoded));
  EXPECT_EQ(decoded.first_tag, 5);
  EXPECT_EQ(decoded.partitions, 3);
  EXPECT_EQ(decoded.partition_bytes, 100u);
  EXPECT_EQ(decoded.neighbours, 2);
  EXPECT_EQ(decoded.tags(), 2);
  EXPECT_FALSE(decode(encode({-1, 3, 100}), decoded));
  EXPECT_FALSE(decode(encode({0, -1, 100}), decoded));
  EXPECT_FALSE(decode(encode({INT_MAX, 1, 100}), decoded));
  EXPECT_FALSE(decode(encode({0, 3, UINT64_MAX / 2}), decoded));
  EXPECT_FALSE(decode(encode({0, (1 << 20) + 1, 0}), decoded));
  EXPECT_FALSE(decode(encode({0, 3, 100, 0}), decoded));
  EXPECT_TRUE(decode(encode({0, 3, 256, 256}), decoded));
  EXPECT_FALSE(decode(encode({0, 3, 257, 256}), decoded));
  EXPECT_FALSE(decode(encode({0, 3, 1, 257}), decoded));
}

TEST(PartitionSetup, ANoteNamesPartitionsAmongThoseOfItsTag) {
  const PartitionRun run = run_of(note_of({10, 3}), {8, 5});
  EXPECT_EQ(run.first, 10);
  EXPECT_EQ(run.end(), 13);
  for (const PartitionRun wrong : {PartitionRun{7, 3}, PartitionRun{10, 4}, PartitionRun{13, 1}, PartitionRun{9, 0}})
    EXPECT_EQ(run_of(note_of(wrong), {8, 5}).count, 0);
  EXPECT_EQ(run_of(~std::uint64_t{0}, {8, 5}).count, 0);
}

}  // namespace
}  // namespace lapwing::wire
