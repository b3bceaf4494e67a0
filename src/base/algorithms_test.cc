#include "base/algorithms.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/settings.h"

namespace lapwing {
namespace {

TEST(AlgorithmChoices, AreReadAndPrinted) {
  AlgorithmChoices choices;
  EXPECT_TRUE(AlgorithmChoices::parse("", choices));
  EXPECT_EQ(choices.print(), "");
  ASSERT_TRUE(AlgorithmChoices::parse("bcast=chain,allreduce=ring", choices));
  EXPECT_EQ(choices.of(CollectiveKind::kBcast, 8, 2), Algorithm::kChain);
  EXPECT_EQ(choices.of(CollectiveKind::kAllreduce, 8, 2), Algorithm::kRing);
  EXPECT_EQ(choices.of(CollectiveKind::kBarrier, 0, 2), Algorithm::kAutomatic);
  EXPECT_EQ(choices.print(), "bcast=chain,allreduce=ring");
}

TEST(AlgorithmChoices, CanBeForSomeBytesAndSomeRanks) {
  AlgorithmChoices choices;
  const auto of = [&](std::uint64_t bytes, int ranks) { return choices.of(CollectiveKind::kAllreduce, bytes, ranks); };
  ASSERT_TRUE(AlgorithmChoices::parse("allreduce:64k-1m:8=ring,allreduce::4-=halving,allreduce:-100=linear", choices));
  EXPECT_EQ(of(65536, 8), Algorithm::kRing);
  EXPECT_EQ(of(1 << 20, 8), Algorithm::kRing);
  EXPECT_EQ(of((1 << 20) + 1, 8), Algorithm::kHalving) << "the next one that applies";
  EXPECT_EQ(of(65536, 9), Algorithm::kHalving);
  EXPECT_EQ(of(100, 4), Algorithm::kHalving) << "the first one that applies";
  EXPECT_EQ(of(100, 3), Algorithm::kLinear);
  EXPECT_EQ(of(101, 3), Algorithm::kAutomatic);
  EXPECT_EQ(of(AlgorithmChoices::kUnknownBytes, 8), Algorithm::kHalving);
  EXPECT_EQ(of(AlgorithmChoices::kUnknownBytes, 3), Algorithm::kAutomatic);
  EXPECT_EQ(choices.print(), "allreduce:64k-1M:8=ring,allreduce::4-=halving,allreduce:-100=linear");
}

TEST(AlgorithmChoices, WhatIsNotInTheTableIsRefused) {
  AlgorithmChoices choices;
  ASSERT_TRUE(AlgorithmChoices::parse("bcast=chain", choices));
  for (const char* wrong :
       {"bcast", "bcast=", "=chain", "bcast=ring", "broadcast=chain", "bcast=chain,", ",bcast=chain", "bcast=chain,,",
        "bcast=automatic", "bcast=chain allreduce=ring", "barrier=area|linear", "bcast:=", "bcast:-=chain",
        "bcast:2-1=chain", "bcast:x=chain", "bcast:1:2:3=chain", "bcast:1-2-3=chain", "bcast:1::=chain", "bcast::k=chain"})
    EXPECT_FALSE(AlgorithmChoices::parse(wrong, choices)) << wrong;
  EXPECT_EQ(choices.print(), "bcast=chain") << "as before";
}

TEST(AlgorithmChoices, TheTableNamesAlgorithmsThatThereAre) {
  std::set<Algorithm> seen;
  for (int kind = 0; kind < static_cast<int>(CollectiveKind::kCount); ++kind) {
    const auto collective = static_cast<CollectiveKind>(kind);
    const std::string offered(algorithms_for(collective));
    for (std::size_t at = 0; at < offered.size();) {
      const std::size_t end = std::min(offered.find('|', at), offered.size());
      const std::string setting = std::string(name(collective)) + "=" + offered.substr(at, end - at);
      AlgorithmChoices choices;
      ASSERT_TRUE(AlgorithmChoices::parse(setting, choices)) << setting;
      EXPECT_EQ(choices.print(), setting);
      seen.insert(choices.of(collective, 0, 1));
      at = end + 1;
    }
  }
  int algorithms = 0;
#define LAPWING_ALGORITHM_NAME(enumerator, name, meaning) ++algorithms;
#include "base/algorithm_list.inc"
#undef LAPWING_ALGORITHM_NAME
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(algorithms)) << "each is of use";
}

TEST(AlgorithmChoices, AWrongSettingIsAnErrorThatListsTheKnownOnes) {
  char wrong[] = "LAPWING_ALGORITHM=bcast=ring";
  char* environment[] = {wrong, nullptr};
  Settings settings;
  const std::string text = settings.load(environment).text();
  EXPECT_NE(text.find("LAPWING_ALGORITHM='bcast=ring'"), std::string::npos) << text;
  EXPECT_NE(text.find("bcast=area|two_levels|linear|binomial|knomial|scatter_allgather|chain"), std::string::npos) << text;
  EXPECT_NE(text.find("reduce_scatter=area|doubling|halving|pairwise"), std::string::npos) << text;
}

}  // namespace
}  // namespace lapwing
