#include "coll/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/tuning.h"
#include "coll/algorithms.h"

namespace lapwing::coll {
namespace {

// Between hosts whose way holds 40 KB: less than a port takes.
Situation between_hosts(const model::Parameters& parameters, int ranks) {
  Situation team;
  team.ranks = ranks;
  team.link = model::LinkKind::kHosts;
  team.parameters = &parameters;
  return team;
}
model::Parameters parameters_of(double latency, double overhead, double per_byte) {
  model::Parameters parameters = model::Parameters::defaults();
  parameters.link(model::LinkKind::kHosts) = {latency, overhead, overhead, per_byte, 0};
  return parameters;
}
const model::Parameters kUsual = parameters_of(10'000, 5'000, 1);

struct UnderWay {
  std::size_t receives = 0, sends = 0;
  std::uint64_t received = 0, sent = 0;  // bytes
};

// The most that a rank has under way at once when its steps end in any order.
UnderWay most_under_way(Schedule& schedule, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> waits_for;
  std::vector<StepId> ready;
  for (const Step& step : schedule.steps()) waits_for.push_back(step.waits_for);
  for (StepId id = 0; id < waits_for.size(); ++id)
    if (waits_for[id] == 0) ready.push_back(id);
  UnderWay most;
  while (!ready.empty()) {
    UnderWay now;
    for (const StepId id : ready) {
      const Step& step = schedule.steps()[id];
      if (step.is<ReceiveStep>()) ++now.receives, now.received += message_of(step).data.bytes();
      if (step.is<SendStep>()) ++now.sends, now.sent += message_of(step).data.bytes();
    }
    most = {std::max(most.receives, now.receives), std::max(most.sends, now.sends),
            std::max(most.received, now.received), std::max(most.sent, now.sent)};
    const std::size_t which = random() % ready.size();
    const StepId ended = ready[which];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(which));
    const Step& step = schedule.steps()[ended];
    for (std::uint32_t i = 0; i < step.followers; ++i) {
      const StepId next = schedule.followers(step)[i];
      if (--waits_for[next] == 0) ready.push_back(next);
    }
  }
  return most;
}

constexpr int kRanks = 16;

Blocks blocks_of(std::uint64_t bytes) {
  static std::vector<std::byte> memory(kRanks << 20);
  return uniform_blocks(memory.data(), bytes, *datatype::resolve(MPI_BYTE), kRanks);
}
Block block_of(std::uint64_t bytes) { return blocks_of(bytes).front(); }

void set(Schedule& schedule, int rank, const Situation& team) {
  schedule.set_team(comm::Plane::kCollective, rank, team.ranks);
  schedule.set_situation(team);
}

UnderWay gather_at_root(std::uint64_t bytes, const Situation& team, unsigned seed) {
  Schedule schedule;
  set(schedule, 0, team);
  gather_linear(schedule, block_of(bytes), blocks_of(bytes), 0);
  schedule.seal();
  return most_under_way(schedule, seed);
}

class WindowTest : public testing::TestWithParam<unsigned> {};

TEST_P(WindowTest, AGatherBetweenHostsHasSoManyBytesUnderWayAsAPortTakes) {
  const Situation team = between_hosts(kUsual, kRanks);
  const UnderWay some = gather_at_root(32 * 1024, team, GetParam());
  EXPECT_EQ(some.received, tuning().coll_port_bytes);
  const UnderWay longer = gather_at_root(tuning().coll_port_bytes, team, GetParam());
  EXPECT_EQ(longer.receives, 2U) << "or the port would be idle between two";
}

TEST_P(WindowTest, AnAllToAllDoesSoInBothDirections) {
  Schedule schedule;
  set(schedule, 3, between_hosts(kUsual, kRanks));
  alltoall_pairwise(schedule, blocks_of(64 * 1024), blocks_of(64 * 1024));
  schedule.seal();
  const UnderWay most = most_under_way(schedule, GetParam());
  EXPECT_EQ(most.received, tuning().coll_port_bytes);
  EXPECT_EQ(most.sent, tuning().coll_port_bytes);
}

TEST_P(WindowTest, BlocksOfDifferentLengthShareIt) {
  Schedule schedule;
  set(schedule, 0, between_hosts(kUsual, kRanks));
  Blocks all;
  for (std::uint64_t i = 0; i < kRanks; ++i) all.push_back(block_of((i * 7 % 5 + 1) * 10'000));
  gather_linear(schedule, Block{}, all, 0);
  schedule.seal();
  EXPECT_LE(most_under_way(schedule, GetParam()).received, tuning().coll_port_bytes);
}

INSTANTIATE_TEST_SUITE_P(Orders, WindowTest, testing::Range(0U, 5U));

TEST(Window, TakesWhatTheWayHoldsWhereThatIsMore) {
  const model::Parameters fast = parameters_of(10'000, 5'000, 0.1);  // 400 KB while the next message is asked for
  EXPECT_EQ(gather_at_root(100'000, between_hosts(fast, kRanks), 1).received, 400'000U);
}

TEST(Window, InsideAHostOnlyTheNumberIsBounded) {
  Situation team = between_hosts(kUsual, kRanks);
  team.link = model::LinkKind::kShared;
  EXPECT_EQ(gather_at_root(1 << 20, team, 1).receives, static_cast<std::size_t>(kRanks) - 1);
}

TEST(Window, RanksOfAHostShareItsPort) {
  const auto levels = Levels::make({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}, 0);
  Situation team = between_hosts(kUsual, kRanks);
  team.levels = levels.get();
  EXPECT_EQ(gather_at_root(8 * 1024, team, 1).received, tuning().coll_port_bytes / 4);
}

// The sender of a gather decides by what it knows: its own block's length.
bool waits_for_the_root(std::uint64_t bytes, const Situation& team) {
  Schedule schedule;
  set(schedule, 1, team);
  gather_linear(schedule, block_of(bytes), {}, 0);
  return schedule.steps().front().as<SendStep>().rendezvous;
}

// Whether they are between hosts is for the request to say.
TEST(Window, AnAllToAllSendsUnasked) {
  Schedule schedule;
  set(schedule, 0, between_hosts(kUsual, kRanks));
  alltoall_pairwise(schedule, blocks_of(256 * 1024), blocks_of(256 * 1024));
  for (const Step& step : schedule.steps()) {
    if (step.is<SendStep>()) {
      EXPECT_TRUE(step.as<SendStep>().unasked);
      EXPECT_FALSE(step.as<SendStep>().rendezvous);
    }
  }
}

TEST(Window, SendersAreAskedWhereAllTogetherAreMoreThanAPortTakes) {
  const std::uint64_t share = tuning().coll_port_bytes / (kRanks - 1);
  EXPECT_FALSE(waits_for_the_root(share, between_hosts(kUsual, kRanks)));
  EXPECT_TRUE(waits_for_the_root(2 * share, between_hosts(kUsual, kRanks)));
  EXPECT_FALSE(waits_for_the_root(2 * share, between_hosts(kUsual, kRanks / 2)));
  EXPECT_FALSE(waits_for_the_root(tuning().coll_least_asked - 1, between_hosts(kUsual, 1 << 20))) << "short ones never";
  Situation on_one_host = between_hosts(kUsual, kRanks);
  on_one_host.link = model::LinkKind::kLocalTcp;
  EXPECT_FALSE(waits_for_the_root(2 * share, on_one_host));
}

}  // namespace
}  // namespace lapwing::coll
