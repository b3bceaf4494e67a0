// What every transport must do beside moving a message, run over each of them: floods, sleeping and being woken, event threads,
// farewell and loss.
#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "net/conformance_for_tests.h"

namespace lapwing::net {
namespace {

// Those of Conformance itself (conformance_test.cc) run in one thread, which turns both ranks: no sanitizer of threads need see them.
class ConformanceWithThreads : public Conformance {};

// Both ranks send much more than fits in between, from threads of their own, and sleep whenever they can.
TEST_P(ConformanceWithThreads, AFloodInBothDirectionsEnds) {
  constexpr int kMessages = 300;
  constexpr std::uint64_t kBytes = 40'000;
  struct Finish final : engine::Operation {};
  const auto run = [&](Node& node, PeerId peer) {
    std::deque<TestOp> ops(kMessages);
    Finish all;
    int missing = 2 * kMessages;  // sent and received
    engine::Visit visit(node.engine);
    const auto one_less = [&] {
      if (--missing == 0) node.engine.finish(all);
    };
    node.engine.begin(all);
    node.sink.after_frame = one_less;
    for (int i = 0; i < kMessages; ++i) {
      set_tag(ops[i], i);
      ops[i].carry(make_bytes(kBytes + i, i));
      ops[i].then = [&](TestOp&) { one_less(); };
      post_and_tell(*node.transport, peer, ops[i]);
    }
    visit.wait(all);
    node.sink.after_frame = nullptr;
    for (int i = 0; i < kMessages; ++i) EXPECT_TRUE(node.sink.received[i].bytes == ops[i].bytes);
  };
  if (GetParam().loops_back()) {
    run(sender(), PeerId{0});
    return;
  }
  std::thread other([&] { run(*second_, PeerId{0}); });
  run(*first_, PeerId{1});
  other.join();
}

// A ping-pong in which each side sleeps before every answer: no wake-up may be missed.
TEST_P(ConformanceWithThreads, NoWakeUpIsLost) {
  if (GetParam().loops_back()) GTEST_SKIP() << "self does not sleep";
  constexpr int kRounds = 2000;
  struct Arrival final : engine::Operation {};
  const auto run = [&](Node& node, PeerId peer, bool begins) {
    TestOp op;
    op.carry(make_bytes(8, 1));
    engine::Visit visit(node.engine);
    Arrival arrival;
    node.sink.after_frame = [&] { node.engine.finish(arrival); };
    for (int round = 0; round < kRounds; ++round) {
      node.engine.begin(arrival);
      if (begins) post_and_tell(*node.transport, peer, op);
      visit.wait(arrival);
      if (!begins) post_and_tell(*node.transport, peer, op);
    }
    node.sink.after_frame = nullptr;
  };
  // The last answer may still have to leave when its sender is done: his rank lives on until both threads have ended.
  std::thread other([&] { run(*second_, PeerId{0}, false); });
  run(*first_, PeerId{1}, true);
  other.join();
}

// Messages longer than any buffer move while neither application is inside the library.
TEST_P(ConformanceWithThreads, EventThreadsMoveMessagesAlone) {
  engine::EngineOptions options;
  options.event_thread = true;
  options.spin_budget = 0;
  open(options);
  std::atomic<int> arrived{0};
  constexpr int kMessages = 20;
  {
    const engine::Visit visit(receiver().engine);
    receiver().engine.hold();  // a receive is in flight there
    receiver().sink.after_frame = [&] {
      arrived.fetch_add(1);
      arrived.notify_one();
    };
  }
  std::deque<TestOp> ops(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ops[i].carry(make_bytes(500'000 + i, i));
    post(ops[i]);
  }
  for (int seen; (seen = arrived.load()) < kMessages;) arrived.wait(seen);
  wait_until_taken(ops);
  const engine::Visit visit(receiver().engine);
  for (int i = 0; i < kMessages; ++i) EXPECT_TRUE(receiver().sink.received[i].bytes == ops[i].bytes);
  receiver().sink.after_frame = nullptr;
  receiver().engine.unhold();
}

// The receiver's application computes with nothing in flight: what comes may lie there, but not so that it holds up its sender.
TEST_P(ConformanceWithThreads, ASenderIsNotHeldUpByAReceiverAtRest) {
  engine::EngineOptions options;
  options.event_thread = true;
  options.spin_budget = 0;
  open(options);
  {
    const engine::Visit visit(receiver().engine);
  }  // it comes to rest
  constexpr int kMessages = 2000;
  std::deque<TestOp> ops(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ops[i].carry(make_bytes(1000 + i, i));
    post(ops[i]);
  }
  wait_until_taken(ops);
  pump([&] {
    const engine::Visit visit(receiver().engine);
    return receiver().sink.received.size() == kMessages;
  });
  const engine::Visit visit(receiver().engine);
  for (int i = 0; i < kMessages; ++i) EXPECT_TRUE(receiver().sink.received[i].bytes == ops[i].bytes);
}

// ... wherever in a transport's memory the messages begin that come then.
TEST_P(ConformanceWithThreads, NorWhereverTheMessagesBegin) {
  engine::EngineOptions options;
  options.event_thread = true;
  options.spin_budget = 0;
  open(options);
  std::size_t posted = 0;
  const auto post_another = [&](TestOp& op) {
    op.carry(make_bytes(1000, posted++));
    post(op);
  };
  const auto pump_until_received_all = [&] {
    pump([&] {
      const engine::Visit visit(receiver().engine);
      return receiver().sink.received.size() == posted;
    });
  };
  constexpr int kMessages = 40;  // more than a short lap of a ring in shared memory
  for (int one_by_one = kMessages; one_by_one < 2 * kMessages; ++one_by_one) {
    for (int i = 0; i < one_by_one; ++i) {
      std::deque<TestOp> op(1);
      post_another(op.front());
      pump_until_received_all();
      wait_until_taken(op);
      if (HasFatalFailure()) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // with time enough the receiver comes to rest
    std::deque<TestOp> ops(kMessages);
    for (TestOp& op : ops) post_another(op);
    wait_until_taken(ops);
    if (HasFatalFailure()) return;
    pump_until_received_all();
  }
}

TEST_P(ConformanceWithThreads, AnUrgentFrameReachesAReceiverAtRest) {
  engine::EngineOptions options;
  options.event_thread = true;
  options.spin_budget = 0;
  open(options);
  std::atomic<bool> arrived{false};
  {
    const engine::Visit visit(receiver().engine);
    receiver().sink.after_frame = [&] { arrived.store(true); };
  }
  {
    const engine::Visit visit(sender().engine);
    sender().engine.hold();  // the operation that the frames belong to is in flight
  }
  for (int round = 0; round < 20; ++round) {
    TestOp op;
    op.delivery = Delivery::kUrgent;
    op.carry(make_bytes(sender().capabilities(receiver_rank()).urgent_bytes, round));
    arrived.store(false);
    post(op);
    while (!arrived.load()) std::this_thread::yield();
    for (bool taken = false; !taken; std::this_thread::yield()) {
      const engine::Visit visit(sender().engine);
      taken = op.completions == 1;
    }
  }
  {
    const engine::Visit visit(sender().engine);
    sender().engine.unhold();
  }
  const engine::Visit visit(receiver().engine);
  receiver().sink.after_frame = nullptr;
}

TEST_P(ConformanceWithThreads, AnExpectedFarewellIsSilent) {
  get_acquainted();
  {
    const engine::Visit visit(receiver().engine);
    receiver().transport->expect_goodbye();
  }
  sender().close();
  for (int i = 0; i < 1000 && second_; ++i) second_->turn();
  EXPECT_EQ(receiver().sink.lost, 0);
  TestOp late;
  late.carry(make_bytes(8, 1));
  receiver().post(sender().config.self, late);
  pump([&] { return late.completions == 1; });
  EXPECT_TRUE(late.failed);
}

TEST_P(ConformanceWithThreads, AnUnexpectedFarewellIsReportedOnce) {
  if (GetParam().loops_back()) GTEST_SKIP() << "no rank leaves itself";
  get_acquainted();
  sender().close();
  pump([&] { return receiver().sink.lost != 0; });
  for (int i = 0; i < 100; ++i) receiver().turn();
  EXPECT_EQ(receiver().sink.lost, 1);
  EXPECT_FALSE(receiver().sink.lost_within_frame);
  EXPECT_NE(receiver().sink.lost_text.find("rank 0"), std::string::npos) << receiver().sink.lost_text;
  TestOp late;
  late.carry(make_bytes(8, 1));
  receiver().post({0}, late);
  EXPECT_EQ(late.completions, 1);
  EXPECT_TRUE(late.failed);
}

TEST_P(ConformanceWithThreads, APeerThatBreaksTheProtocolIsLost) {
  receiver().sink.choose = [](PeerId, const wire::FrameHeader& header) {
    Landing landing;
    landing.violation = tag_of(header) == 13;
    landing.reason = "tag 13 brings bad luck";
    return landing;
  };
  std::deque<TestOp> ops(3);
  for (TestOp& op : ops) op.carry(make_bytes(1000, 1));
  set_tag(ops[1], 13);
  for (TestOp& op : ops) post(op);
  pump([&] { return receiver().sink.lost != 0; });
  EXPECT_EQ(receiver().sink.received.size(), 1u);
  EXPECT_EQ(receiver().sink.headers, 2);
  EXPECT_NE(receiver().sink.lost_text.find("tag 13 brings bad luck"), std::string::npos) << receiver().sink.lost_text;
  TestOp late;
  late.carry(make_bytes(8, 1));
  receiver().post(sender().config.self, late);
  pump([&] { return late.completions == 1; });
  EXPECT_TRUE(late.failed);
  if (GetParam().kind.notices_end) {
    pump([&] { return sender().sink.lost != 0; });
    TestOp more;
    more.carry(make_bytes(8, 1));
    post(more);
    EXPECT_TRUE(more.failed);
  }
}

TEST_P(ConformanceWithThreads, APeerLostInTheMiddleOfAFrame) {
  if (!GetParam().kind.notices_end) GTEST_SKIP() << "only the launcher sees such a death";
  get_acquainted();
  TestOp half, queued;
  half.carry(make_bytes(48 << 20, 4));
  post(half);
  for (int i = 0; i < 1000 || receiver().sink.headers == 0; ++i) receiver().turn();
  queued.carry(make_bytes(48 << 20, 4));
  receiver().post({0}, queued);
  sender().close();
  pump([&] { return receiver().sink.lost != 0; });
  EXPECT_EQ(receiver().sink.lost, 1);
  EXPECT_TRUE(receiver().sink.lost_within_frame);
  EXPECT_EQ(queued.completions, 1);
  EXPECT_TRUE(queued.failed);
}

INSTANTIATE_TEST_SUITE_P(Transports, ConformanceWithThreads, testing::ValuesIn(all_cases()), name_of_case);

}  // namespace
}  // namespace lapwing::net
