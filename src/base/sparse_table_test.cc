#include "base/sparse_table.h"

#include <gtest/gtest.h>

namespace lapwing {
namespace {

TEST(SparseTable, PreparesWhatIsTouchedAndNothingElse) {
  std::size_t prepared = 0;
  SparseTable<std::size_t> table(1000, [&](std::size_t index, std::size_t& element) {
    ++prepared;
    element = index;
  });
  EXPECT_EQ(table[ProcessId{500}], 500u);
  EXPECT_EQ(prepared, 8u) << "a chunk";
  EXPECT_EQ(table.find(ProcessId{3}), nullptr);
  ASSERT_NE(table.find(ProcessId{501}), nullptr);
}

TEST(SparseTable, GrowsWithoutMovingWhatItHas) {
  for (const std::size_t before : {1u, 7u, 8u, 9u}) {
    SparseTable<std::size_t> table(before, [](std::size_t index, std::size_t& element) { element = index + 1; });
    EXPECT_EQ(table[0], 1u);
    std::size_t& last = table[before - 1];
    last = 77;
    table.grow(20);
    EXPECT_EQ(table.size(), 20u);
    EXPECT_EQ(&table[before - 1], &last);
    EXPECT_EQ(last, 77u);
    for (std::size_t i = before; i < 20; ++i) EXPECT_EQ(table[i], i + 1) << before;
    std::size_t visited = 0;
    table.for_each([&](std::size_t, std::size_t&) { ++visited; });
    EXPECT_EQ(visited, 20u);
  }
}

}  // namespace
}  // namespace lapwing
