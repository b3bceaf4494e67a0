#include "mpiexec/hang_report.h"

#include <gtest/gtest.h>

namespace lapwing::launch {
namespace {

using wire::HangItem;
using wire::HangWait;
using Standing = RankView::Standing;

HangItem receive(std::vector<int> awaited, bool any = false) {
  HangItem item;
  item.kind = HangItem::Kind::kReceive;
  item.peer = any ? HangItem::kAny : awaited.front();
  item.tag = 7;
  item.communicator = "MPI_COMM_WORLD";
  item.context = 4;
  item.bytes = 8;
  item.any = any;
  item.awaited = std::move(awaited);
  item.state = "no message yet";
  return item;
}

HangItem collective(const char* what, int number, std::vector<int> awaited) {
  HangItem item;
  item.kind = HangItem::Kind::kCollective;
  item.what = what;
  item.communicator = "MPI_COMM_WORLD";
  item.context = 4;
  item.number = number;
  item.awaited = std::move(awaited);
  return item;
}

RankView waits(const char* call, std::vector<HangItem> items, bool any = false, std::int64_t age_ms = 2000) {
  RankView rank;
  rank.standing = Standing::kAnswered;
  rank.process = 100;
  rank.report.waits.push_back({call, age_ms, any, std::move(items)});
  return rank;
}

RankView computes() {
  RankView rank;
  rank.standing = Standing::kAnswered;
  return rank;
}

std::vector<int> cycle_of(const std::vector<RankView>& ranks) {
  return find_cycle(ranks, find_deadlocked(ranks));
}

bool says(const std::vector<RankView>& ranks, const std::string& text) {
  return describe_hang(ranks).find(text) != std::string::npos;
}

TEST(HangGraph, TwoThatWaitForEachOtherAreACycle) {
  const std::vector<RankView> ranks{waits("MPI_Recv", {receive({1})}), waits("MPI_Recv", {receive({0})})};
  EXPECT_EQ(cycle_of(ranks), (std::vector<int>{0, 1}));
  EXPECT_TRUE(says(ranks, "rank 0 waits for rank 1 (MPI_Recv tag 7), rank 1 waits for rank 0 (MPI_Recv tag 7): a cycle"));
}

TEST(HangGraph, ARankCanWaitForItself) {
  const std::vector<RankView> ranks{waits("MPI_Recv", {receive({0})})};
  EXPECT_EQ(cycle_of(ranks), std::vector<int>{0});
  EXPECT_TRUE(says(ranks, "rank 0 waits for itself"));
}

TEST(HangGraph, NothingIsConcludedWhereSomebodyComputes) {
  const std::vector<RankView> ranks{waits("MPI_Recv", {receive({1})}), waits("MPI_Recv", {receive({2})}), computes()};
  EXPECT_EQ(find_deadlocked(ranks), (std::vector<bool>{false, false, false}));
  EXPECT_TRUE(says(ranks, "rank 1 waits for rank 2, which is not in a call that waits"));
}

TEST(HangGraph, NothingIsConcludedFromYoungWaitsOrMovingBytes) {
  std::vector<RankView> ranks{waits("MPI_Recv", {receive({1})}), waits("MPI_Recv", {receive({0})}, false, kYoungWaitMs - 1)};
  EXPECT_TRUE(cycle_of(ranks).empty());
  ranks[1].report.waits[0].age_ms = kYoungWaitMs;
  EXPECT_FALSE(cycle_of(ranks).empty());
  ranks[1].report.waits[0].items[0].moving = true;
  EXPECT_TRUE(cycle_of(ranks).empty());
}

// A wait for all is as stuck as its worst item, a wait for any as its best.
TEST(HangGraph, WaitsForAllAndForAny) {
  const std::vector<HangItem> both{receive({1}), receive({2})};
  std::vector<RankView> ranks{waits("MPI_Waitall", both), waits("MPI_Recv", {receive({0})}), computes()};
  EXPECT_EQ(cycle_of(ranks), (std::vector<int>{0, 1}));
  ranks[0] = waits("MPI_Waitany", both, true);
  EXPECT_TRUE(cycle_of(ranks).empty());
  ranks[2] = waits("MPI_Recv", {receive({0})});
  EXPECT_EQ(find_deadlocked(ranks), (std::vector<bool>{true, true, true}));
}

TEST(HangGraph, AMessageFromAnyRankNeedsOneThatCanSend) {
  std::vector<RankView> ranks{waits("MPI_Recv", {receive({0, 1, 2}, true)}), waits("MPI_Recv", {receive({0})}), computes()};
  EXPECT_TRUE(cycle_of(ranks).empty());
  ranks[2] = waits("MPI_Recv", {receive({1})});
  EXPECT_EQ(find_deadlocked(ranks), (std::vector<bool>{true, true, true}));
  EXPECT_FALSE(cycle_of(ranks).empty());
}

TEST(HangGraph, AnotherThreadMayCome) {
  std::vector<RankView> ranks{waits("MPI_Recv", {receive({1})}), waits("MPI_Recv", {receive({0})})};
  ranks[0].report.waits.push_back({"MPI_Recv", 2000, false, {receive({0, 1}, true)}});
  EXPECT_FALSE(cycle_of(ranks).empty());
  ranks[0].report.waits.push_back({"MPI_Wait", 2000, false, {HangItem()}});  // a generalized request: the program's own
  EXPECT_TRUE(cycle_of(ranks).empty());
}

TEST(HangGraph, RanksBehindACycleAreNamed) {
  const std::vector<RankView> ranks{waits("MPI_Recv", {receive({1})}), waits("MPI_Recv", {receive({2})}),
                                    waits("MPI_Ssend", {receive({1})})};
  EXPECT_EQ(cycle_of(ranks), (std::vector<int>{1, 2}));
  EXPECT_TRUE(says(ranks, "rank 0 can go on only when one of these does"));
}

TEST(HangGraph, AFenceWaitsForAllThatAreNotInIt) {
  std::vector<RankView> ranks{computes(), waits("MPI_Recv", {receive({0})})};
  ranks[0].in_fence = true;
  EXPECT_EQ(cycle_of(ranks), (std::vector<int>{0, 1}));
  EXPECT_TRUE(says(ranks, "rank 0 waits for rank 1 (MPI_Finalize), rank 1 waits for rank 0 (MPI_Recv tag 7)"));
}

// What a rank says is of another process: numbers of ranks that do not exist mean nothing.
TEST(HangGraph, RanksThatDoNotExistHoldNobodyUp) {
  const std::vector<RankView> ranks{waits("MPI_Recv", {receive({99})}), waits("MPI_Recv", {receive({2000000000})})};
  EXPECT_TRUE(cycle_of(ranks).empty());
  EXPECT_FALSE(describe_hang(ranks).empty());
}

TEST(HangText, RanksOfWhichTheSameIsToBeSaidAreToldTogether) {
  std::vector<RankView> ranks(5, waits("MPI_Barrier", {collective("MPI_Barrier", 3, {4})}));
  ranks[2].report.waits[0].age_ms = 3500;
  ranks[4] = computes();
  const std::string text = describe_hang(ranks);
  EXPECT_NE(text.find("ranks 0-3: in MPI_Barrier for 2.0 to 3.5 s: MPI_COMM_WORLD, the collective number 3 there; waits for rank 4\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("ranks 0-3 wait for rank 4, which is not in a call that waits"), std::string::npos) << text;
}

TEST(HangText, MismatchedCollectivesAreNamed) {
  std::vector<RankView> ranks{waits("MPI_Barrier", {collective("MPI_Barrier", 3, {1})}),
                              waits("MPI_Bcast", {collective("MPI_Bcast", 3, {0})})};
  ranks[1].report.waits[0].items[0].root = 0;
  EXPECT_TRUE(says(ranks, "mismatched collectives on MPI_COMM_WORLD: rank 0 is in MPI_Barrier, rank 1 is in MPI_Bcast with root 0"));
  ranks[1].report.waits[0].items[0].number = 4;
  EXPECT_FALSE(says(ranks, "mismatched"));
}

TEST(HangText, RanksInTheSameCollectiveMayStillMoveData) {
  std::vector<RankView> ranks{waits("MPI_Allreduce", {collective("MPI_Allreduce", 3, {1})}), waits("MPI_Allreduce", {collective("MPI_Allreduce", 3, {0})})};
  EXPECT_TRUE(says(ranks, "rank 1 waits for rank 0 (MPI_Allreduce): all of them are in the same call, which may still be moving data"));
  EXPECT_FALSE(says(ranks, "nothing can end"));
  ranks[1] = waits("MPI_Allreduce", {collective("MPI_Allreduce", 4, {0})});
  EXPECT_TRUE(says(ranks, "a cycle, which nothing can end"));
  ranks[1] = waits("MPI_Recv", {receive({0})});
  EXPECT_TRUE(says(ranks, "a cycle, which nothing can end"));
}

TEST(HangText, RootsThatDifferAreAMismatch) {
  std::vector<RankView> ranks(2, waits("MPI_Bcast", {collective("MPI_Bcast", 3, {1})}));
  ranks[0].report.waits[0].items[0].root = 1;
  ranks[1].report.waits[0].items[0].root = 0;
  EXPECT_TRUE(says(ranks, "rank 1 is in MPI_Bcast with root 0, rank 0 is in MPI_Bcast with root 1"));
}

TEST(HangText, AMessageWithAnotherTagIsPointedOut) {
  std::vector<RankView> ranks{waits("MPI_Recv", {receive({1})}), computes()};
  HangItem message = receive({1});
  message.tag = 8;
  ranks[0].report.unexpected = {1, {message}};
  EXPECT_TRUE(says(ranks, "rank 0 waits in MPI_Recv for a message with tag 7 on MPI_COMM_WORLD; from the same rank it has one with tag 8"));
}

TEST(HangText, RanksThatDoNotAnswerAreToldWithTheirState) {
  std::vector<RankView> ranks(3);
  ranks[0].standing = Standing::kSilent;
  ranks[0].process_state = "is stopped";
  ranks[1].in_fence = true;
  ranks[2].standing = Standing::kFinalised;
  EXPECT_TRUE(says(ranks, "rank 0 (pid 0): does not answer (the process is stopped)"));
  EXPECT_TRUE(says(ranks, "rank 1 (pid 0): in MPI_Init, until all ranks have called it"));
  EXPECT_TRUE(says(ranks, "rank 2 (pid 0): outside MPI: has called MPI_Finalize"));
}

TEST(HangText, WhatAWaitHasNamedIsNotNamedAgain) {
  std::vector<RankView> ranks{waits("MPI_Recv", {receive({1})}), computes()};
  ranks[0].report.pending = {1, {receive({1})}};
  EXPECT_FALSE(says(ranks, "pending"));
  ranks[0].report.pending = {3, {receive({1}), receive({1})}};
  EXPECT_TRUE(says(ranks, "2 other pending requests, the oldest of them:\n"));
}

}  // namespace
}  // namespace lapwing::launch
