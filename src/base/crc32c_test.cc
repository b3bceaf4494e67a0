#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace lapwing {
namespace {

using Bytes = std::vector<std::byte>;

std::uint32_t of(std::string_view text) {
  return crc32c(0, reinterpret_cast<const std::byte*>(text.data()), text.size());
}

Bytes random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// RFC 3720, appendix B.4, and the check value of the catalogues.
TEST(Crc32c, HasTheValuesOfTheStandard) {
  EXPECT_EQ(of("123456789"), 0xe3069283u);
  EXPECT_EQ(of(std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32)), 0x8a9136aau);
  Bytes ascending(32);
  for (std::size_t i = 0; i < ascending.size(); ++i) ascending[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(0, ascending.data(), ascending.size()), 0x46dd794eu);
  EXPECT_EQ(of(""), 0u);
}

// Lengths around the lanes, at every alignment; the copy ends where it should.
TEST(Crc32c, TablesInstructionAndCopyAgree) {
  const Bytes bytes = random_bytes(20'000, 1);
  for (const std::size_t around : {0u, 8u, 64u, 384u, 768u, 1152u, 6144u, 6528u, 12288u, 19000u}) {
    for (std::size_t count = around < 9 ? 0 : around - 9; count < around + 9; ++count) {
      for (const std::size_t offset : {0u, 1u, 7u}) {
        const std::uint32_t expected = crc32c_by_tables(5, &bytes[offset], count);
        EXPECT_EQ(crc32c(5, &bytes[offset], count), expected) << count;
        Bytes copy(count + 1, std::byte{0x5a});
        EXPECT_EQ(crc32c_copy(5, copy.data(), &bytes[offset], count), expected) << count;
        EXPECT_TRUE(count == 0 || std::memcmp(copy.data(), &bytes[offset], count) == 0) << count;
        EXPECT_EQ(copy[count], std::byte{0x5a});
      }
    }
  }
}

TEST(Crc32c, GoesOnWhereItStopped) {
  const Bytes bytes = random_bytes(9'000, 2);
  const std::uint32_t whole = crc32c(0, bytes.data(), bytes.size());
  for (const std::size_t cut : {0u, 1u, 100u, 6144u, 9000u})
    EXPECT_EQ(crc32c(crc32c(0, bytes.data(), cut), bytes.data() + cut, bytes.size() - cut), whole) << cut;
}

TEST(Crc32c, EveryBitCounts) {
  Bytes bytes = random_bytes(1000, 3);
  const std::uint32_t before = crc32c(0, bytes.data(), bytes.size());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_NE(crc32c(0, bytes.data(), bytes.size()), before) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
}

}  // namespace
}  // namespace lapwing
