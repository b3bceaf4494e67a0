#include "mpiexec/binding.h"

#include <gtest/gtest.h>

namespace lapwing::launch {
namespace {

// `cores` cores of two threads each, half of them on memory node 1; thread t of core c is processor c + t * cores.
Machine machine_with(int cores) {
  Machine machine;
  for (int core = 0; core < cores; ++core) {
    machine.cores.push_back({0, core >= cores / 2 ? 1 : 0, core, {core, core + cores}});
    machine.processors += 2;
  }
  return machine;
}

std::string plan_text(const std::vector<cpu_set_t>& plan) {
  std::string text;
  for (const cpu_set_t& set : plan) text += (text.empty() ? "" : " ") + print_processor_list(set);
  return text;
}

TEST(Binding, SharesTheCoresOut) {
  EXPECT_EQ(plan_text(plan_binding(machine_with(4), BindPolicy::kShare, 2)), "0-1,4-5 2-3,6-7");
  EXPECT_EQ(plan_text(plan_binding(machine_with(4), BindPolicy::kShare, 3)), "0,4 1,5 2-3,6-7");
  EXPECT_EQ(plan_text(plan_binding(machine_with(2), BindPolicy::kShare, 2)), "0,2 1,3");
}

TEST(Binding, LeavesOneRankAlone) {
  EXPECT_TRUE(plan_binding(machine_with(4), BindPolicy::kShare, 1).empty());
}

TEST(Binding, NeverBindsWhenRanksOutnumberCores) {
  for (const BindPolicy policy : {BindPolicy::kShare, BindPolicy::kCore, BindPolicy::kNode}) {
    EXPECT_TRUE(plan_binding(machine_with(2), policy, 3).empty());
    EXPECT_TRUE(plan_binding(Machine(), policy, 1).empty());
  }
}

TEST(Binding, LeavesAQuotaToTheScheduler) {
  Machine machine = machine_with(8);
  machine.cpu_quota = 3.5;
  EXPECT_EQ(machine.usable_cores(), 3);
  EXPECT_TRUE(plan_binding(machine, BindPolicy::kShare, 2).empty());
  EXPECT_EQ(plan_binding(machine, BindPolicy::kCore, 2).size(), 2u);
}

TEST(Binding, BindsAsAsked) {
  EXPECT_EQ(plan_text(plan_binding(machine_with(4), BindPolicy::kCore, 2)), "0,4 1,5");
  EXPECT_EQ(plan_text(plan_binding(machine_with(4), BindPolicy::kNode, 2)), "0-1,4-5 2-3,6-7");
  EXPECT_TRUE(plan_binding(machine_with(4), BindPolicy::kNone, 2).empty());
}

TEST(ProcessorList, IsReadAsLinuxWritesIt) {
  EXPECT_EQ(parse_processor_list("0-2,5\n"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(parse_processor_list(""), std::vector<int>());
  EXPECT_EQ(parse_processor_list("x,3,4-,99999999"), std::vector<int>{3});
}

}  // namespace
}  // namespace lapwing::launch
