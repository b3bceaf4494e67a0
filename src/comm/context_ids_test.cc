#include "comm/context_ids.h"

#include <gtest/gtest.h>

#include <set>

#include "comm/communicator.h"

namespace lapwing::comm {
namespace {

constexpr std::uint64_t kPlanes =
    3 | static_cast<std::uint64_t>(Plane::kPartitionedSetup) | static_cast<std::uint64_t>(Plane::kPartitioned);

TEST(ContextIds, DifferByJobRankAndCall) {
  std::set<std::uint64_t> ids = {ContextIds::kWorld, ContextIds::kSelf, ContextIds::kProcesses};
  const std::uint32_t ranks[] = {0, 1, ContextIds::kMostRanks - 1};
  for (const unsigned job : {0u, 1u, ContextIds::kJobs - 1}) {
    for (const std::uint32_t rank : ranks) {
      ContextIds maker(job, rank);
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(ids.insert(maker.take()).second);
    }
  }
}

// The last rank of the last job, too, leaves them alone.
TEST(ContextIds, LeaveTheBitsOfPlanesAlone) {
  ContextIds maker(ContextIds::kJobs - 1, ContextIds::kMostRanks - 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(maker.take() & kPlanes, 0u);
}

}  // namespace
}  // namespace lapwing::comm
