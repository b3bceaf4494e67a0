#include "base/handed_cells.h"

#include <gtest/gtest.h>

#include <set>

namespace lapwing {
namespace {

TEST(HandedCells, ASideThatOnlySendsSoonHasNone) {
  HandedCells cells(1, 3, 2);
  EXPECT_FALSE(HandedCells().has_one());
  std::set<unsigned> given;
  while (cells.has_one()) given.insert(cells.take(1));
  EXPECT_EQ(given, (std::set<unsigned>{2, 3}));
}

TEST(HandedCells, WhatWasReadLastGoesFirst) {
  HandedCells cells(1, 2, 2);
  EXPECT_TRUE(cells.keep(0, 1));
  EXPECT_EQ(cells.take(1), 0u);
}

TEST(HandedCells, WritesWhereItHasReadAsMuch) {
  HandedCells cells(0, 2, 2);
  EXPECT_TRUE(cells.keep(2, 1000));
  EXPECT_TRUE(cells.keep(3, 100));
  EXPECT_EQ(cells.take(1000), 2u) << "no more of the other one has been read than 100 bytes";
  EXPECT_EQ(cells.take(100), 3u);
  EXPECT_TRUE(cells.keep(3, 100));
  EXPECT_TRUE(cells.keep(2, 1000));
  EXPECT_EQ(cells.take(90), 3u) << "the other one is wanted for what is longer";
  EXPECT_EQ(cells.take(5000), 2u);
  EXPECT_TRUE(cells.keep(2, 1000));
  EXPECT_TRUE(cells.keep(3, 1000));
  EXPECT_EQ(cells.take(1000), 3u) << "of two that are alike, the last";
  EXPECT_NE(cells.take(100), 2u) << "none has been read of another one, which is nearer";
}

TEST(HandedCells, WhatIsNoCellOrIsHadAlreadyIsNotTaken) {
  HandedCells cells(0, 2, 2);
  for (int again = 0; again < 9; ++again)
    for (const unsigned cell : {0u, 1u, 2u, 4u, 31u, 32u, ~0u}) EXPECT_TRUE(cells.keep(cell, 1));
  std::multiset<unsigned> had;
  while (cells.has_one()) had.insert(cells.take(1));
  EXPECT_EQ(had, (std::multiset<unsigned>{0, 1, 2}));
}

TEST(HandedCells, KeepsNoMoreThanItMay) {
  HandedCells cells(0, 4, 8);
  for (unsigned cell = 8; cell < 32; ++cell) EXPECT_EQ(cells.keep(cell, 1), cell < HandedCells::kMost);
  EXPECT_TRUE(cells.keep(9, 1)) << "it has that one";
  EXPECT_EQ(cells.count(), HandedCells::kMost);
}

// However three sides send and read, one after the other: no cell has two owners, and none is lost.
TEST(HandedCells, EachHasOneOwner) {
  for (unsigned order = 0; order < 1u << 16; ++order) {
    HandedCells sides[] = {HandedCells(0, 3, 2), HandedCells(1, 3, 2), HandedCells(2, 3, 2)};
    for (unsigned step = 0; step < 16; step += 2) {
      const unsigned sender = (order >> step & 3) % 3;
      if (!sides[sender].has_one()) continue;
      const unsigned cell = sides[sender].take(step);
      EXPECT_TRUE(sides[(sender + 1 + (order >> 15)) % 3].keep(cell, step));
    }
    std::multiset<unsigned> all;
    for (HandedCells& side : sides)
      while (side.has_one()) all.insert(side.take(1));
    ASSERT_EQ(all, (std::multiset<unsigned>{0, 1, 2, 3, 4, 5})) << order;
  }
}

}  // namespace
}  // namespace lapwing
