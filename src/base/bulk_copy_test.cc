#include "base/bulk_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lapwing {
namespace {

void plain(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  plain_copy(to, from, bytes);
}

class BulkCopy : public testing::TestWithParam<void (*)(std::byte*, const std::byte*, std::size_t) noexcept> {};
INSTANTIATE_TEST_SUITE_P(Ways, BulkCopy, testing::Values(bulk_copy, string_copy, plain));

TEST_P(BulkCopy, CopiesEveryLengthAndAlignment) {
  const auto copy = GetParam();
  std::vector<std::byte> from(9000), to(9000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 + i / 251);
  for (const std::size_t bytes : {0u, 1u, 63u, 1023u, 1024u, 1025u, 1151u, 2048u, 4095u, 4096u, 4097u, 8191u, 8300u}) {
    for (const std::size_t shift : {0u, 1u, 8u, 31u, 64u, 100u}) {
      to.assign(to.size(), std::byte{0xee});
      copy(to.data() + shift, from.data() + 2 * shift, bytes);
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(to[shift + i], from[2 * shift + i]) << bytes << " bytes, at " << i;
      for (std::size_t i = 0; i < shift; ++i) ASSERT_EQ(to[i], std::byte{0xee});
      for (std::size_t i = shift + bytes; i < to.size(); ++i) ASSERT_EQ(to[i], std::byte{0xee}) << bytes;
    }
  }
}

TEST(FollowsClosely, WithinAPage) {
  alignas(4096) static std::byte memory[3 * 4096];
  EXPECT_FALSE(follows_closely(memory, memory));
  EXPECT_TRUE(follows_closely(memory + 1, memory));
  EXPECT_TRUE(follows_closely(memory + 2 * 4096 + 63, memory));
  EXPECT_TRUE(follows_closely(memory + 16, memory + 2 * 4096));
  EXPECT_TRUE(follows_closely(memory + 4096 + 8, memory + 4090)) << "14 bytes, over the end of a page";
  EXPECT_FALSE(follows_closely(memory + 64, memory));
  EXPECT_FALSE(follows_closely(memory, memory + 16));
}

TEST(StreamingCopy, CopiesEveryLength) {
  std::vector<std::byte> from(9000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 + i / 251);
  alignas(64) static std::byte to[9000];
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 1000u, 4096u, 8900u}) {
    for (const std::size_t shift : {0u, 1u, 8u, 33u}) {
      std::fill(std::begin(to), std::end(to), std::byte{0xee});
      streaming_copy(to, from.data() + shift, bytes);
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(to[i], from[shift + i]) << bytes << " bytes, at " << i;
      for (std::size_t i = bytes; i < sizeof to; ++i) ASSERT_EQ(to[i], std::byte{0xee}) << bytes;
    }
  }
}

TEST(ClaimingCopy, CopiesEveryLengthAndClaimsWholeLinesAlone) {
  constexpr std::size_t kLine = 64, kWord = 8;
  alignas(64) static std::byte from[9024];
  const auto byte = [](std::size_t i) { return static_cast<std::byte>((i * 31 + i / 251) | 1); };
  std::vector<std::byte> to(9100);
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 1000u, 4096u, 8999u}) {
    for (const std::size_t shift : {0u, 1u, 8u, 33u}) {
      for (std::size_t i = 0; i < sizeof from; ++i) from[i] = byte(i);
      to.assign(to.size(), std::byte{0xee});
      const std::size_t claimed = claiming_copy(to.data() + shift, from, bytes, kWord);
      ASSERT_EQ(claimed, bytes / kLine * kLine);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool copied = i >= shift && i < shift + bytes;
        ASSERT_EQ(to[i], copied ? byte(i - shift) : std::byte{0xee}) << bytes << " bytes, at " << i;
      }
      for (std::size_t i = 0; i < sizeof from; ++i) {
        const bool wiped = i < claimed && i % kLine >= kWord && i % kLine < kWord + 8;
        ASSERT_EQ(from[i], wiped ? std::byte{0} : byte(i)) << bytes << " bytes, at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace lapwing
