#include "mpiexec/queue_binding.h"

#include <gtest/gtest.h>

namespace lapwing::launch {
namespace {

// Cores of two threads each; thread t of core c is processor c + t * cores.
Machine machine_with(int cores) {
  Machine machine;
  for (int core = 0; core < cores; ++core) machine.cores.push_back({0, 0, core, {core, core + cores}, 0});
  machine.processors = 2 * cores;
  return machine;
}

QueueSets served_on(const std::vector<const char*>& lists) {
  QueueSets queues;
  queues.interface = "eth0";
  for (const char* list : lists) queues.served.push_back(set_of_processors(parse_processor_list(list)));
  return queues;
}

std::string plan_text(int cores, const std::vector<const char*>& lists, int ranks) {
  std::vector<std::string> places;
  const std::vector<ProcessorSet> plan = plan_queue_binding(machine_with(cores), served_on(lists), ranks, places);
  EXPECT_EQ(places.size(), plan.size());
  std::string text;
  for (std::size_t rank = 0; rank < plan.size(); ++rank) {
    text += (text.empty() ? "" : "; ") + print_processor_list(plan[rank]) + (places[rank].empty() ? "" : " " + places[rank]);
  }
  return text;
}

TEST(QueueBinding, IsToTheProcessorOfTheQueue) {
  EXPECT_EQ(plan_text(4, {"3", "1"}, 2), "3 receive queue 0 of eth0; 1 receive queue 1 of eth0");
  EXPECT_EQ(plan_text(4, {"3", "1"}, 1), "3 receive queue 0 of eth0");
}

TEST(QueueBinding, LeavesTheOthersTheOtherCores) {
  EXPECT_EQ(plan_text(4, {"1"}, 3), "1 receive queue 0 of eth0; 0,4; 2,6");
  EXPECT_EQ(plan_text(4, {"5", ""}, 4), "5 receive queue 0 of eth0; 0,4; 2,6; 3,7");
}

TEST(QueueBinding, CountsQueuesOfOneProcessorOnce) {
  EXPECT_EQ(plan_text(4, {"0", "0", "1"}, 3), "0 receive queue 0, 1 of eth0; 1 receive queue 2 of eth0; 2,6");
}

TEST(QueueBinding, IsNotToBeHadWhereNothingIsKnownOrNoRoomIs) {
  EXPECT_EQ(plan_text(4, {"", ""}, 2), "");
  EXPECT_EQ(plan_text(4, {"0-7"}, 2), "") << "all serve it";
  EXPECT_EQ(plan_text(4, {"99"}, 2), "") << "a processor that this job may not use";
  EXPECT_EQ(plan_text(2, {"0", "1"}, 3), "") << "more ranks than cores";
  EXPECT_EQ(plan_text(4, {"0-2"}, 3), "") << "too few cores for the others";
}

TEST(QueueBinding, SaysWhyThereAreNone) {
  std::string transports = "LAPWING_TRANSPORTS=self,shm,tcp";
  char* environment[] = {transports.data(), nullptr};
  EXPECT_EQ(read_queue_sets(environment).why, "LAPWING_TRANSPORTS does not name ether, so ranks have no receive queues");
  transports = "LAPWING_TRANSPORTS=ether,tcp";
  std::string interface = "LAPWING_ETHER_INTERFACE=none7";
  char* wrong[] = {transports.data(), interface.data(), nullptr};
  EXPECT_NE(read_queue_sets(wrong).why.find("LAPWING_ETHER_INTERFACE names no Ethernet interface that is up"), std::string::npos);
}

}  // namespace
}  // namespace lapwing::launch
