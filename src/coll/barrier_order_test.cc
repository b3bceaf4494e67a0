#include "coll/barrier_order.h"

#include <gtest/gtest.h>

#include <set>

namespace lapwing::coll {
namespace {

using Way = BarrierOrder::Way;

constexpr int kRanks = 5;

TEST(BarrierOrder, FollowsWhatWasCalledAfterTheLastBarrier) {
  BarrierOrder order;
  EXPECT_EQ(order.now().way, Way::kTogether);
  order.called(Collective::kBarrier, 0, kRanks);
  order.called(Collective::kBcast, 3, kRanks);
  EXPECT_EQ(order.now().way, Way::kRootFirst);
  EXPECT_EQ(order.now().root, 3);
  order.called(Collective::kReduce, 2, kRanks);
  EXPECT_EQ(order.now().root, 3) << "which was not the first call after a barrier";
  order.called(Collective::kBarrier, 0, kRanks);
  EXPECT_EQ(order.now().way, Way::kRootFirst) << "before it is known what follows";
  order.called(Collective::kGatherv, 1, kRanks);
  EXPECT_EQ(order.now().way, Way::kRootLast);
  EXPECT_EQ(order.now().root, 1);
  order.called(Collective::kBarrier, 0, kRanks);
  order.called(Collective::kBarrier, 0, kRanks);
  EXPECT_EQ(order.now().way, Way::kTogether);
}

// Of a call after each barrier.
int next_root(BarrierOrder& order, Collective what, int root) {
  order.called(Collective::kBarrier, 0, kRanks);
  order.called(what, root, kRanks);
  return order.now().root;
}

TEST(BarrierOrder, ExpectsRootsThatGoAround) {
  BarrierOrder order;
  EXPECT_EQ(next_root(order, Collective::kScatter, 3), 3);
  EXPECT_EQ(next_root(order, Collective::kScatter, 4), 0) << "one further on than the last";
  EXPECT_EQ(next_root(order, Collective::kScatter, 0), 1) << "around the end";
  EXPECT_EQ(next_root(order, Collective::kScatter, 4), 3) << "backwards";
  EXPECT_EQ(next_root(order, Collective::kScatter, 4), 4) << "and stays where it is";
  EXPECT_EQ(next_root(order, Collective::kScatterv, 1), 3) << "of calls that wait for their root alike";
  EXPECT_EQ(next_root(order, Collective::kReduce, 2), 2) << "of which the one before waited otherwise";
}

TEST(BarrierOrder, HasAnotherNumberForEachOrder) {
  std::set<std::uint32_t> numbers{BarrierOrder::Order{}.number()};
  for (int root = 0; root < 100; ++root)
    for (const Way way : {Way::kRootFirst, Way::kRootLast}) numbers.insert(BarrierOrder::Order{way, root}.number());
  EXPECT_EQ(numbers.size(), 201u);
}

}  // namespace
}  // namespace lapwing::coll
