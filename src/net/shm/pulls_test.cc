// Pulls between two ranks that are one process here: each reads its own memory by the same system calls.
#include "net/shm/pulls.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/clock.h"
#include "net/scattered_walk_for_tests.h"

namespace lapwing::net::shm {
namespace {

constexpr std::uint64_t kSize = 1'000'000;

struct Op : PullOp {
  Op() {
    on_end = [](PullOp& op, End end, const Status& why) noexcept {
      auto& self = static_cast<Op&>(op);
      ++self.ends;
      self.end = end;
      self.lost_for = why.text();
    };
  }
  int ends = 0;
  End end = End::kNone;
  std::string lost_for;
};

class PullsTest : public testing::Test {
 protected:
  struct Rank {
    Rank(Choice choice, std::uint32_t my_local, bool oversubscribed) : engine(clock), pulls(engine, choice) {
      engine::EngineOptions options;
      options.event_thread = false;
      options.ranks_per_core = oversubscribed ? 2 : 1;
      EXPECT_TRUE(engine.start(options).ok());
      pulls.set_ranks(2, my_local);
    }
    ManualClock clock;
    engine::Engine engine;
    Pulls pulls;
  };

  // Rank 0 sends, rank 1 receives.
  void connect(Choice choice, std::uint64_t probe_value = 77, bool oversubscribed = false) {
    sender_ = std::make_unique<Rank>(choice, 0, oversubscribed);
    receiver_ = std::make_unique<Rank>(choice, 1, oversubscribed);
    Invitation invitation;
    invitation.process.pid = getpid();
    invitation.probe_address = reinterpret_cast<std::uintptr_t>(&probe_word_);
    invitation.probe_value = probe_value;
    sender_->pulls.attach(1, 1, invitation, back_, words_);
    receiver_->pulls.attach(0, 0, invitation, words_, back_);
  }
  void fill() {
    from_.resize(kSize), to_.assign(kSize, std::byte{0});
    for (std::size_t i = 0; i < kSize; ++i) from_[i] = static_cast<std::byte>(i * 7 + i / 4096);
    op_.ends = 0;
    op_.end = PullOp::End::kNone;
  }
  PullOp::End start(Op& op) {
    op.address = reinterpret_cast<std::uintptr_t>(from_.data());
    op.bytes = kSize;
    if (op.walk == nullptr) op.data = to_.data();
    op.end = receiver_->pulls.pull(0, op);
    return op.end;
  }
  void finish(Op& op) {
    while (op.end == PullOp::End::kNone) receiver_->pulls.poll();
  }
  // Messages that come through the ring, `ns` each.
  void receive_frames(int messages, std::int64_t ns) {
    for (int i = 0; i < messages; ++i) {
      const std::int64_t began = receiver_->clock.now();
      receiver_->clock.advance(ns);
      receiver_->pulls.came_in_frames(0, kSize, 8192, began);
    }
  }

  // A message to `rank`, which takes `ns`.
  void receive(Rank& rank, std::uint32_t from, bool pulled, Op& op, std::int64_t ns) {
    const std::int64_t began = rank.clock.now();
    if (!pulled) {
      rank.clock.advance(ns);
      return rank.pulls.came_in_frames(from, kSize, 8192, began);
    }
    op.address = reinterpret_cast<std::uintptr_t>(from_.data());
    op.bytes = kSize;
    op.data = to_.data();
    op.end = rank.pulls.pull(from, op);
    rank.clock.advance(ns);
    while (op.end == PullOp::End::kNone) {
      sender_->pulls.poll();
      receiver_->pulls.poll();
    }
    ASSERT_EQ(op.end, PullOp::End::kWhole);
  }

  volatile std::uint64_t probe_word_ = 77;
  PullWords words_{}, back_{};
  std::unique_ptr<Rank> sender_, receiver_;
  std::vector<std::byte> from_, to_;
  Op op_;
};

TEST_F(PullsTest, NothingIsOfferedAtFirst) {
  connect(Choice::kAuto);
  for (std::uint64_t bytes = 1; bytes < 1u << 30; bytes *= 2) EXPECT_FALSE(sender_->pulls.offers(1, bytes));
}

TEST_F(PullsTest, AllIsOfferedWhereTheUserSaysSo) {
  connect(Choice::kOn);
  EXPECT_TRUE(sender_->pulls.offers(1, kSize));
  EXPECT_TRUE(sender_->pulls.offers(1, 1u << 30));
}

// The clock stands still while a pull copies, so its copying costs next to nothing.
TEST_F(PullsTest, WhereRanksShareCoresTheCopiesAreWeighedAndNoneIsShared) {
  connect(Choice::kAuto, 77, true);
  fill();
  int pulled = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!sender_->pulls.offers(1, kSize)) {
      receiver_->clock.advance(5'000'000);  // others have had the core
      receiver_->pulls.came_by_copies(0, kSize, 100);
      continue;
    }
    ASSERT_NE(path_in(words_.paths, kSize), Path::kShared);
    start(op_);
    finish(op_);
    ++pulled;
  }
  EXPECT_GT(pulled, 800);
  EXPECT_EQ(receiver_->pulls.counters().shared, 0u);
}

TEST_F(PullsTest, APullCopiesOnceAndMakesNoOtherSystemCall) {
  connect(Choice::kOn);
  fill();
  const std::uint64_t before = receiver_->engine.system_calls().total();
  start(op_);
  finish(op_);
  EXPECT_EQ(op_.end, PullOp::End::kWhole);
  EXPECT_EQ(from_, to_);
  EXPECT_FALSE(receiver_->pulls.work_left());
  EXPECT_EQ(receiver_->engine.system_calls().total(), before);
  EXPECT_LE(receiver_->pulls.calls(), 2 + kSize / (128 * 1024) + 1);  // the probe, and pieces
}

TEST_F(PullsTest, APullScatters) {
  connect(Choice::kOn);
  fill();
  ScatteredWalk target(kSize, false);
  op_.walk = &target;
  start(op_);
  finish(op_);
  EXPECT_EQ(op_.end, PullOp::End::kWhole);
  EXPECT_TRUE(target.content() == from_);
}

TEST_F(PullsTest, PullsFromOnePeerFollowEachOther) {
  connect(Choice::kOn);
  fill();
  Op second;
  start(op_);
  ASSERT_EQ(start(second), PullOp::End::kNone);
  finish(op_);
  EXPECT_EQ(second.ends, 0);
  finish(second);
  EXPECT_EQ(op_.ends, 1);
  EXPECT_EQ(second.ends, 1);
}

// A burst whose messages were all offered while a path was tried: when the trial is lost, the rest is asked for in frames.
TEST_F(PullsTest, ABurstDoesNotFollowATrialToItsEnd) {
  connect(Choice::kAuto);
  fill();
  while (!sender_->pulls.offers(1, kSize)) receive_frames(1, 1'000);
  constexpr std::size_t kBurst = 64;
  std::vector<Op> burst(kBurst);
  std::size_t refused = 0;
  for (Op& op : burst) {
    start(op);
    receiver_->clock.advance(1'000'000);  // far more than the ring takes
  }
  for (Op& op : burst) {
    while (op.end == PullOp::End::kNone) {
      receiver_->clock.advance(1'000'000);
      receiver_->pulls.poll();
    }
    refused += op.end == PullOp::End::kRefused ? 1 : 0;
  }
  EXPECT_GT(refused, kBurst / 2);
  EXPECT_LT(refused, kBurst);
  EXPECT_TRUE(receiver_->pulls.may_pull(0)) << "what is declined may be pulled later";
}

TEST_F(PullsTest, WhatCannotBeReadIsRefused) {
  connect(Choice::kAuto, 78);  // another process has this number
  fill();
  EXPECT_EQ(start(op_), PullOp::End::kRefused);
  EXPECT_FALSE(receiver_->pulls.may_pull(0));
  receive_frames(1000, 100'000);
  EXPECT_FALSE(sender_->pulls.offers(1, kSize));
}

TEST_F(PullsTest, AnAddressThatIsNotThereIsRefusedForGood) {
  connect(Choice::kOn);
  fill();
  op_.address = 4096;
  op_.bytes = kSize;
  op_.data = to_.data();
  op_.end = receiver_->pulls.pull(0, op_);
  finish(op_);
  EXPECT_EQ(op_.end, PullOp::End::kRefused);
  EXPECT_FALSE(receiver_->pulls.may_pull(0));
  EXPECT_FALSE(sender_->pulls.offers(1, kSize));
}

TEST_F(PullsTest, TheEndOfAPeerEndsItsPulls) {
  connect(Choice::kOn);
  fill();
  Op second;
  start(op_);
  start(second);
  receiver_->pulls.end(0, Status::error(MPI_ERR_OTHER, "gone"));
  EXPECT_EQ(second.end, PullOp::End::kLost);
  EXPECT_EQ(second.lost_for, "gone");
  EXPECT_FALSE(receiver_->pulls.work_left());
}

// The receiver measures, the sender follows, and helps; what both copy is whole.
TEST_F(PullsTest, OtherPathsAreTriedAndKept) {
  connect(Choice::kAuto);
  fill();
  int pulled = 0;
  for (int i = 0; i < 400; ++i) {
    if (!sender_->pulls.offers(1, kSize)) {
      receive_frames(1, 900'000);
      continue;
    }
    fill();
    start(op_);
    receiver_->clock.advance(300'000);
    while (op_.end == PullOp::End::kNone) {
      sender_->pulls.poll();
      receiver_->pulls.poll();
      receiver_->clock.advance(1'000);
    }
    ASSERT_EQ(op_.end, PullOp::End::kWhole);
    ASSERT_EQ(from_, to_);
    ++pulled;
  }
  EXPECT_GT(pulled, 300);
  const PathCounters counters = receiver_->pulls.counters();
  EXPECT_GE(counters.trials, 2u);
  EXPECT_GE(counters.changes, 1u);
  EXPECT_GT(counters.shared, 0u);
  EXPECT_GT(sender_->pulls.calls(), 0u);
}

// What one direction gains depends on the other: only where both are pulled does an exchange take a third of the time.
TEST_F(PullsTest, OneRankDecidesForBothDirectionsOfAnExchange) {
  connect(Choice::kAuto);
  fill();
  Op back_op;
  int pulled = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool there = sender_->pulls.offers(1, kSize), back = receiver_->pulls.offers(0, kSize);
    const std::int64_t ns = there && back ? 300'000 : 900'000;
    receive(*receiver_, 0, there, op_, ns);
    receive(*sender_, 1, back, back_op, ns);
    if (i >= 500 && there && back) ++pulled;
  }
  EXPECT_GT(pulled, 450);
}

// In a ping-pong nothing is copied the other way meanwhile, so what both sides copy together is there first.
TEST_F(PullsTest, APingPongIsCopiedByBothSides) {
  connect(Choice::kAuto);
  fill();
  Op back_op;
  const auto pass = [&](Rank& from, std::uint32_t to_local, Rank& to, std::uint32_t from_local, Op& op) {
    const bool offered = from.pulls.offers(to_local, kSize);
    const std::int64_t began = to.clock.now();
    std::int64_t ns = 1'300'000;
    if (offered) {
      op.address = reinterpret_cast<std::uintptr_t>(from_.data());
      op.bytes = kSize;
      op.data = to_.data();
      op.end = to.pulls.pull(from_local, op);
      ns = op.shared ? 380'000 : 650'000;
    }
    from.clock.advance(ns);
    to.clock.advance(ns);
    if (!offered) return to.pulls.came_in_frames(from_local, kSize, 8192, began);
    while (op.end == PullOp::End::kNone) {
      from.pulls.poll();
      to.pulls.poll();
    }
    ASSERT_EQ(op.end, PullOp::End::kWhole);
  };
  int shared = 0;
  for (int i = 0; i < 1000; ++i) {
    pass(*sender_, 1, *receiver_, 0, op_);
    pass(*receiver_, 0, *sender_, 1, back_op);
    if (i >= 500 && op_.shared && back_op.shared) ++shared;
  }
  EXPECT_GT(shared, 450);
}

// The rank that decides for exchanges leaves messages that go one way to their receiver.
TEST_F(PullsTest, AfterAnExchangeEachReceiverDecidesAgain) {
  connect(Choice::kAuto);
  fill();
  Op back_op;
  for (int i = 0; i < 1000; ++i) {
    const bool there = sender_->pulls.offers(1, kSize), back = receiver_->pulls.offers(0, kSize);
    receive(*receiver_, 0, there, op_, 900'000);
    receive(*sender_, 1, back, back_op, there ? 900'000 : 1'200'000);
  }
  int pulled = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool there = sender_->pulls.offers(1, kSize);
    receive(*receiver_, 0, there, op_, there ? 300'000 : 900'000);
    receiver_->pulls.offers(0, 1);
    if (i % 16 == 0) receive(*sender_, 1, receiver_->pulls.offers(0, kSize), back_op, 900'000);
    if (i >= 700 && there) ++pulled;
  }
  EXPECT_GT(pulled, 250);
}

TEST_F(PullsTest, OffMeansOff) {
  connect(Choice::kOff);
  receive_frames(1000, 100'000);
  EXPECT_FALSE(sender_->pulls.offers(1, kSize));
  EXPECT_EQ(receiver_->pulls.calls(), 0u);
}

}  // namespace
}  // namespace lapwing::net::shm
