#include "base/handed_cells.h"

#include <gtest/gtest.h>

#include <set>

namespace lapwing {
namespace {

TEST(HandedCells, ASideThatOnlySendsSoonHasNone) {
  HandedCells cells(0, 2);
  EXPECT_FALSE(HandedCells().has_one());
  std::set<unsigned> given;
  for (; cells.has_one(); cells.keep_what_was_read()) given.insert(cells.take(1));
  EXPECT_EQ(given, (std::set<unsigned>{0, 1}));
}

TEST(HandedCells, WhatWasReadIsKeptLaterAndGoesFirst) {
  HandedCells cells(1, 2);
  cells.read(0, 1);
  EXPECT_NE(cells.take(1), 0u) << "it may not have been read to the end";
  cells.keep_what_was_read();
  EXPECT_EQ(cells.take(1), 0u);
}

TEST(HandedCells, WritesWhereItHasReadAsMuch) {
  HandedCells cells(0, 2);
  const auto has_read = [&](unsigned cell, std::uint32_t bytes) {
    cells.read(cell, bytes);
    cells.keep_what_was_read();
  };
  has_read(2, 1000);
  has_read(3, 100);
  EXPECT_EQ(cells.take(1000), 2u) << "no more of the other one has been read than 100 bytes";
  EXPECT_EQ(cells.take(100), 3u);
  has_read(3, 100);
  has_read(2, 1000);
  EXPECT_EQ(cells.take(90), 3u) << "the other one is wanted for what is longer";
  EXPECT_EQ(cells.take(5000), 2u);
  has_read(2, 1000);
  has_read(3, 1000);
  EXPECT_EQ(cells.take(1000), 3u) << "of two that are alike, the last";
  EXPECT_NE(cells.take(100), 2u) << "none has been read of another one, which is nearer";
}

TEST(HandedCells, WhatIsNoCellOrIsHadAlreadyIsNotTaken) {
  HandedCells cells(0, 2);
  for (int again = 0; again < 9; ++again) {
    for (const unsigned cell : {0u, 1u, 2u, 4u, 31u, 32u, ~0u}) cells.read(cell, 1);
    cells.keep_what_was_read();
  }
  std::multiset<unsigned> had;
  while (cells.has_one()) had.insert(cells.take(1));
  EXPECT_EQ(had, (std::multiset<unsigned>{0, 1, 2}));
}

// However they send and read, one after the other: no cell has two owners, and none is lost.
TEST(HandedCells, EachHasOneOwner) {
  for (unsigned order = 0; order < 1u << 12; ++order) {
    HandedCells sides[] = {HandedCells(0, 2), HandedCells(1, 2)};
    std::set<unsigned> under_way;
    for (unsigned step = 0; step < 12; ++step) {
      HandedCells &sender = sides[order >> step & 1], &reader = sides[1 - (order >> step & 1)];
      sender.keep_what_was_read();
      if (!sender.has_one()) continue;
      const unsigned cell = sender.take(1);
      EXPECT_TRUE(under_way.insert(cell).second);
      reader.read(cell, 1);
      under_way.erase(cell);
    }
    std::multiset<unsigned> all;
    for (HandedCells& side : sides)
      for (side.keep_what_was_read(); side.has_one();) all.insert(side.take(1));
    ASSERT_EQ(all, (std::multiset<unsigned>{0, 1, 2, 3})) << order;
  }
}

}  // namespace
}  // namespace lapwing
