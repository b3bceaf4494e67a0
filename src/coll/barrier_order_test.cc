#include "coll/barrier_order.h"

#include <gtest/gtest.h>

#include <set>

namespace lapwing::coll {
namespace {

using Way = BarrierOrder::Way;

TEST(BarrierOrder, FollowsWhatWasCalledAfterTheLastBarrier) {
  BarrierOrder order;
  EXPECT_EQ(order.now().way, Way::kTogether);
  order.called(Collective::kBarrier, 0);
  order.called(Collective::kBcast, 3);
  EXPECT_EQ(order.now().way, Way::kRootFirst);
  EXPECT_EQ(order.now().root, 3);
  order.called(Collective::kReduce, 2);
  EXPECT_EQ(order.now().root, 3) << "which was not the first call after a barrier";
  order.called(Collective::kBarrier, 0);
  EXPECT_EQ(order.now().way, Way::kRootFirst) << "before it is known what follows";
  order.called(Collective::kGatherv, 1);
  EXPECT_EQ(order.now().way, Way::kRootLast);
  EXPECT_EQ(order.now().root, 1);
  order.called(Collective::kBarrier, 0);
  order.called(Collective::kBarrier, 0);
  EXPECT_EQ(order.now().way, Way::kTogether);
}

TEST(BarrierOrder, HasAnotherNumberForEachOrder) {
  std::set<std::uint32_t> numbers{BarrierOrder::Order{}.number()};
  for (int root = 0; root < 100; ++root)
    for (const Way way : {Way::kRootFirst, Way::kRootLast}) numbers.insert(BarrierOrder::Order{way, root}.number());
  EXPECT_EQ(numbers.size(), 201u);
}

}  // namespace
}  // namespace lapwing::coll
