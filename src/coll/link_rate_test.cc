#include "coll/link_rate.h"

#include <gtest/gtest.h>

namespace lapwing::coll {
namespace {

constexpr std::uint64_t kShort = 512;

TEST(LinkRate, WhatCarriesLittleIsNotMeasured) {
  LinkRate rate;
  std::uint64_t carried = 0;
  for (; carried < LinkRate::kWorth; carried += kShort) EXPECT_FALSE(rate.is_due(false, kShort));
  EXPECT_TRUE(rate.is_due(false, 0));
}

TEST(LinkRate, TheFirstReductionThatDependsOnItIsMeasuredBefore) {
  LinkRate rate;
  EXPECT_FALSE(rate.is_due(true, LinkRate::kLeastReduced - 1));
  EXPECT_TRUE(rate.is_due(true, LinkRate::kLeastReduced));
}

TEST(LinkRate, ShortReductionsGoByTheJobsParametersForEver) {
  const model::Parameters& of_job = model::Parameters::defaults();
  LinkRate rate;
  EXPECT_EQ(&rate.parameters(of_job, false, 1 << 20), &of_job);
  rate.settle(of_job, 80);
  EXPECT_TRUE(rate.settled());
  EXPECT_EQ(&rate.parameters(of_job, true, LinkRate::kLeastReduced - 1), &of_job);
  EXPECT_EQ(&rate.parameters(of_job, true, LinkRate::kLeastReduced), rate.parameters());
  EXPECT_EQ(&rate.parameters(of_job, false, kShort), rate.parameters());
  EXPECT_EQ(rate.parameters()->link(model::LinkKind::kHosts).per_byte, 80);
  EXPECT_EQ(rate.parameters()->link(model::LinkKind::kShared).per_byte, of_job.link(model::LinkKind::kShared).per_byte);
}

TEST(LinkRate, AProcessorIsNotBusierThanTheLink) {
  LinkRate rate;
  rate.settle(model::Parameters::defaults(), 0.08);
  EXPECT_EQ(rate.parameters()->link(model::LinkKind::kHosts).overhead_per_byte, 0.08);
}

TEST(LinkRate, WhatIsMadeOfACommunicatorHasWhatItFound) {
  LinkRate parent, child, later;
  child.inherit(parent);
  EXPECT_FALSE(child.settled());
  parent.settle(model::Parameters::defaults(), 8);
  later.inherit(parent);
  EXPECT_TRUE(later.settled());
  EXPECT_EQ(later.parameters(), parent.parameters());
}

TEST(LinkRate, IsTakenForTheNearestThatLinksHave) {
  EXPECT_DOUBLE_EQ(LinkRate::usual(8.4), 8);
  EXPECT_DOUBLE_EQ(LinkRate::usual(7.1), 8);
  EXPECT_DOUBLE_EQ(LinkRate::usual(3.4), 3.2);
  EXPECT_DOUBLE_EQ(LinkRate::usual(0.85), 0.8);
  EXPECT_DOUBLE_EQ(LinkRate::usual(0.34), 0.32);
  EXPECT_DOUBLE_EQ(LinkRate::usual(90), 80);
  EXPECT_DOUBLE_EQ(LinkRate::usual(1e9), 8e3);
  EXPECT_GT(LinkRate::usual(0), 0);
}

}  // namespace
}  // namespace lapwing::coll
