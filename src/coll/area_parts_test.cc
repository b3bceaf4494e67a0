#include "coll/area_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "coll/sparse_data_for_tests.h"

namespace lapwing::coll {
namespace {

// A peer writes the table: nothing that it says may lead beyond the post.
TEST(AreaParts, ATableThatMakesNoSenseHasNoParts) {
  std::vector<int> memory = {1, 2, 3, 4, 5, 6};
  const Blocks parts = {block(memory.data(), 2, int_type()), block(nullptr, 0, nullptr),
                        block(memory.data() + 2, 4, int_type())};
  const PartRules all;
  std::vector<std::byte> post(bytes_with_table(parts, all));
  EXPECT_EQ(post.size(), 3 * 4 + 24u);
  const auto copy = [](const Block& part, std::byte* to) { std::memcpy(to, part.address, part.bytes()); };
  write_parts(parts, all, post.data(), copy);
  const PartPlace last = find_part(post.data(), post.size(), 3, 2);
  EXPECT_EQ(last.bytes, 16u);
  EXPECT_EQ(std::memcmp(post.data() + last.offset, memory.data() + 2, 16), 0);
  EXPECT_EQ(find_part(post.data(), post.size(), 3, 1).bytes, 0u);
  EXPECT_EQ(find_part(post.data(), post.size() - 1, 3, 2).bytes, 0u) << "ends behind the post";
  EXPECT_EQ(find_part(post.data(), 11, 3, 0).bytes, 0u) << "no room for the table";
  const std::uint32_t inside_the_table = 4, huge = 0xffffffff;
  std::memcpy(post.data(), &inside_the_table, 4);
  EXPECT_EQ(find_part(post.data(), post.size(), 3, 0).bytes, 0u);
  EXPECT_EQ(find_part(post.data(), post.size(), 3, 1).bytes, 0u);
  std::memcpy(post.data() + 4, &huge, 4);
  EXPECT_EQ(find_part(post.data(), post.size(), 3, 2).bytes, 0u);
  EXPECT_EQ(longest_part(16, 4), 0u);
}

TEST(AreaParts, PartsOfTheLongestLengthFitIntoAPost) {
  std::vector<std::byte> memory(64 * 1024);
  for (const std::uint64_t ranks : {2u, 3u, 4u, 60u, 64u, 200u, 240u, 300u, 1000u, 5000u}) {
    const std::uint64_t longest = longest_part(memory.size(), ranks);
    for (const std::uint64_t other : {longest, longest - 1, std::min(longest, kAlignedPart - 1), std::uint64_t{1}}) {
      Blocks parts;
      for (std::uint64_t i = 0; i < ranks; ++i) parts.push_back(bytes_block(memory.data(), i % 2 == 0 ? longest : other));
      EXPECT_LE(bytes_with_table(parts, {}), memory.size()) << ranks << ' ' << longest << ' ' << other;
    }
  }
}

// Whatever lengths follow each other, the reader finds what the writer wrote.
TEST(AreaParts, AReaderFindsPartsOfAnyLength) {
  std::vector<std::byte> memory(2048);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7);
  const std::uint64_t lengths[] = {0, 1, 63, 64, 192, 193, 255, 256, 257, 300, 320, 1000};
  for (const std::uint64_t first : lengths) {
    for (const std::uint64_t second : lengths) {
      const Blocks parts = {bytes_block(memory.data(), first), bytes_block(memory.data() + 1, second), bytes_block(memory.data() + 2, 300)};
      std::vector<std::byte> post(bytes_with_table(parts, {}));
      write_parts(parts, {}, post.data(), [](const Block& part, std::byte* to) { std::memcpy(to, part.address, part.bytes()); });
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const PartPlace part = find_part(post.data(), post.size(), 3, i);
        ASSERT_EQ(part.bytes, parts[i].bytes()) << first << ' ' << second;
        ASSERT_EQ(part.offset, part_begin(end_of_parts(parts, i, {}), part.bytes));
        EXPECT_TRUE(part.bytes == 0 || std::memcmp(post.data() + part.offset, parts[i].address, part.bytes) == 0);
        EXPECT_TRUE(part.bytes < kAlignedPart || part.offset % kLine == 0);
      }
    }
  }
}

TEST(AreaParts, APartThatIsTooLongIsAnnounced) {
  std::vector<int> memory = {1, 2, 3, 4, 5, 6};
  const Blocks parts = {block(memory.data(), 1, int_type()), block(memory.data() + 1, 4, int_type()),
                        block(memory.data() + 5, 1, int_type())};
  PartRules rules;
  rules.longest = 4;
  std::vector<std::byte> post(bytes_with_table(parts, rules));
  EXPECT_EQ(post.size(), 3 * 4 + 8u);
  write_parts(parts, rules, post.data(),
              [](const Block& part, std::byte* to) { std::memcpy(to, part.address, part.bytes()); });
  for (const std::uint64_t rank : {0u, 2u}) {
    const PartPlace part = find_part(post.data(), post.size(), 3, rank);
    EXPECT_EQ(part.bytes, 4u);
    EXPECT_FALSE(part.by_message());
    EXPECT_EQ(std::memcmp(post.data() + part.offset, parts[rank].address, 4), 0);
  }
  const PartPlace announced = find_part(post.data(), post.size(), 3, 1);
  EXPECT_TRUE(announced.by_message());
  EXPECT_EQ(announced.bytes, 0u);
}

// The rules of the rank that posts, and what its post says of each part.
TEST(AreaParts, APartMayBeLeftInPlace) {
  std::vector<int> memory = {1, 2, 3, 4, 5, 6, 7};
  const Blocks parts = {block(memory.data(), 1, int_type()), block(nullptr, 0, int_type()), block(memory.data() + 1, 6, int_type())};
  PartRules rules;
  rules.longest = 4;
  rules.least_place = 24;
  std::vector<std::byte> post(bytes_with_table(parts, rules));
  EXPECT_EQ(post.size(), 3 * 4 + 4 + sizeof(BufferPlace));
  write_parts(parts, rules, post.data(), [](const Block& part, std::byte* to) { std::memcpy(to, part.address, part.bytes()); });
  const PartPlace first = find_part(post.data(), post.size(), 3, 0), none = find_part(post.data(), post.size(), 3, 1),
                  last = find_part(post.data(), post.size(), 3, 2);
  EXPECT_TRUE(!first.in_place() && !first.by_message());
  EXPECT_EQ(first.bytes, 4u);
  EXPECT_TRUE(!none.in_place() && !none.by_message());
  EXPECT_TRUE(last.in_place() && !last.by_message());
  const BufferPlace place = read_place(post.data() + last.offset, last.bytes);
  EXPECT_EQ(place.address, reinterpret_cast<std::uintptr_t>(&memory[1]));
  EXPECT_EQ(place.bytes, 24u);
  EXPECT_EQ(read_place(post.data(), sizeof(BufferPlace) - 1).bytes, 0u) << "too short for a place";
}

}  // namespace
}  // namespace lapwing::coll
