// What ranks post on a shared area, and how they wait for it (area_pool_for_tests.h).
#include <cstring>

#include "coll/area_pool_for_tests.h"

namespace lapwing::coll {
namespace {

// By turns: each writes where it has read. A rank that reads its own post keeps it, in its ring.
TEST_F(AreaPoolTest, BetweenTwoRanksMemoryChangesHands) {
  constexpr std::uint64_t kBytes = 4096;
  std::unique_ptr<SharedArea> areas[] = {open(3, {{4}, {7}}, 0), open(3, {{4}, {7}}, 1)};
  std::uint64_t round = 0;
  const auto post = [&](int rank, bool kept) {
    SharedArea& area = *areas[rank];
    EXPECT_TRUE(area.may_post(round, kBytes, kept));
    std::byte* const to = area.destination(round, kBytes, kept);
    EXPECT_EQ(area.posts_in_cell(), !kept);
    std::memset(to, static_cast<int>(round + 1), kBytes);
    area.post(round, kBytes, kCall, true);
    areas[1 - rank]->post(round, 0, kCall, true);
    return to;
  };
  const auto read = [&](int rank) {
    const SharedArea::Posted posted = areas[rank]->read(1 - rank, round);
    EXPECT_EQ(posted.bytes, kBytes);
    EXPECT_EQ(posted.data[kBytes - 1], static_cast<std::byte>(round + 1));
    return posted.data;
  };
  std::byte* cell = post(0, false);
  for (int turn = 1; turn < 9; ++turn) {
    EXPECT_EQ(read(turn % 2), cell);
    ++round;
    EXPECT_EQ(post(turn % 2, false), cell);
  }
  ++round;
  std::byte* const kept = post(0, true);
  EXPECT_NE(kept, cell);
  EXPECT_EQ(read(1), kept);
}

TEST_F(AreaPoolTest, ALengthBeyondACellIsCutToIt) {
  std::unique_ptr<SharedArea> areas[] = {open(3, {{4}, {7}}, 0), open(3, {{4}, {7}}, 1)};
  const AreaMemory memory = PoolMemory{memory_.base(), kRanks}.area(3);
  areas[1]->post(0, 0, kCall, false);
  store_relaxed(memory.slot(1, 0).stamp, AreaSlot::stamp_of(0, SharedArea::kMostBytes, 0));
  memory.slot(1, 0).set_place(RingPlace::in_cell(3, ~std::uint64_t{0}));
  EXPECT_EQ(areas[0]->read(1, 0).data, memory.cell(3));
  EXPECT_EQ(areas[0]->read(1, 0).bytes, AreaMemory::kCellBytes);
  memory.slot(1, 0).set_place(RingPlace::in_cell(4, 1000));
  EXPECT_EQ(areas[0]->read(1, 0).data + 1000, memory.ring(2)) << "there is no such cell";
}

// The other rank reads, but never posts.
TEST_F(AreaPoolTest, ARankThatRunsAheadUsesItsRing) {
  constexpr std::uint64_t kBytes = 4096;
  std::unique_ptr<SharedArea> areas[] = {open(3, {{4}, {7}}, 0), open(3, {{4}, {7}}, 1)};
  for (std::uint64_t round = 0; round < 9; ++round) {
    ASSERT_TRUE(areas[0]->may_post(round, kBytes, false));
    std::memset(areas[0]->destination(round, kBytes, false), static_cast<int>(round + 1), kBytes);
    EXPECT_EQ(areas[0]->posts_in_cell(), round < RingPlace::kCellsEach);
    areas[0]->post(round, kBytes, kCall, true);
    areas[1]->post(round, 0, kCall, true);
    EXPECT_EQ(areas[1]->read(0, round).data[kBytes - 1], static_cast<std::byte>(round + 1));
  }
}

TEST_F(AreaPoolTest, MemoryIsWrittenAgainOnlyWhenAllHaveReadIt) {
  auto areas = open(AreaPool::kWorld);
  const std::uint64_t small = AreaSlot::kBytes, large = SharedArea::kMostBytes;
  const auto post_at = [&](std::size_t rank, std::uint64_t round, std::uint64_t bytes) {
    ASSERT_TRUE(areas[rank]->may_post(round, bytes)) << round;
    if (bytes != 0) std::memset(areas[rank]->destination(round, bytes), 1, bytes);
    areas[rank]->post(round, bytes, kCall, false);
  };
  // Rank 0 runs ahead as far as it may: by the slots that there are, and by what its ring has room for.
  std::uint64_t round = 0;
  for (; round < AreaMemory::kSlotRounds - 1; ++round) post_at(0, round, small);
  EXPECT_FALSE(areas[0]->may_post(round, small));
  for (std::uint64_t late = 0; late < round; ++late) {
    post_at(1, late, 0);
    EXPECT_FALSE(areas[0]->all_posted(late));
    post_at(2, late, 0);
    EXPECT_TRUE(areas[0]->all_posted(late));
    EXPECT_TRUE(areas[0]->may_post(round, small));
  }
  const std::uint64_t first = round;
  for (; round < first + PostRing::kBytes / large; ++round) post_at(0, round, large);
  EXPECT_FALSE(areas[0]->may_post(round, large));
  EXPECT_TRUE(areas[0]->may_post(round, small));
  EXPECT_EQ(areas[0]->awaited_before(round, large), first + PostRing::kBytes / large / 2) << "until half of the posts are over";
  for (const std::uint64_t late : {first, first + 1}) {
    EXPECT_FALSE(areas[0]->may_post(round, large));
    for (const std::size_t rank : {1u, 2u}) post_at(rank, late, 0);
  }
  EXPECT_TRUE(areas[0]->may_post(round, large));
}

TEST_F(AreaPoolTest, WhatIsPostedIsThereForAll) {
  auto areas = open(AreaPool::kWorld);
  for (const std::uint64_t bytes : {std::uint64_t{0}, AreaSlot::kBytes, AreaSlot::kBytes + 1, AreaMemory::kPieceBytes,
                                    AreaMemory::kPieceBytes + 1, SharedArea::kMostBytes}) {
    const std::uint64_t round = areas[0]->take_rounds(1);
    for (int rank = 0; rank < 3; ++rank) {
      SharedArea& area = *areas[static_cast<std::size_t>(rank)];
      std::memset(area.destination(round, bytes), 'a' + rank, bytes);
      area.post(round, bytes, kCall, false);
    }
    for (auto& area : areas) {
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_TRUE(area->posted(rank, round));
        const SharedArea::Posted posted = area->read(rank, round);
        ASSERT_EQ(posted.bytes, bytes);
        const std::string text(reinterpret_cast<const char*>(posted.data), bytes);
        EXPECT_EQ(text, std::string(bytes, static_cast<char>('a' + rank)));
      }
    }
  }
}

TEST_F(AreaPoolTest, ASleeperIsNotifiedByTheRankThatCompletesTheRound) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  areas[2]->post(0, 0, kCall, false);
  EXPECT_EQ(areas[2]->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kNotYet);
  pool(2).arm();
  EXPECT_FALSE(pool(2).work_left());
  areas[0]->post(0, 0, kCall, false);
  EXPECT_TRUE(notified(0).empty()) << "it is not complete";
  areas[1]->post(0, 0, kCall, false);
  EXPECT_EQ(notified(1), std::vector<std::uint32_t>{2});
  EXPECT_TRUE(pool(2).work_left());
  EXPECT_TRUE(pool(2).poll());
  EXPECT_EQ(watcher.posted, 1);
  EXPECT_FALSE(pool(2).poll());
  areas[2]->post(1, 0, kCall, false);
  areas[0]->post(1, 0, kCall, false);
  areas[1]->post(1, 0, kCall, false);
  EXPECT_EQ(notified(1).size(), 1u) << "no rank waits here any more";
}

TEST_F(AreaPoolTest, ARootNotifiesWithoutTheOthers) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  areas[1]->post(0, 0, kCall, false);
  EXPECT_EQ(areas[1]->watch(watcher, 0, 0), SharedArea::Outlook::kNotYet);
  pool(1).arm();
  areas[0]->post(0, 0, kCall, true);
  EXPECT_EQ(notified(0), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(pool(1).poll());
}

TEST_F(AreaPoolTest, APostThatRanksMayWaitForAloneNotifiesThoseThatDo) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  areas[2]->post(0, 0, kCall, true);
  EXPECT_EQ(areas[2]->watch(watcher, 1, 0), SharedArea::Outlook::kNotYet);
  pool(2).arm();
  areas[0]->post(0, 0, kCall, true);
  EXPECT_TRUE(notified(0).empty()) << "rank 2 waits for rank 1";
  areas[1]->post(0, 0, kCall, true);
  EXPECT_EQ(notified(1), std::vector<std::uint32_t>{2});
  EXPECT_TRUE(pool(2).poll());
}

TEST_F(AreaPoolTest, SuchAPostNotifiesThoseThatWaitForAllWhereItIsTheLast) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  areas[2]->post(0, 0, kCall, false);
  EXPECT_EQ(areas[2]->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kNotYet);
  pool(2).arm();
  areas[1]->post(0, 0, kCall, true);
  EXPECT_TRUE(notified(1).empty()) << "it is not complete";
  areas[0]->post(0, 0, kCall, true);
  EXPECT_EQ(notified(0), std::vector<std::uint32_t>{2});
  EXPECT_TRUE(pool(2).poll());
}

TEST_F(AreaPoolTest, ARankThatBeginsToWaitWhileArmedSaysSoAtOnce) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  pool(1).arm();
  areas[1]->post(0, 0, kCall, false);
  EXPECT_EQ(areas[1]->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kNotYet);
  areas[0]->post(0, 0, kCall, false);
  areas[2]->post(0, 0, kCall, false);
  EXPECT_EQ(notified(2), std::vector<std::uint32_t>{1});
  areas[1]->unwatch();
  EXPECT_FALSE(pool(1).poll());
  EXPECT_EQ(areas[1]->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kThere) << "it is there already";
}

TEST_F(AreaPoolTest, ALostMemberEndsTheWait) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  EXPECT_EQ(areas[0]->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kNotYet);
  pool(0).on_rank_lost(2, Status::error(MPI_ERR_OTHER, "gone"));
  EXPECT_EQ(watcher.why, "gone");
  EXPECT_FALSE(pool(0).waits());
  EXPECT_EQ(areas[0]->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kNever)
      << "nor does one that begins later";
  EXPECT_STREQ(areas[0]->why_never().text(), "gone");
  auto later = open(pool(0).claim({kKey}), {{4}, {9}}, 0);
  EXPECT_EQ(later->watch(watcher, 1, 0), SharedArea::Outlook::kNever) << "nor one at an area that is opened later";
}

TEST_F(AreaPoolTest, ARankThatLeavesForALostMemberSaysSo) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  EXPECT_EQ(areas[1]->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kNotYet);
  pool(0).on_rank_lost(2, Status::error(MPI_ERR_PROC_ABORTED, "gone"));
  areas[0]->leave();
  EXPECT_TRUE(pool(1).poll());
  EXPECT_EQ(areas[1]->why_never().error_class(), MPI_ERR_PROC_ABORTED);
}

TEST_F(AreaPoolTest, WhatALostMemberHasPostedCounts) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  areas[2]->post(0, 0, kCall, false);
  areas[0]->post(0, 0, kCall, false);
  EXPECT_EQ(areas[0]->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kNotYet);
  pool(0).on_rank_lost(2, Status::error(MPI_ERR_OTHER, "gone"));
  EXPECT_EQ(watcher.why, "");
  areas[1]->post(0, 0, kCall, false);
  EXPECT_TRUE(pool(0).poll());
  EXPECT_EQ(watcher.posted, 1);
  areas[0]->post(1, 0, kCall, false);
  EXPECT_EQ(areas[0]->watch(watcher, 1, 1), SharedArea::Outlook::kNever) << "rank 1 may need rank 2's part";
}

TEST_F(AreaPoolTest, AMemberThatLeavesSaysSoOnTheArea) {
  const unsigned number = pool(0).claim({kKey});
  auto areas = open(number);
  Watcher watcher;
  for (auto& area : areas) EXPECT_EQ(area->take_rounds(2), 0u);
  areas[1]->post(0, 0, kCall, false);
  areas[0]->post(0, 0, kCall, false);
  EXPECT_EQ(areas[0]->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kNotYet);
  pool(0).arm();
  areas[1]->leave();
  EXPECT_EQ(notified(1), std::vector<std::uint32_t>{0});
  EXPECT_FALSE(pool(0).work_left()) << "it has posted";
  areas[2]->post(0, 0, kCall, false);
  EXPECT_TRUE(pool(0).poll());
  EXPECT_EQ(watcher.posted, 1);
  pool(0).disarm();
  areas[0]->post(1, 0, kCall, false);
  EXPECT_EQ(areas[0]->watch(watcher, SharedArea::kAll, 1), SharedArea::Outlook::kNever);
  EXPECT_NE(std::string(areas[0]->why_never().text()).find("rank 1"), std::string::npos);
  // The next use of the area begins behind all rounds of this one, and has lost no member.
  areas[2].reset();
  areas[1].reset();
  areas[0].reset();
  areas = open(number);
  EXPECT_EQ(areas[0]->take_rounds(1), 2u);
  EXPECT_EQ(areas[0]->watch(watcher, SharedArea::kAll, 2), SharedArea::Outlook::kNotYet);
  areas[0]->unwatch();
}

TEST_F(AreaPoolTest, ARankThatEndsIsMissedWhereItHasOpenedNoArea) {
  const unsigned number = pool(0).claim({kKey});
  auto waiting = open(number, {{4}, {7}, {9}}, 0);
  Watcher watcher;
  waiting->post(0, 0, kCall, false);
  EXPECT_EQ(waiting->watch(watcher, SharedArea::kAll, 0), SharedArea::Outlook::kNotYet);
  pool(0).arm();
  pool(1).on_close();
  EXPECT_EQ(notified(1), std::vector<std::uint32_t>{0}) << "and not rank 2, which waits for nothing";
  EXPECT_TRUE(pool(0).work_left());
  EXPECT_TRUE(pool(0).poll());
  EXPECT_NE(watcher.why.find("rank 1"), std::string::npos) << watcher.why;
  pool(2).on_close();
  EXPECT_TRUE(notified(2).empty()) << "rank 0 waits no more";
  pool(0).disarm();
  EXPECT_EQ(waiting->watch(watcher, 2, 0), SharedArea::Outlook::kNever) << "nor is there hope for one that waits later";
  auto later = open(AreaPool::kWorld, {{4}, {7}, {9}}, 0);
  EXPECT_EQ(later->watch(watcher, 1, 0), SharedArea::Outlook::kNever) << "nor at an area that is opened later";
}

TEST_F(AreaPoolTest, ARankThatEndsIsNotMissedAtAreasOfOthers) {
  auto areas = open(pool(0).claim({kKey}), {{4}, {7}}, 0);
  Watcher watcher;
  pool(2).on_close();
  EXPECT_EQ(areas->watch(watcher, 1, 0), SharedArea::Outlook::kNotYet);
  areas->unwatch();
}

TEST_F(AreaPoolTest, ARankThatWaitsWhileArmedHearsOfAnEnd) {
  auto area = open(AreaPool::kWorld, {{4}, {7}, {9}}, 0);
  Watcher watcher;
  pool(0).arm();
  EXPECT_EQ(area->watch(watcher, 1, 0), SharedArea::Outlook::kNotYet);
  pool(1).on_close();
  EXPECT_EQ(notified(1), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(pool(0).poll());
}

TEST_F(AreaPoolTest, ARankThatOpensLateFindsTheRoundWithWhichTheUseBegan) {
  const unsigned number = pool(0).claim({kKey});
  for (std::uint64_t use = 0; use < 2; ++use) {
    for (int rank = 0; rank < 3; ++rank) {  // each opens when the one before has left
      auto area = open(number, {{4}, {7}, {9}}, rank);
      EXPECT_EQ(area->take_rounds(3), use * 3);
    }
  }
  // A rank that took fewer rounds than the others, in a program that is wrong, does not take the next use back into theirs.
  for (int rank = 0; rank < 3; ++rank) open(number, {{4}, {7}, {9}}, rank)->take_rounds(rank == 2 ? 1 : 4);
  EXPECT_EQ(open(number, {{4}, {7}, {9}}, 0)->take_rounds(1), 10u);
}

TEST_F(AreaPoolTest, APostThatBelongsToSomethingElseIsSeen) {
  auto areas = open(AreaPool::kWorld);
  areas[0]->post(0, 0, kCall, false);
  areas[1]->post(0, 0, kCall + 1, false);
  areas[2]->post(0, 0, kCall, false);  // the last one sees all
  EXPECT_TRUE(areas[2]->differs());
  const SharedArea::Difference seen = areas[2]->take_difference();
  EXPECT_EQ(seen.rank, 1);
  EXPECT_EQ(seen.what, kCall + 1);
  EXPECT_EQ(seen.ours, kCall);
  EXPECT_FALSE(areas[2]->differs());
  EXPECT_TRUE(areas[0]->all_posted(0));
  EXPECT_EQ(areas[0]->take_difference().rank, 1);
  EXPECT_TRUE(areas[1]->all_posted(0));
  EXPECT_EQ(areas[1]->take_difference().rank, 2) << "the next one after itself";
  // Posts of a round that this rank has left behind may be written over meanwhile: they are not compared.
  for (std::uint64_t round = 1; round < 4; ++round) {
    for (auto& area : areas) area->post(round, 0, round, false);
  }
  for (auto& area : areas) EXPECT_FALSE(area->differs());
}

TEST_F(AreaPoolTest, ALengthBeyondTheAreaIsCutToIt) {
  auto areas = open(AreaPool::kWorld);
  areas[1]->post(0, 0, kCall, false);
  store_relaxed(world().slot(1, 0).stamp, AreaSlot::stamp_of(0, SharedArea::kMostBytes, 0));
  world().slot(1, 0).set_place({0, ~std::uint64_t{0}});
  EXPECT_EQ(areas[0]->read(1, 0).bytes, SharedArea::kMostBytes);
  EXPECT_EQ(areas[0]->read(1, 0).data, world().ring(1));
  world().slot(1, 0).set_place({~std::uint64_t{0}, ~std::uint64_t{0}});
  EXPECT_EQ(areas[0]->read(1, 0).data + SharedArea::kMostBytes, world().ring(2)) << "nor is the place believed";
  world().slot(1, 0).set_place(RingPlace::in_cell(0, ~std::uint64_t{0}));
  EXPECT_EQ(areas[0]->read(1, 0).data + SharedArea::kMostBytes, world().ring(2)) << "three ranks have no cells";
}

// What a post says beside its length is believed only if it belongs to the call that this rank is in.
TEST_F(AreaPoolTest, APostSaysWhereItsBytesAre) {
  auto areas = open(AreaPool::kWorld);
  areas[0]->post(0, 0, kCall, false);
  areas[1]->post(0, 0, kCall, false, SharedArea::kByMessage);
  areas[2]->post(0, 16, kCall + 1, false, SharedArea::kInPlace);
  EXPECT_TRUE(areas[0]->read(1, 0).by_message());
  EXPECT_FALSE(areas[0]->read(1, 0).in_place());
  EXPECT_EQ(areas[0]->read(2, 0).bytes, 16u);
  EXPECT_FALSE(areas[0]->read(2, 0).in_place() || areas[0]->read(2, 0).of_this_call);
  EXPECT_TRUE(areas[2]->read(2, 0).in_place() && areas[2]->read(2, 0).of_this_call);
}

TEST_F(AreaPoolTest, AnAcknowledgementIsNoPostAndWakesTheRankThatWaitsForIt) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  for (auto& area : areas) area->post(0, 0, kCall, false);
  EXPECT_EQ(areas[0]->watch(watcher, 1, 0, SharedArea::Sign::kAcknowledgement), SharedArea::Outlook::kNotYet);
  pool(0).arm();
  areas[2]->acknowledge(0);
  EXPECT_FALSE(pool(0).poll());
  EXPECT_TRUE(notified(2).empty()) << "rank 0 waits for another one's";
  areas[1]->acknowledge(0);
  EXPECT_EQ(notified(1), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(pool(0).work_left());
  EXPECT_TRUE(pool(0).poll());
  EXPECT_EQ(watcher.posted, 1);
  EXPECT_TRUE(areas[0]->acknowledged(1, 0));
  EXPECT_FALSE(areas[0]->acknowledged(1, 1));
  EXPECT_FALSE(areas[0]->posted(1, 1));
}

TEST_F(AreaPoolTest, ARankThatLeavesAcknowledgesNothingMore) {
  auto areas = open(AreaPool::kWorld);
  Watcher watcher;
  for (auto& area : areas) area->post(0, 0, kCall, false);
  areas[2]->acknowledge(0);
  areas[2]->leave();
  EXPECT_EQ(areas[0]->watch(watcher, 2, 0, SharedArea::Sign::kAcknowledgement), SharedArea::Outlook::kThere) << "what it has said counts";
  EXPECT_EQ(areas[0]->watch(watcher, 1, 0, SharedArea::Sign::kAcknowledgement), SharedArea::Outlook::kNotYet)
      << "it has posted what rank 1 waits for";
  areas[1]->leave();
  EXPECT_TRUE(pool(0).poll());
  EXPECT_NE(watcher.why.find("rank 1"), std::string::npos) << watcher.why;
}

// Each rank posts `count` empty rounds, as blocking calls that have ended.
void post_rounds(std::vector<std::unique_ptr<SharedArea>>& areas, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    for (auto& area : areas) {
      const std::uint64_t round = area->take_rounds(1);
      area->post(round, 0, 7, false);
      area->settle(round + 1);
    }
  }
}

TEST_F(AreaPoolTest, RanksBeginToCopyDirectlyAtTheSameCall) {
  auto areas = open(AreaPool::kWorld);
  post_rounds(areas, 5);
  EXPECT_FALSE(areas[1]->may_copy_directly()) << "rank 0 has not said when";
  EXPECT_FALSE(areas[0]->may_copy_directly());
  const std::uint32_t wait = 2 * AreaMemory::kSlotRounds;
  post_rounds(areas, wait - 1);
  for (auto& area : areas) EXPECT_FALSE(area->may_copy_directly());
  post_rounds(areas, 1);
  for (auto& area : areas) EXPECT_TRUE(area->may_copy_directly());
}

TEST_F(AreaPoolTest, RanksNoMoreCopyDirectlyFromTheSameCallOn) {
  auto areas = open(AreaPool::kWorld);
  EXPECT_FALSE(areas[0]->may_copy_directly());
  const std::uint32_t wait = 2 * AreaMemory::kSlotRounds;
  post_rounds(areas, wait);
  for (auto& area : areas) EXPECT_TRUE(area->may_copy_directly());
  areas[1]->refuse(wait);
  for (auto& area : areas) {
    EXPECT_TRUE(area->has_refused(1, wait));
    EXPECT_FALSE(area->has_refused(0, wait));
    EXPECT_FALSE(area->has_refused(1, wait + 1));
  }
  areas[1]->end_direct_copies();
  post_rounds(areas, wait - 1);
  areas[0]->end_direct_copies();  // the first rank that is refused a copy has said when
  for (auto& area : areas) EXPECT_TRUE(area->may_copy_directly());
  post_rounds(areas, 1);
  for (int i = 0; i < 2; ++i) {
    for (auto& area : areas) EXPECT_FALSE(area->may_copy_directly());
    post_rounds(areas, wait);
  }
}

TEST_F(AreaPoolTest, RanksThatDoNotReachEachOtherCopyNothingDirectly) {
  ranks_[2]->host.can_reach = false;
  auto areas = open(AreaPool::kWorld);
  for (int i = 0; i < 3; ++i) {
    for (auto& area : areas) EXPECT_FALSE(area->may_copy_directly());
    post_rounds(areas, 2 * AreaMemory::kSlotRounds);
  }
}

TEST_F(AreaPoolTest, AnotherUseOfAnAreaBeginsWithoutDirectCopies) {
  const unsigned number = pool(0).claim({kKey});
  {
    auto areas = open(number);
    EXPECT_FALSE(areas[0]->may_copy_directly());
    post_rounds(areas, 2 * AreaMemory::kSlotRounds);
    EXPECT_TRUE(areas[2]->may_copy_directly());
  }
  ASSERT_EQ(pool(0).claim({kKey}), number);
  ranks_[1]->host.can_reach = false;
  auto areas = open(number);
  post_rounds(areas, 1);
  for (auto& area : areas) EXPECT_FALSE(area->may_copy_directly());
}

}  // namespace
}  // namespace lapwing::coll
