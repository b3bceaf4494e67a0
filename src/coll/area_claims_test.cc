// Which communicator has which shared area, from its claim until it is given back.
#include "coll/area_pool_for_tests.h"

namespace lapwing::coll {
namespace {

using AreaClaimsTest = AreaPoolTest;

TEST_F(AreaClaimsTest, AreasAreClaimedOnceAndRunOut) {
  std::vector<bool> taken(AreaPool::kCount);
  for (unsigned i = 1; i < AreaPool::kCount; ++i) {
    const unsigned number = pool(static_cast<int>(i % kRanks)).claim({kKey});
    ASSERT_LT(number, AreaPool::kCount);
    EXPECT_NE(number, AreaPool::kWorld);
    EXPECT_FALSE(taken[number]);
    taken[number] = true;
  }
  EXPECT_EQ(pool(0).claim({kKey}), AreaPool::kNone);
  pool(2).give_back(17);
  EXPECT_EQ(pool(1).claim({kKey}), 17u);
}

TEST_F(AreaClaimsTest, OthersFindAnAreaByItsKeyUntilItIsGivenBack) {
  EXPECT_EQ(pool(1).find({kKey}), AreaPool::kNone);
  const unsigned first = pool(0).claim({kKey});
  const unsigned second = pool(2).claim({kKey + 1});
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(pool(rank).find({kKey}), first);
    EXPECT_EQ(pool(rank).find({kKey + 1}), second);
    EXPECT_EQ(pool(rank).find({kKey + 2}), AreaPool::kNone);
  }
  auto areas = open(first);
  areas.pop_back();
  EXPECT_EQ(pool(0).find({kKey}), first);
  areas.clear();  // the last member leaves
  EXPECT_EQ(pool(0).find({kKey}), AreaPool::kNone);
  pool(2).give_back(second);
  EXPECT_EQ(pool(0).find({kKey + 1}), AreaPool::kNone);
}

// By its claimant, which has not opened it.
TEST_F(AreaClaimsTest, AnAreaIsGivenBackOnlyWhereNoMemberHasOpenedIt) {
  const unsigned unused = pool(0).claim({kKey});
  EXPECT_TRUE(pool(0).retire(unused));
  EXPECT_FALSE(pool(1).take_part(unused, {kKey})) << "one that comes late";
  pool(0).give_back(unused);
  ASSERT_EQ(pool(0).claim({kKey + 1}), unused);
  EXPECT_FALSE(pool(1).take_part(unused, {kKey})) << "one that comes when it has another user";
  EXPECT_FALSE(pool(0).retire(unused)) << "and is taken for a member of that one";

  const unsigned used = pool(0).claim({kKey});
  EXPECT_TRUE(pool(1).take_part(used, {kKey}));
  EXPECT_TRUE(pool(2).take_part(used, {kKey}));
  EXPECT_FALSE(pool(0).retire(used));
}

TEST_F(AreaClaimsTest, MembersOnOneOfSeveralHostsClaimTheirsTogether) {
  const unsigned first = pool(1).find_or_claim({kKey});
  ASSERT_NE(first, AreaPool::kNone);
  EXPECT_EQ(pool(0).find_or_claim({kKey}), first);
  EXPECT_EQ(pool(2).find_or_claim({kKey}), first);
  EXPECT_NE(pool(2).find_or_claim({kKey + 1}), first);
  auto areas = open(first);
  areas.clear();
  EXPECT_EQ(pool(0).find({kKey}), AreaPool::kNone) << "the last one to leave has given it back";
}

TEST_F(AreaClaimsTest, WhatIsRefusedToOneMemberIsRefusedToAll) {
  for (std::uint64_t key = 1; pool(0).claim({key}) != AreaPool::kNone; ++key) ASSERT_LT(key, AreaPool::kCount);
  EXPECT_EQ(pool(1).find_or_claim({kKey}), AreaPool::kNone);
  pool(0).give_back(9);
  EXPECT_EQ(pool(2).find_or_claim({kKey}), AreaPool::kNone) << "another member uses messages";
  EXPECT_EQ(pool(2).find_or_claim({kKey + 1}), 9u);
}

TEST_F(AreaClaimsTest, EachPersistentOperationHasAnAreaOfItsOwn) {
  const unsigned communicator = pool(0).claim({kKey});
  const unsigned first = pool(0).find_or_claim({kKey, 1}), second = pool(1).find_or_claim({kKey, 2});
  EXPECT_NE(first, communicator);
  EXPECT_NE(second, communicator);
  EXPECT_NE(first, second);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(pool(rank).find({kKey}), communicator);
    EXPECT_EQ(pool(rank).find_or_claim({kKey, 1}), first);
    EXPECT_EQ(pool(rank).find_or_claim({kKey, 2}), second);
  }
  open(first).clear();
  EXPECT_EQ(pool(0).find({kKey, 1}), AreaPool::kNone) << "the last one to leave has given it back";
  EXPECT_EQ(pool(0).find({kKey, 2}), second);
}

TEST_F(AreaClaimsTest, PersistentOperationsLeaveAreasForCommunicators) {
  std::uint32_t made = 0;
  while (pool(0).find_or_claim({kKey, made + 1}) != AreaPool::kNone) ASSERT_LE(++made, AreaPool::kCount);
  EXPECT_EQ(made, AreaPool::kMostUsed);
  EXPECT_EQ(pool(1).find_or_claim({kKey, made + 1}), AreaPool::kNone);
  EXPECT_NE(pool(1).find_or_claim({kKey, 1}), AreaPool::kNone) << "that one has its area";
  EXPECT_NE(pool(1).claim({kKey}), AreaPool::kNone);
  EXPECT_NE(pool(1).find_or_claim({kKey + 1}), AreaPool::kNone);
}

TEST_F(AreaClaimsTest, SomeRanksOfAGroupHaveAnArea) {
  const auto members = group({{4}, {70}, {7}, {9}}, 2);
  const auto area = pool(1).open_area(3, *members, {0, 2});
  ASSERT_NE(area, nullptr);
  EXPECT_EQ(area->size(), 2);
  EXPECT_EQ(area->rank(), 1);
  EXPECT_EQ(area->rank_of(0), 0);
  EXPECT_EQ(area->rank_of(1), 2);
  EXPECT_EQ(pool(1).open_area(4, *members, {1, 2}), nullptr) << "one of them is on another host";
}

TEST_F(AreaClaimsTest, OnlyRanksOfThisHostMeet) {
  EXPECT_TRUE(pool(0).all_here(*group({{9}, {4}}, 0)));
  EXPECT_FALSE(pool(0).all_here(*group({{4}, {5}}, 0)));
  EXPECT_EQ(open(1, {{4}, {5}}, 0), nullptr);
  EXPECT_EQ(open(1, {{4}, {1000}}, 0), nullptr);
  EXPECT_EQ(open(AreaPool::kCount, {{4}, {7}}, 0), nullptr);
}

TEST_F(AreaClaimsTest, TheLastToLeaveGivesTheAreaBackAndItsRoundsGoOn) {
  const unsigned number = pool(0).claim({kKey});
  for (unsigned other = 0; pool(0).claim({kKey}) != AreaPool::kNone; ++other) ASSERT_LT(other, AreaPool::kCount);
  for (std::uint64_t use = 0; use < 3; ++use) {
    auto areas = open(number);
    for (auto& area : areas) EXPECT_EQ(area->take_rounds(5), use * 5);
    for (auto& area : areas) {
      EXPECT_EQ(pool(1).claim({kKey}), AreaPool::kNone);
      area.reset();
    }
    EXPECT_EQ(pool(1).claim({kKey}), number);
  }
}

}  // namespace
}  // namespace lapwing::coll
