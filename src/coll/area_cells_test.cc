#include "coll/area_cells.h"

#include <gtest/gtest.h>

#include <set>

namespace lapwing::coll {
namespace {

TEST(AreaCells, OnlyTwoRanksHaveSome) {
  EXPECT_TRUE(AreaCells(0, 2).has_one_for(1));
  EXPECT_TRUE(AreaCells(1, 2).has_one_for(AreaCells::kBytes));
  EXPECT_FALSE(AreaCells(1, 2).has_one_for(AreaCells::kBytes + 1));
  for (const int ranks : {1, 3, 8}) EXPECT_FALSE(AreaCells(0, ranks).has_one_for(1)) << ranks;
}

TEST(AreaCells, ARankThatOnlyPostsSoonHasNone) {
  AreaCells cells(0, 2);
  std::set<unsigned> given;
  for (; cells.has_one_for(1); cells.keep_what_was_read()) given.insert(cells.take());
  EXPECT_EQ(given, (std::set<unsigned>{0, 1}));
}

TEST(AreaCells, WhatWasReadIsKeptWhenTheRankPostsNextAndGoesFirst) {
  AreaCells cells(1, 2);
  cells.read(0);
  EXPECT_NE(cells.take(), 0u) << "it may not have been read to the end";
  cells.keep_what_was_read();
  EXPECT_EQ(cells.take(), 0u);
}

TEST(AreaCells, WhatIsNoCellOrIsHadAlreadyIsNotTaken) {
  AreaCells cells(0, 2);
  for (int again = 0; again < 9; ++again) {
    for (const unsigned cell : {0u, 1u, 2u, 4u, 31u, 32u, ~0u}) cells.read(cell);
    cells.keep_what_was_read();
  }
  std::multiset<unsigned> had;
  while (cells.has_one_for(1)) had.insert(cells.take());
  EXPECT_EQ(had, (std::multiset<unsigned>{0, 1, 2}));
}

// However they post and read, one after the other: no cell has two owners, and none is lost.
TEST(AreaCells, EachHasOneOwner) {
  for (unsigned order = 0; order < 1u << 12; ++order) {
    AreaCells ranks[] = {AreaCells(0, 2), AreaCells(1, 2)};
    std::set<unsigned> under_way;
    for (unsigned step = 0; step < 12; ++step) {
      AreaCells &poster = ranks[order >> step & 1], &reader = ranks[1 - (order >> step & 1)];
      poster.keep_what_was_read();
      if (!poster.has_one_for(1)) continue;
      const unsigned cell = poster.take();
      EXPECT_TRUE(under_way.insert(cell).second);
      reader.read(cell);
      under_way.erase(cell);
    }
    std::multiset<unsigned> all;
    for (AreaCells& rank : ranks)
      for (rank.keep_what_was_read(); rank.has_one_for(1);) all.insert(rank.take());
    ASSERT_EQ(all, (std::multiset<unsigned>{0, 1, 2, 3})) << order;
  }
}

}  // namespace
}  // namespace lapwing::coll
