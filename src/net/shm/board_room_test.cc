// Boards in one process: several rooms on one segment, each a rank's.
#include "net/shm/board_room.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace lapwing::net::shm {
namespace {

struct Rank final : BoardRoom::Ringer {
  Rank(Segment& segment, const std::vector<std::int32_t>& local_of) : room(segment, local_of, *this) {}
  void ring_sleeper(std::uint32_t local) noexcept override { rung.push_back(local); }
  BoardRoom room;
  std::vector<std::uint32_t> rung;
};

struct Watcher final : Board::Watcher {
  void on_posted() noexcept override { ++posted; }
  void on_member_lost(const Status& status) noexcept override { why = status.text(); }
  int posted = 0;
  std::string why;
};

class BoardRoomTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kRanks = 3;
  static constexpr std::uint64_t kCall = 7;
  static constexpr std::uint64_t kKey = 100;

  void SetUp() override {
    ASSERT_TRUE(segment_.create(kRanks, kMinRingBytes, file_).ok());
    for (std::uint32_t i = 0; i < kRanks; ++i) ranks_.push_back(std::make_unique<Rank>(segment_, local_of_));
  }
  BoardRoom& room(int rank) { return ranks_[static_cast<std::size_t>(rank)]->room; }
  const std::vector<std::uint32_t>& rung(int rank) { return ranks_[static_cast<std::size_t>(rank)]->rung; }
  // All ranks at one board, in the order of the host.
  std::vector<std::unique_ptr<Board>> open(unsigned number) {
    std::vector<std::unique_ptr<Board>> made;
    for (int rank = 0; rank < static_cast<int>(kRanks); ++rank)
      made.push_back(room(rank).open_board(number, {4, 7, 9}, rank));
    return made;
  }

  // Ranks 4, 7 and 9 of the job are here.
  const std::vector<std::int32_t> local_of_{-1, -1, -1, -1, 0, -1, -1, 1, -1, 2};
  OwnedFd file_;
  Segment segment_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

TEST_F(BoardRoomTest, BoardsAreClaimedOnceAndRunOut) {
  std::vector<bool> taken(Boards::kCount);
  for (unsigned i = 1; i < Boards::kCount; ++i) {
    const unsigned number = room(static_cast<int>(i % kRanks)).claim(kKey);
    ASSERT_LT(number, Boards::kCount);
    EXPECT_NE(number, Boards::kWorld);
    EXPECT_FALSE(taken[number]);
    taken[number] = true;
  }
  EXPECT_EQ(room(0).claim(kKey), Boards::kNone);
  room(2).give_back(17);
  EXPECT_EQ(room(1).claim(kKey), 17u);
}

TEST_F(BoardRoomTest, OthersFindABoardByItsKeyUntilItIsGivenBack) {
  EXPECT_EQ(room(1).find(kKey), Boards::kNone);
  const unsigned first = room(0).claim(kKey);
  const unsigned second = room(2).claim(kKey + 1);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(room(rank).find(kKey), first);
    EXPECT_EQ(room(rank).find(kKey + 1), second);
    EXPECT_EQ(room(rank).find(kKey + 2), Boards::kNone);
  }
  auto boards = open(first);
  boards.pop_back();
  EXPECT_EQ(room(0).find(kKey), first);
  boards.clear();  // the last member leaves
  EXPECT_EQ(room(0).find(kKey), Boards::kNone);
  room(2).give_back(second);
  EXPECT_EQ(room(0).find(kKey + 1), Boards::kNone);
}

TEST_F(BoardRoomTest, OnlyRanksOfThisHostMeet) {
  EXPECT_TRUE(room(0).all_here({9, 4}));
  EXPECT_FALSE(room(0).all_here({4, 5}));
  EXPECT_EQ(room(0).open_board(1, {4, 5}, 0), nullptr);
  EXPECT_EQ(room(0).open_board(1, {4, 1000}, 0), nullptr);
  EXPECT_EQ(room(0).open_board(Boards::kCount, {4, 7}, 0), nullptr);
}

TEST_F(BoardRoomTest, TheLastToLeaveGivesTheBoardBackAndItsRoundsGoOn) {
  const unsigned number = room(0).claim(kKey);
  for (unsigned other = 0; room(0).claim(kKey) != Boards::kNone; ++other) ASSERT_LT(other, Boards::kCount);
  for (std::uint64_t use = 0; use < 3; ++use) {
    auto boards = open(number);
    for (auto& board : boards) EXPECT_EQ(board->take_rounds(5), use * 5);
    for (auto& board : boards) {
      EXPECT_EQ(room(1).claim(kKey), Boards::kNone);
      board.reset();
    }
    EXPECT_EQ(room(1).claim(kKey), number);
  }
}

TEST_F(BoardRoomTest, MemoryIsWrittenAgainOnlyWhenAllHaveReadIt) {
  auto boards = open(Boards::kWorld);
  const std::uint64_t small = BoardCell::kBytes, large = small + 1;
  for (std::uint64_t round = 0; round < 20; ++round) {
    // Rank 0 runs ahead as far as it may.
    for (auto& board : boards) EXPECT_TRUE(board->may_post(round, large)) << "all are through with the round before last";
    boards[0]->post(round, 0, kCall, false);
    EXPECT_FALSE(boards[0]->may_post(round + 2, large));
    EXPECT_TRUE(round < 2 || boards[0]->may_post(round + 2, small));
    boards[1]->post(round, 0, kCall, false);
    EXPECT_FALSE(boards[0]->all_posted(round));
    boards[2]->post(round, 0, kCall, false);
    EXPECT_TRUE(boards[0]->all_posted(round));
  }
}

TEST_F(BoardRoomTest, WhatIsPostedIsThereForAll) {
  auto boards = open(Boards::kWorld);
  for (const std::uint64_t bytes : {std::uint64_t{0}, BoardCell::kBytes, BoardCell::kBytes + 1, Board::kMostBytes}) {
    const std::uint64_t round = boards[0]->take_rounds(1);
    for (int rank = 0; rank < 3; ++rank) {
      Board& board = *boards[static_cast<std::size_t>(rank)];
      std::memset(board.place(round, bytes), 'a' + rank, bytes);
      board.post(round, bytes, kCall, false);
    }
    for (auto& board : boards) {
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_TRUE(board->posted(rank, round));
        const Board::Posted posted = board->read(rank, round);
        ASSERT_EQ(posted.bytes, bytes);
        const std::string text(reinterpret_cast<const char*>(posted.data), bytes);
        EXPECT_EQ(text, std::string(bytes, static_cast<char>('a' + rank)));
      }
    }
  }
}

TEST_F(BoardRoomTest, ASleeperIsRungByWhoeverCompletesTheRound) {
  auto boards = open(Boards::kWorld);
  Watcher watcher;
  boards[2]->post(0, 0, kCall, false);
  EXPECT_EQ(boards[2]->watch(watcher, Board::kEverybody, 0), Board::Outlook::kNotYet);
  room(2).arm();
  EXPECT_FALSE(room(2).work_left());
  boards[0]->post(0, 0, kCall, false);
  EXPECT_TRUE(rung(0).empty()) << "it is not complete";
  boards[1]->post(0, 0, kCall, false);
  EXPECT_EQ(rung(1), std::vector<std::uint32_t>{2});
  EXPECT_TRUE(room(2).work_left());
  EXPECT_TRUE(room(2).poll());
  EXPECT_EQ(watcher.posted, 1);
  EXPECT_FALSE(room(2).poll());
  boards[2]->post(1, 0, kCall, false);
  boards[0]->post(1, 0, kCall, false);
  boards[1]->post(1, 0, kCall, false);
  EXPECT_EQ(rung(1).size(), 1u) << "nobody waits here any more";
}

TEST_F(BoardRoomTest, ARootRingsWithoutTheOthers) {
  auto boards = open(Boards::kWorld);
  Watcher watcher;
  boards[1]->post(0, 0, kCall, false);
  EXPECT_EQ(boards[1]->watch(watcher, 0, 0), Board::Outlook::kNotYet);
  room(1).arm();
  boards[0]->post(0, 0, kCall, true);
  EXPECT_EQ(rung(0), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(room(1).poll());
}

TEST_F(BoardRoomTest, WhoBeginsToWaitWhileArmedSaysSoAtOnce) {
  auto boards = open(Boards::kWorld);
  Watcher watcher;
  room(1).arm();
  boards[1]->post(0, 0, kCall, false);
  EXPECT_EQ(boards[1]->watch(watcher, Board::kEverybody, 0), Board::Outlook::kNotYet);
  boards[0]->post(0, 0, kCall, false);
  boards[2]->post(0, 0, kCall, false);
  EXPECT_EQ(rung(2), std::vector<std::uint32_t>{1});
  boards[1]->unwatch();
  EXPECT_FALSE(room(1).poll());
  EXPECT_EQ(boards[1]->watch(watcher, Board::kEverybody, 0), Board::Outlook::kThere) << "it is there already";
}

TEST_F(BoardRoomTest, ALostMemberEndsTheWait) {
  auto boards = open(Boards::kWorld);
  Watcher watcher;
  EXPECT_EQ(boards[0]->watch(watcher, Board::kEverybody, 0), Board::Outlook::kNotYet);
  room(0).lose(2, Status::error(MPI_ERR_OTHER, "gone"));
  EXPECT_EQ(watcher.why, "gone");
  EXPECT_TRUE(room(0).idle());
  EXPECT_EQ(boards[0]->watch(watcher, Board::kEverybody, 0), Board::Outlook::kNever)
      << "nor does one that begins later";
  EXPECT_STREQ(boards[0]->why_never().text(), "gone");
  auto later = room(0).open_board(room(0).claim(kKey), {4, 9}, 0);
  EXPECT_EQ(later->watch(watcher, 1, 0), Board::Outlook::kNever) << "nor one at a board that is opened later";
}

TEST_F(BoardRoomTest, WhatALostMemberHasPostedCounts) {
  auto boards = open(Boards::kWorld);
  Watcher watcher;
  boards[2]->post(0, 0, kCall, false);
  boards[0]->post(0, 0, kCall, false);
  EXPECT_EQ(boards[0]->watch(watcher, Board::kEverybody, 0), Board::Outlook::kNotYet);
  room(0).lose(2, Status::error(MPI_ERR_OTHER, "gone"));
  EXPECT_EQ(watcher.why, "");
  boards[1]->post(0, 0, kCall, false);
  EXPECT_TRUE(room(0).poll());
  EXPECT_EQ(watcher.posted, 1);
  boards[0]->post(1, 0, kCall, false);
  EXPECT_EQ(boards[0]->watch(watcher, 1, 1), Board::Outlook::kNever) << "rank 1 may need rank 2's part";
}

TEST_F(BoardRoomTest, AMemberThatLeavesSaysSoOnTheBoard) {
  const unsigned number = room(0).claim(kKey);
  auto boards = open(number);
  Watcher watcher;
  for (auto& board : boards) EXPECT_EQ(board->take_rounds(2), 0u);
  boards[1]->post(0, 0, kCall, false);
  boards[0]->post(0, 0, kCall, false);
  EXPECT_EQ(boards[0]->watch(watcher, Board::kEverybody, 0), Board::Outlook::kNotYet);
  room(0).arm();
  room(1).leave();
  EXPECT_EQ(rung(1), std::vector<std::uint32_t>{0});
  EXPECT_FALSE(room(0).work_left()) << "it has posted";
  boards[2]->post(0, 0, kCall, false);
  EXPECT_TRUE(room(0).poll());
  EXPECT_EQ(watcher.posted, 1);
  room(0).disarm();
  boards[0]->post(1, 0, kCall, false);
  EXPECT_EQ(boards[0]->watch(watcher, Board::kEverybody, 1), Board::Outlook::kNever);
  EXPECT_NE(std::string(boards[0]->why_never().text()).find("rank 1"), std::string::npos);
  // The next use of the board begins behind all rounds of this one, and has lost no member.
  boards[2].reset();
  boards[1].reset();
  boards[0].reset();
  boards = open(number);
  EXPECT_EQ(boards[0]->take_rounds(1), 2u);
  EXPECT_EQ(boards[0]->watch(watcher, Board::kEverybody, 2), Board::Outlook::kNotYet);
  boards[0]->unwatch();
}

TEST_F(BoardRoomTest, WhoOpensLateFindsTheRoundWithWhichTheUseBegan) {
  const unsigned number = room(0).claim(kKey);
  for (std::uint64_t use = 0; use < 2; ++use) {
    for (int rank = 0; rank < 3; ++rank) {  // each opens when the one before has left
      auto board = room(rank).open_board(number, {4, 7, 9}, rank);
      EXPECT_EQ(board->take_rounds(3), use * 3);
    }
  }
  // A rank that took fewer rounds than the others, in a program that is wrong, does not take the next use back into theirs.
  for (int rank = 0; rank < 3; ++rank) room(rank).open_board(number, {4, 7, 9}, rank)->take_rounds(rank == 2 ? 1 : 4);
  EXPECT_EQ(room(0).open_board(number, {4, 7, 9}, 0)->take_rounds(1), 10u);
}

TEST_F(BoardRoomTest, APostThatBelongsToSomethingElseIsSeen) {
  auto boards = open(Boards::kWorld);
  boards[0]->post(0, 0, kCall, false);
  boards[1]->post(0, 0, kCall + 1, false);
  boards[2]->post(0, 0, kCall, false);  // the last one sees all
  EXPECT_TRUE(boards[2]->differs());
  const Board::Difference seen = boards[2]->take_difference();
  EXPECT_EQ(seen.rank, 1);
  EXPECT_EQ(seen.what, kCall + 1);
  EXPECT_EQ(seen.ours, kCall);
  EXPECT_FALSE(boards[2]->differs());
  EXPECT_TRUE(boards[0]->all_posted(0));
  EXPECT_EQ(boards[0]->take_difference().rank, 1);
  EXPECT_TRUE(boards[1]->all_posted(0));
  EXPECT_EQ(boards[1]->take_difference().rank, 2) << "the next one after itself";
  // Posts of a round that this rank has left behind may be written over meanwhile: they are not compared.
  for (std::uint64_t round = 1; round < 4; ++round) {
    for (auto& board : boards) board->post(round, 0, round, false);
  }
  for (auto& board : boards) EXPECT_FALSE(board->differs());
}

TEST_F(BoardRoomTest, ALengthBeyondTheBoardIsCutToIt) {
  auto boards = open(Boards::kWorld);
  boards[1]->post(0, 0, kCall, false);
  store_relaxed(segment_.board(Boards::kWorld).cell(1, 0).stamp,
                BoardCell::stamp_of(0, (1u << BoardCell::kLengthBits) - 1));
  EXPECT_EQ(boards[0]->read(1, 0).bytes, Board::kMostBytes);
  EXPECT_EQ(boards[0]->read(1, 0).data, segment_.board(Boards::kWorld).sheet(1, 0));
}

}  // namespace
}  // namespace lapwing::net::shm
