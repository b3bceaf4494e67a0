#include "mpiexec/binding.h"

#include <gtest/gtest.h>

namespace lapwing::launch {
namespace {

// `cores` cores of two threads each, half of them on memory node 1, in pairs of one cache, all of one socket; thread t of
// core c is processor c + t * cores.
Machine machine_with(int cores) {
  Machine machine;
  for (int core = 0; core < cores; ++core) {
    machine.cores.push_back({0, core >= cores / 2 ? 1 : 0, core, {core, core + cores}, core / 2});
    machine.processors += 2;
  }
  return machine;
}

std::string plan_text(const std::vector<ProcessorSet>& plan) {
  std::string text;
  for (const ProcessorSet& set : plan) text += (text.empty() ? "" : " ") + print_processor_list(set);
  return text;
}

TEST(Binding, SharesTheCoresOut) {
  EXPECT_EQ(plan_text(plan_binding(machine_with(4), {BindPolicy::kShare}, 2)), "0-1,4-5 2-3,6-7");
  EXPECT_EQ(plan_text(plan_binding(machine_with(4), {BindPolicy::kShare}, 3)), "0,4 1,5 2-3,6-7");
  EXPECT_EQ(plan_text(plan_binding(machine_with(2), {BindPolicy::kShare}, 2)), "0,2 1,3");
}

TEST(Binding, EveryCoreHasAsManyOfTheRanksThatOutnumberThem) {
  EXPECT_EQ(plan_text(plan_binding(machine_with(2), {BindPolicy::kShare}, 6)), "0,2 1,3 0,2 1,3 0,2 1,3");
  EXPECT_EQ(plan_binding(machine_with(4), {BindPolicy::kShare}, 12).size(), 12u);
  EXPECT_TRUE(plan_binding(machine_with(2), {BindPolicy::kShare}, 5).empty());
  EXPECT_TRUE(plan_binding(machine_with(2), {BindPolicy::kShare}, 4).empty()) << "there is a hardware thread for each";
  Machine limited = machine_with(8);
  limited.cpu_quota = 2;
  EXPECT_TRUE(plan_binding(limited, {BindPolicy::kShare}, 16).empty());
}

TEST(Binding, TellsWhetherRanksHaveProcessorsOfTheirOwn) {
  EXPECT_FALSE(shares_processors({}));
  EXPECT_FALSE(shares_processors(plan_binding(machine_with(4), {BindPolicy::kShare}, 3)));
  EXPECT_TRUE(shares_processors(plan_binding(machine_with(2), {BindPolicy::kShare}, 6)));
  EXPECT_TRUE(shares_processors(plan_binding(machine_with(4), {BindPolicy::kSocket}, 2)));
}

TEST(Binding, LeavesOneRankAlone) {
  EXPECT_TRUE(plan_binding(machine_with(4), {BindPolicy::kShare}, 1).empty());
}

TEST(Binding, NeverBindsWhenCoresWouldHaveUnequalNumbersOfRanks) {
  for (const BindPolicy policy : {BindPolicy::kShare, BindPolicy::kCore, BindPolicy::kNode}) {
    EXPECT_TRUE(plan_binding(machine_with(2), {policy}, 3).empty());
    EXPECT_TRUE(plan_binding(Machine(), {policy}, 1).empty());
  }
}

TEST(Binding, LeavesAQuotaToTheScheduler) {
  Machine machine = machine_with(8);
  machine.cpu_quota = 3.5;
  EXPECT_EQ(machine.usable_cores(), 3);
  EXPECT_TRUE(plan_binding(machine, {BindPolicy::kShare}, 2).empty());
  EXPECT_EQ(plan_binding(machine, {BindPolicy::kCore}, 2).size(), 2u);
}

TEST(Binding, BindsAsAsked) {
  EXPECT_EQ(plan_text(plan_binding(machine_with(4), {BindPolicy::kCore}, 2)), "0,4 1,5");
  EXPECT_EQ(plan_text(plan_binding(machine_with(4), {BindPolicy::kNode}, 2)), "0-1,4-5 2-3,6-7");
  EXPECT_TRUE(plan_binding(machine_with(4), {BindPolicy::kNone}, 2).empty());
}

Binding parsed(const std::string& bind_to, const std::string& map_by) {
  Binding binding;
  EXPECT_TRUE(bind_to.empty() || parse_bind_to(bind_to, binding).ok()) << bind_to;
  EXPECT_TRUE(map_by.empty() || parse_map_by(map_by, binding).ok()) << map_by;
  return binding;
}

std::string plan_text(int cores, const std::string& bind_to, const std::string& map_by, int ranks) {
  return plan_text(plan_binding(machine_with(cores), parsed(bind_to, map_by), ranks));
}

TEST(Binding, BindsToUnitsAroundTheHome) {
  EXPECT_EQ(plan_text(8, "numa", "", 2), "0-3,8-11 4-7,12-15");
  EXPECT_EQ(plan_text(8, "l3cache", "", 4), "0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15");
  EXPECT_EQ(plan_text(8, "socket", "", 2), "0-15 0-15");
  EXPECT_EQ(plan_text(4, "hwthread", "", 2), "0 1");
  EXPECT_EQ(plan_text(2, "hwthread", "", 4), "0 2 1 3");
  EXPECT_EQ(plan_text(2, "hwthread", "hwthread", 2), "0 2");
  EXPECT_EQ(plan_text(8, "core:2", "", 2), "0-1,8-9 2-3,10-11");
}

TEST(Binding, GoesRoundTheUnits) {
  EXPECT_EQ(plan_text(8, "core", "numa", 4), "0,8 4,12 1,9 5,13");
  EXPECT_EQ(plan_text(8, "", "numa", 3), "0-3,8-11 4-7,12-15 0-3,8-11");
  EXPECT_EQ(plan_text(8, "core", "ppr:2:numa", 4), "0,8 1,9 4,12 5,13");
  EXPECT_EQ(plan_text(8, "", "slot:PE=2", 2), "0-1,8-9 2-3,10-11");
  EXPECT_EQ(plan_text(8, "core", ":oversubscribe", 2), "0,8 1,9");
  EXPECT_EQ(plan_text(8, "core", "numa:pe=2", 4), "0-1,8-9 4-5,12-13 2-3,10-11 6-7,14-15");
}

TEST(Binding, FillsCoresAndTheirThreads) {
  EXPECT_EQ(plan_text(2, "", "ppr:2:core", 4), "0,2 0,2 1,3 1,3");
  EXPECT_EQ(plan_text(4, "", "ppr:2:core", 3), "0,4 0,4 1,5");
  EXPECT_EQ(plan_text(4, "", "ppr:1:core", 2), "0,4 1,5");
  EXPECT_EQ(plan_text(4, "numa", "ppr:2:core", 3), "0-1,4-5 0-1,4-5 0-1,4-5");
  EXPECT_EQ(plan_text(4, "hwthread", "ppr:2:core", 3), "0 4 1");
  EXPECT_EQ(plan_text(2, "", "ppr:2:hwthread", 3), "0 0 2");
  EXPECT_EQ(plan_text(2, "", "ppr:2:core", 5), "");
  EXPECT_EQ(plan_text(2, "hwthread", "ppr:3:core", 3), "");
}

bool oversubscribed(const std::string& bind_to, const std::string& map_by, int ranks) {
  const Machine machine = machine_with(4);
  const Binding binding = parsed(bind_to, map_by);
  return is_oversubscribed(machine, binding, plan_binding(machine, binding, ranks), ranks);
}

TEST(Binding, RanksThatFillCoresTakeTurns) {
  EXPECT_TRUE(oversubscribed("", "ppr:2:core", 2)) << "on one core, however many there are";
  EXPECT_TRUE(oversubscribed("", "ppr:2:core", 8));
  EXPECT_FALSE(oversubscribed("hwthread", "ppr:2:core", 8));
  EXPECT_FALSE(oversubscribed("none", "ppr:2:core", 2));
  EXPECT_FALSE(oversubscribed("numa", "ppr:2:core", 2));
  EXPECT_FALSE(oversubscribed("socket", "", 2));
  EXPECT_TRUE(oversubscribed("none", "", 5));
}

TEST(Binding, LeavesWhatDoesNotFit) {
  EXPECT_EQ(plan_text(8, "core", "ppr:1:numa", 3), "");
  EXPECT_EQ(plan_text(8, "core:4", "", 3), "");
  EXPECT_EQ(plan_text(2, "hwthread", "", 5), "");
}

TEST(Binding, RefusesUnknownWords) {
  Binding binding;
  for (const char* text : {"", "slot", "user:0+2,1", "core:x", "l1cache"})
    EXPECT_FALSE(parse_bind_to(text, binding).ok());
  for (const char* text : {"", "ppr:2", "ppr:0:socket", "ppr:2:slot", "rankfile"}) EXPECT_FALSE(parse_map_by(text, binding).ok());
}

}  // namespace
}  // namespace lapwing::launch
