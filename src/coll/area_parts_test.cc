#include "coll/area_parts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace lapwing::coll {
namespace {

datatype::Datatype* int_type() {
  return datatype::resolve(MPI_INT);
}

// A peer writes the table: nothing that it says may lead beyond the post.
TEST(AreaParts, ATableThatMakesNoSenseHasNoParts) {
  std::vector<int> memory = {1, 2, 3, 4, 5, 6};
  const Blocks parts = {block(memory.data(), 2, int_type()), block(nullptr, 0, nullptr),
                        block(memory.data() + 2, 4, int_type())};
  constexpr std::uint64_t kAll = 16;
  std::vector<std::byte> post(bytes_with_table(parts, kAll));
  EXPECT_EQ(post.size(), 3 * 4 + 24u);
  const auto copy = [](const Block& part, std::byte* to) { std::memcpy(to, part.address, part.bytes()); };
  write_parts(parts, kAll, post.data(), copy);
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
  EXPECT_EQ(longest_part(64 * 1024, 4) * 4 + parts_table_bytes(4), 64 * 1024u);
  EXPECT_EQ(longest_part(16, 4), 0u);
}

TEST(AreaParts, APartThatIsTooLongIsAnnounced) {
  std::vector<int> memory = {1, 2, 3, 4, 5, 6};
  const Blocks parts = {block(memory.data(), 1, int_type()), block(memory.data() + 1, 4, int_type()),
                        block(memory.data() + 5, 1, int_type())};
  std::vector<std::byte> post(bytes_with_table(parts, 4));
  EXPECT_EQ(post.size(), 3 * 4 + 8u);
  write_parts(parts, 4, post.data(),
              [](const Block& part, std::byte* to) { std::memcpy(to, part.address, part.bytes()); });
  for (const std::uint64_t rank : {0u, 2u}) {
    const PartPlace part = find_part(post.data(), post.size(), 3, rank);
    EXPECT_EQ(part.bytes, 4u);
    EXPECT_FALSE(part.by_message);
    EXPECT_EQ(std::memcmp(post.data() + part.offset, parts[rank].address, 4), 0);
  }
  const PartPlace announced = find_part(post.data(), post.size(), 3, 1);
  EXPECT_TRUE(announced.by_message);
  EXPECT_EQ(announced.bytes, 0u);
}

}  // namespace
}  // namespace lapwing::coll
