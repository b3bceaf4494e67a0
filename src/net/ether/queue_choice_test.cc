#include "net/ether/queue_choice.h"

#include <gtest/gtest.h>

#include "base/processor_list.h"

namespace lapwing::net::ether::tests {
namespace {

ProcessorSet set_of(const char* list) {
  return set_of_processors(parse_processor_list(list));
}

// An entry for each queue: on which processors it is served; "": not known.
std::vector<QueueService> served_on(const std::vector<const char*>& lists) {
  std::vector<QueueService> services(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    services[i].processors = set_of(lists[i]);
    services[i].number = 40 + static_cast<int>(i);
    if (*lists[i] != '\0') services[i].by = QueueService::By::kInterrupt;
  }
  return services;
}

std::vector<std::uint32_t> order(const std::vector<const char*>& lists, const char* own, std::size_t count) {
  const QueueOrder order = order_queues(served_on(lists), set_of(own));
  EXPECT_EQ(order.own, count);
  return order.queues;
}

using Queues = std::vector<std::uint32_t>;

TEST(QueueChoice, IsTheQueueThatIsServedWhereTheRankRuns) {
  EXPECT_EQ(order({"0", "1", "2", "3"}, "2", 1), (Queues{2, 0, 1, 3}));
  EXPECT_EQ(order({"0", "1", "2", "3"}, "1-2", 2), (Queues{1, 2, 0, 3}));
  EXPECT_EQ(order({"0", "1"}, "0-7", 2), (Queues{0, 1}));
}

TEST(QueueChoice, IsAProcessorOfItsOwnBeforeASharedOne) {
  EXPECT_EQ(order({"0", "0", "1", "1"}, "0-1", 2), (Queues{0, 2, 1, 3}));
}

TEST(QueueChoice, LeavesToOthersWhatIsServedWhereTheyRun) {
  EXPECT_EQ(order({"0", "", "1"}, "1", 1), (Queues{2, 1, 0}));
  EXPECT_EQ(order({"", "", ""}, "0-1", 0), (Queues{0, 1, 2}));
}

struct Outcome {
  std::string processors, why;
};
Outcome outcome(const std::vector<const char*>& lists, std::uint32_t queue, const char* own) {
  Outcome result;
  result.processors = print_processor_list(processors_for(served_on(lists), queue, set_of(own), result.why));
  return result;
}

TEST(ProcessorsForAQueue, AreThoseThatServeIt) {
  EXPECT_EQ(outcome({"0", "1"}, 1, "0-1").processors, "1");
  EXPECT_EQ(outcome({"0", "1"}, 1, "0-1").why, "interrupt 41 serves it on 1");
  EXPECT_EQ(outcome({"0-3"}, 0, "2-5").processors, "2-3");
}

TEST(ProcessorsForAQueue, AreNoneOfOthers) {
  EXPECT_EQ(outcome({"0", "1"}, 1, "0,2").processors, "");
  EXPECT_EQ(outcome({"0", "1"}, 1, "0,2").why, "interrupt 41 serves it on 1, where this rank may not run");
}

TEST(ProcessorsForAQueue, StayAsTheyAreWhereNothingIsToBeWon) {
  EXPECT_EQ(outcome({"0", "1"}, 1, "1").why, "interrupt 41 serves it on 1, which is where this rank runs");
  EXPECT_EQ(outcome({"0", "0"}, 1, "0-1").why, "interrupt 41 serves it on 0, where queue 0 is served too");
  EXPECT_EQ(outcome({"", "0"}, 0, "0-1").why, "nothing tells which processors serve it");
  EXPECT_EQ(outcome({"0"}, 1, "0-1").why, "nothing tells which processors serve it");
  EXPECT_EQ(outcome({"0", "0"}, 1, "0-1").processors, "");
}

TEST(ProcessorsForAQueue, AreThoseOfAllThreads) {
  std::string text;
  const ProcessorSet before = processors_of(0);
  std::vector<QueueService> services(1);
  EXPECT_NE(stay_where_served(services, 0).find("nothing tells which processors serve it; it stays on processors "), std::string::npos);
  int first = 0;
  while (!before.test(first)) ++first;
  services[0].by = QueueService::By::kInterrupt;
  services[0].processors = set_of_processors({first});
  const std::string only = std::to_string(first);
  const std::string said = stay_where_served(services, 0);
  EXPECT_EQ(print_processor_list(processors_of(0)), only) << said;
  EXPECT_TRUE(bind_to_processors(0, before));
}

}  // namespace
}  // namespace lapwing::net::ether::tests
