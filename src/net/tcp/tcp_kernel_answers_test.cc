// Answers that a program in the kernel gives in a process's name, by the second connection of a link (net/tcp/answer_way.h). Skipped where this process
// may load no program.
#include <algorithm>
#include <deque>
#include <vector>

#include "net/tcp/kernel_receive_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

class TcpKernelAnswers : public TcpKernelTest {
 protected:
  static constexpr int kAnswer = static_cast<int>(wire::MessageKind::kCts) | wire::kFlagByCarrier << 8;

  void SetUp() override {
    TcpKernelTest::SetUp();
    if (IsSkipped()) return;
    low().sink.takes_any_order = true;
    sink_.token = 77;
    get_acquainted();
    const std::vector<int> before = connections();
    pump([&] { return asks(); });
    turn_high();
    for (const int fd : connections()) {
      if (std::find(before.begin(), before.end(), fd) == before.end()) ends_.push_back(fd);
    }
    ASSERT_EQ(ends_.size(), 2u);
  }
  bool asks() {
    const engine::Visit visit(low().engine);
    return low().transport->asking({1}, 100'000) != Asking::kNever;
  }
  void ask(int number, std::uint64_t bytes = 100'000) {
    requests_.emplace_back(kLent, number, 0).header = request(number, bytes);
    low().post(1, requests_.back());
  }
  bool wakes(int milliseconds) {
    engine::EventPort::Batch batch;
    high().engine.port().collect(batch, milliseconds);
    const bool woken = batch.count != 0;
    disarm();
    const engine::Visit visit(high().engine);
    high().engine.port().deliver(batch);
    return woken;
  }

  std::vector<int> ends_;  // of the way for answers
  std::deque<MessageOp> requests_;
};

TEST_F(TcpKernelAnswers, ARequestIsAnsweredWhileTheProcessComputes) {
  for (int number = 0; number < 3; ++number) {
    post_receives(1, 1 << 20, true);
    ASSERT_TRUE(arm());
    ask(number);
    for (int turns = 0; low().sink.tags.size() <= static_cast<std::size_t>(number) && turns < 2'000'000; ++turns) low().turn();
    ASSERT_EQ(low().sink.tags.size(), number + 1u);
    EXPECT_EQ(low().sink.tags.back(), kAnswer);
    EXPECT_FALSE(wakes(0));
    pump([&] { return sink_.landed == number + 1; });
  }
  MessageOp op(kNeverLent, 1, 10);  // what follows comes
  low().post(1, op);
  pump([&] { return sink_.passed == 2; });
  expect_all_well();
}

TEST_F(TcpKernelAnswers, AMessageIsAcknowledgedWhileTheProcessComputes) {
  constexpr int kAcknowledgement = static_cast<int>(wire::MessageKind::kAck) | wire::kFlagByCarrier << 8;
  const std::size_t lengths[] = {0, 1000, 1 << 16};
  for (int number = 0; number < 3; ++number) {
    post_receives(1, 1 << 20, true);
    ASSERT_TRUE(arm());
    MessageOp& op = requests_.emplace_back(kLent, number, lengths[number]);
    op.header.set_own(4, 1000 + static_cast<std::uint64_t>(number));
    op.trailer = true;
    low().post(1, op);
    for (int turns = 0; low().sink.tags.size() <= static_cast<std::size_t>(number) && turns < 2'000'000; ++turns) low().turn();
    ASSERT_EQ(low().sink.tags.size(), number + 1u);
    EXPECT_EQ(low().sink.tags.back(), kAcknowledgement);
    EXPECT_FALSE(wakes(0));
    pump([&] { return sink_.landed == number + 1; });
    EXPECT_EQ(sink_.acknowledged, number + 1);
  }
  expect_all_well();
}

// A thread that waits answers sooner than the kernel does.
TEST_F(TcpKernelAnswers, WhereAThreadWaitsItAnswers) {
  post_receives(1, 1 << 20, true);
  ask(0);
  pump([&] { return sink_.passed == 2; });
  EXPECT_TRUE(low().sink.tags.empty());
  expect_all_well();
}

TEST_F(TcpKernelAnswers, WhatHasNoReceiveOrNoRoomOrNoTokenIsPassedOn) {
  post_receives(1, 1000, true);
  ASSERT_TRUE(arm());
  ask(0, 1001);
  EXPECT_TRUE(wakes(1000));
  pump([&] { return sink_.passed == 2; });
  sink_.token = 0;
  post_receives(1, 1 << 20, true);
  ASSERT_TRUE(arm());
  ask(1);
  EXPECT_TRUE(wakes(1000));
  pump([&] { return sink_.passed == 3; });
  EXPECT_TRUE(low().sink.tags.empty());
  expect_all_well();
}

// The process is told, and answers from then on.
TEST_F(TcpKernelAnswers, AWayForAnswersThatBreaksIsNotMissed) {
  reset(ends_.front());
  pump([&] { return sink_.answers_lost == 1; });
  EXPECT_FALSE(asks());
  post_receives(1, 1 << 20, true);
  pump([&] { return arm() || (disarm(), false); });
  ask(0);
  EXPECT_TRUE(wakes(1000));
  pump([&] { return sink_.passed == 2; });
  EXPECT_TRUE(low().sink.tags.empty());
  EXPECT_TRUE(low().sink.lost.empty());
  expect_all_well();
}

// As a network that both sides hear nothing of any more. The kernel does not tell each reader of an end of such a socket.
TEST_F(TcpKernelAnswers, AWayForAnswersThatBreaksAtBothEndsIsNotMissed) {
  for (const int end : ends_) reset(end);
  pump([&] { return sink_.answers_lost == 1 && !asks(); });
  expect_all_well();
}

// Its maker may not have heard that it stood before it broke, and tries once more.
TEST_F(TcpKernelAnswers, ARankWhoseWayForAnswersIsLostIsNotGivenUp) {
  reset(ends_.front());
  pump([&] { return sink_.answers_lost == 1; });
  wire::Terms terms;
  terms.features = wire::kFeatureGivenUp;
  terms.rail = 0xffff;
  EXPECT_EQ(verdict_for_rank_0(terms), wire::Handshake::State::kGone);
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
