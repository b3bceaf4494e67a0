// Connections that the test breaks at every kind of moment, under two ranks that have agreed to resume. Nothing may be lost, doubled or damaged,
// and no owner may be told anything but that its frame was delivered.
#include <algorithm>
#include <random>
#include <utility>

#include "net/scattered_walk_for_tests.h"
#include "net/tcp/tcp_pair_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

class TcpResumeTest : public TcpTest, public ::testing::WithParamInterface<Protection> {
 protected:
  void SetUp() override {
    make_nodes();
    attach();
  }
  void make_nodes() {
    TcpTest::SetUp();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      nodes_[rank].reset();
      nodes_[rank] = std::make_unique<Node>(clock_, rank, [](TcpOptions& options) {
        options.resume = Choice::kOn;
        options.wire = GetParam();
      });
    }
  }
  void TearDown() override {
    const auto closed = std::move(nodes_[0]);  // the goodbye that the other sees
  }

  void pump(const std::function<bool()>& done) {
    TcpTest::pump(done, [this] { clock_.advance(100'000); });
  }
  void get_acquainted() {
    TestOp there(1, 100), back(2, 100);
    low().post(1, there);
    high().post(0, back);
    pump([&] { return high().sink.tags.size() == 1 && low().sink.tags.size() == 1; });
    pump([&] { return there.completions == 1 && back.completions == 1; });
    forget();
  }
  void forget() {
    for (auto& node : nodes_) {
      node->sink.tags.clear();
      node->sink.headers = 0;
    }
  }
  bool both_open() {
    return low().transport->link_state({1}) == LinkState::kOpen && high().transport->link_state({0}) == LinkState::kOpen;
  }
  std::uint64_t resumed() {
    return low().transport->counters().connections_resumed + high().transport->counters().connections_resumed;
  }

  bool flushed(Node& node) {
    const engine::Visit visit(node.engine);
    node.transport->ask_for_flush();
    return node.transport->flushed();
  }

  void expect_nothing_lost() {
    EXPECT_TRUE(low().sink.lost.empty()) << low().sink.lost.front();
    EXPECT_TRUE(high().sink.lost.empty()) << high().sink.lost.front();
    EXPECT_TRUE(low().sink.intact && high().sink.intact);
  }
};

constexpr Cut kCuts[] = {Cut::kShutdown, Cut::kReset, Cut::kBoth};

// A process that ends must not take frames along that its kernel may still lose.
TEST_P(TcpResumeTest, AllIsFlushedWhenThePeerHasSaidSo) {
  get_acquainted();
  pump([&] { return flushed(low()) && flushed(high()); });
  TestOp last(1, 100);
  low().post(1, last);
  EXPECT_FALSE(flushed(low()));
  cut(Cut::kBoth, 0);
  pump([&] { return flushed(low()); });
  EXPECT_EQ(high().sink.tags.size(), 1u);
  pump([&] { return flushed(high()); });
  expect_nothing_lost();
}

TEST_P(TcpResumeTest, AnIdleConnectionIsMadeAgain) {
  get_acquainted();
  std::uint64_t before = 0;
  for (const Cut how : kCuts) {
    for (const std::size_t end : {0u, 1u}) {
      cut(how, end);
      pump([&] { return both_open() && resumed() >= before + 2; });
      before = resumed();
      TestOp there(3, 5000), back(4, 5000);
      low().post(1, there);
      high().post(0, back);
      pump([&] { return high().sink.tags.size() == 1 && low().sink.tags.size() == 1; });
      pump([&] { return there.completions == 1 && back.completions == 1; });
      forget();
    }
  }
  expect_nothing_lost();
}

// The payload lands once more where the sink has said, and the sink hears of the frame once.
TEST_P(TcpResumeTest, ALongFrameGoesOnFromItsBeginning) {
  get_acquainted();
  for (const Cut how : kCuts) {
    for (const std::size_t end : {0u, 1u}) {
      for (const bool upwards : {true, false}) {
        Node &from = upwards ? low() : high(), &to = upwards ? high() : low();
        TestOp op(9, 24 << 20);
        from.post(upwards ? 1 : 0, op);
        pump([&] { return to.sink.headers == 1; });
        ASSERT_TRUE(to.sink.tags.empty()) << "the test wants the frame to be half here";
        cut(how, end);
        pump([&] { return to.sink.tags.size() == 1 && op.completions == 1; });
        EXPECT_EQ(op.why, "");
        EXPECT_EQ(to.sink.headers, 1);
        forget();
      }
    }
  }
  expect_nothing_lost();
}

TEST_P(TcpResumeTest, AScatteredFrameGoesOnFromItsBeginning) {
  get_acquainted();
  for (const bool short_segments : {false, true}) {
    Bytes content(8 << 20);
    fill_with_pattern(content, 5);
    ScatteredWalk walk(content, short_segments);
    TestOp op(5);
    op.walk = &walk;
    op.header.describe(wire::Protocol::kMessages, content.size());
    low().post(1, op);
    pump([&] { return high().sink.headers == 1; });
    cut(Cut::kBoth, 0);
    pump([&] { return high().sink.tags.size() == 1 && op.completions == 1; });
    forget();
  }
  expect_nothing_lost();
}

// Attempts to connect again are cut as well, at every step of their handshakes.
TEST_P(TcpResumeTest, ABreakDuringTheHandshakeIsNoOther) {
  get_acquainted();
  for (int turns = 0; turns < 40; ++turns) {
    TestOp there(3, 9000), back(4, 9000);
    low().post(1, there);
    high().post(0, back);
    cut(Cut::kReset, 0);
    for (int i = 0; i < turns; ++i) (i % 2 == 0 ? low() : high()).turn();
    cut(static_cast<Cut>(turns % 3), static_cast<std::size_t>(turns % 2));
    pump([&] { return high().sink.tags.size() == 1 && low().sink.tags.size() == 1; });
    pump([&] { return there.completions == 1 && back.completions == 1; });
    forget();
  }
  expect_nothing_lost();
}

TEST_P(TcpResumeTest, TrafficSurvivesManyBreaks) {
  get_acquainted();
  std::mt19937 random(1);
  constexpr int kFrames = 600;
  std::deque<TestOp> ops[2];
  for (int tag = 0; tag < kFrames; ++tag) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const unsigned kind = random() % 8;
      const std::size_t bytes = kind < 5 ? random() % 300 : kind < 7 ? random() % 70'000 : random() % 2'000'000;
      ops[rank].emplace_back(tag, bytes);
      nodes_[rank]->post(1 - rank, ops[rank].back());
    }
    for (unsigned turns = random() % 4; turns > 0; --turns) nodes_[random() % 2]->turn();
    clock_.advance(100'000);
    if (tag % 20 != 0) continue;
    if (tag % 40 == 0) pump([&] { return both_open(); });  // else in whatever state it is
    cut(static_cast<Cut>(random() % 3), random() % 2);
  }
  pump([&] { return low().sink.tags.size() == kFrames && high().sink.tags.size() == kFrames; });
  pump([&] { return flushed(low()) && flushed(high()); });
  for (auto& node : nodes_) {
    for (int tag = 0; tag < kFrames; ++tag) ASSERT_EQ(node->sink.tags[static_cast<std::size_t>(tag)], tag);
  }
  for (auto& sent : ops) {
    pump([&] { return std::all_of(sent.begin(), sent.end(), [](const TestOp& op) { return op.completions == 1; }); });
    for (const TestOp& op : sent) EXPECT_EQ(op.why, "");
  }
  EXPECT_GE(resumed(), 20u);
  expect_nothing_lost();
}

// A sender that waits gets its memory back without a word from the receiver.
TEST_P(TcpResumeTest, AFrameIsCopiedForASenderThatWaits) {
  get_acquainted();
  TestOp op(7, 64 << 10);
  low().post(1, op);
  EXPECT_EQ(op.completions, 0) << "it lies where its owner has it";
  for (int i = 0; i < 100 && op.completions == 0; ++i) low().turn();
  EXPECT_EQ(op.completions, 1);
  for (std::byte& byte : op.payload) byte = std::byte{0};
  cut(Cut::kBoth, 0);
  pump([&] { return high().sink.tags.size() == 1; });
  expect_nothing_lost();
}

// An owner that counts its undelivered frames may hand over the next one as soon as the first has left.
TEST_P(TcpResumeTest, TakenAndDeliveredAreTwo) {
  get_acquainted();
  struct Count : Undelivered {
    Count() : Undelivered([](Undelivered& all, const Status& status) noexcept {
      EXPECT_TRUE(status.ok());
      ++static_cast<Count&>(all).times;
    }) {}
    int times = 0;
  } count;
  TestOp op(7, 6 << 20);  // more than is copied
  op.undelivered = &count;
  low().post(1, op);
  pump([&] { return op.completions == 1; });
  EXPECT_FALSE(count.none());
  pump([&] { return count.none(); });
  EXPECT_EQ(count.times, 1);
  EXPECT_EQ(high().sink.tags.size(), 1u) << "told before it was delivered";
  expect_nothing_lost();
}

// Before anything else is done, so that a sender that waits need not copy it.
TEST_P(TcpResumeTest, ALongFrameIsAcknowledgedAtOnce) {
  get_acquainted();
  TestOp op(7, 6 << 20);  // more than is copied
  low().post(1, op);
  while (high().sink.tags.empty()) {
    low().turn();
    high().turn();
  }
  EXPECT_EQ(op.completions, 0);
  for (int i = 0; i < 1'000'000 && op.completions == 0; ++i) low().turn();
  EXPECT_EQ(op.completions, 1) << "the other side has no turn meanwhile";
  expect_nothing_lost();
}

TEST_P(TcpResumeTest, AStreamInOneDirectionIsAcknowledged) {
  get_acquainted();
  constexpr int kFrames = 4000;
  std::deque<TestOp> ops;
  for (int tag = 0; tag < kFrames; ++tag) {
    ops.emplace_back(tag, 3000);  // 12 MB in all: far more than is kept
    low().post(1, ops.back());
    if (tag % 16 == 0) high().turn();
  }
  pump([&] { return high().sink.tags.size() == kFrames; });
  pump([&] { return std::all_of(ops.begin(), ops.end(), [](const TestOp& op) { return op.completions == 1; }); });
  expect_nothing_lost();
}

// Both have as much under way as they can copy, behind more than the sockets take: each needs the other's acknowledgement, and it must find its way.
TEST_P(TcpResumeTest, StreamsInBothDirectionsAreAcknowledged) {
  get_acquainted();
  constexpr int kLong = 300, kShort = 20'000;
  constexpr std::size_t kBytes = 60'000;
  std::deque<TestOp> ops;
  for (int tag = 0; tag < kLong + kShort; ++tag) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      ops.emplace_back(tag, tag < kLong ? kBytes : 0);
      nodes_[rank]->post(1 - rank, ops.back());
    }
  }
  pump([&] { return high().sink.tags.size() == kLong + kShort && low().sink.tags.size() == kLong + kShort; });
  pump([&] { return std::all_of(ops.begin(), ops.end(), [](const TestOp& op) { return op.completions == 1; }); });
  pump([&] { return flushed(low()) && flushed(high()); });
  expect_nothing_lost();
}

// Its host says at once that nothing listens there any more.
TEST_P(TcpResumeTest, APeerThatHasEndedIsNotWaitedFor) {
  get_acquainted();
  for (int fd = 3; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t length = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0) ::shutdown(fd, SHUT_RDWR);
  }
  cut(Cut::kReset, 0);
  const std::int64_t before = clock_.now();
  pump([&] { return !low().sink.lost.empty() && !high().sink.lost.empty(); });
  EXPECT_LT(clock_.now() - before, 10 * kSecond);
  EXPECT_NE(high().sink.lost[0].find("rank 1 on host node1 lost its connection to rank 0 on host node0"), std::string::npos)
      << high().sink.lost[0];
}

TEST_P(TcpResumeTest, APeerThatHasGivenUpIsNotWaitedFor) {
  get_acquainted();
  high().sink.refuse = "no such receive";
  TestOp op(1);
  low().post(1, op);
  const std::int64_t before = clock_.now();
  pump([&] { return !high().sink.lost.empty() && !low().sink.lost.empty(); });
  EXPECT_LT(clock_.now() - before, 10 * kSecond);
}

TEST_P(TcpResumeTest, AGoodbyeIsNoBreak) {
  get_acquainted();
  nodes_[0].reset();
  pump([&] { return high().transport->link_state({0}) == LinkState::kFinished; });
  nodes_[0] = std::make_unique<Node>(clock_, 0);  // for TearDown
}

// One side that does not want to is enough.
TEST_F(TcpTest, ABreakIsTheEndWhereOneSideDoesNotResume) {
  nodes_[0] = std::make_unique<Node>(clock_, 0, [](TcpOptions& options) { options.resume = Choice::kOff; });
  nodes_[1] = std::make_unique<Node>(clock_, 1, [](TcpOptions& options) { options.resume = Choice::kOn; });
  attach();
  TestOp there(1);
  high().post(0, there);
  pump([&] { return low().sink.tags.size() == 1; });
  low().sink.refuse = "enough";
  TestOp again(2);
  high().post(0, again);
  pump([&] { return high().sink.lost.size() == 1 && low().sink.lost.size() == 1; });
  EXPECT_EQ(high().transport->link_state({0}), LinkState::kLost);
}

// The two ranks of a host ask for different things, and the one that does not ask makes the second connection.
TEST_F(TcpTest, WhatHasResumedOnceGoesOnResumingWhicheverSideConnects) {
  nodes_[0] = std::make_unique<Node>(clock_, 0, [](TcpOptions& options) { options.resume = Choice::kOn; });
  nodes_[1] = std::make_unique<Node>(clock_, 1, [](TcpOptions& options) { options.resume = Choice::kAuto; });
  attach();
  TestOp there(1, 100);
  low().post(1, there);
  pump([&] { return high().sink.tags.size() == 1; });
  for (int tag = 2; tag < 10; ++tag) {
    TestOp back(tag, 100);
    cut(Cut::kReset, static_cast<std::size_t>(tag % 2));
    high().post(0, back);
    pump([&] { return low().sink.tags.size() == static_cast<std::size_t>(tag - 1) && back.completions == 1; }, [this] { clock_.advance(100'000); });
  }
  EXPECT_TRUE(low().sink.lost.empty() && high().sink.lost.empty());
  EXPECT_TRUE(low().sink.intact && high().sink.intact);
}

// The peer has noticed that it does not get through any more. It alone knows since when.
TEST_F(TcpTest, ABreakThatOnlyThePeerHasNoticedIsToldWithoutItsLength) {
  nodes_[1] = std::make_unique<Node>(clock_, 1, [](TcpOptions& options) { options.resume = Choice::kOn; });
  attach();
  wire::Terms terms;
  terms.features = wire::kFeatureResume;
  const Socket first = join_as_rank_0(terms);
  terms.position.attempt = 1;
  ::testing::internal::CaptureStderr();
  const Socket second = join_as_rank_0(terms);
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(high().transport->counters().connections_resumed, 1u);
  EXPECT_NE(told.find("rank 0 on host node0: the connection broke, and another has taken its place, at 127.0.0.1:"), std::string::npos) << told;
  EXPECT_NE(told.find(", before this rank had noticed\n"), std::string::npos) << told;
}

// It has reset the connection, and this rank heard that only when the network was back.
TEST_F(TcpTest, ABreakHasNoLengthWhereThePeerHasTriedMoreOften) {
  nodes_[1] = std::make_unique<Node>(clock_, 1, [](TcpOptions& options) { options.resume = Choice::kOn; });
  low().card.set("tcp", "224.0.0.1:9/8");  // cannot be reached
  attach();
  wire::Terms terms;
  terms.features = wire::kFeatureResume;
  Socket connection = join_as_rank_0(terms);
  const auto break_and_join = [&](std::uint64_t tries) {
    connection.reset_on_close();
    connection = Socket();
    pump([&] { return high().transport->link_state({0}) == LinkState::kConnecting; });
    clock_.advance(2'000'000);
    terms.position.attempt += tries;
    ::testing::internal::CaptureStderr();
    connection = join_as_rank_0(terms);
    return ::testing::internal::GetCapturedStderr();
  };
  const std::string as_often = break_and_join(1), more_often = break_and_join(7);
  EXPECT_NE(as_often.find(", after 0.00 s\n"), std::string::npos) << as_often;
  EXPECT_NE(more_often.find("the connection broke, and another has taken its place, at 127.0.0.1:"), std::string::npos) << more_often;
  EXPECT_EQ(more_often.find("after"), std::string::npos) << more_often;
}

// No address of the peer can be reached any more, and none refuses: only time tells.
class TcpCutTest : public TcpResumeTest {
 protected:
  void SetUp() override {
    make_nodes();
    low().card.set("tcp", "224.0.0.1:9/8");
    attach();
  }
};

TEST_P(TcpCutTest, ABreakHasATime) {
  TestOp first(1), second(2, 5000);
  low().post(1, first);
  pump([&] { return high().sink.tags.size() == 1 && first.completions == 1 && both_open(); });
  cut(Cut::kBoth, 0);
  const std::int64_t before = clock_.now();
  for (int turns = 0; high().sink.lost.empty() && turns < 10'000; ++turns) {
    if (turns == 100) high().post(0, second);
    high().turn();  // and never the other
    clock_.advance(kSecond / 20);
  }
  ASSERT_EQ(high().sink.lost.size(), 1u);
  EXPECT_GE(clock_.now() - before, 60 * kSecond);
  EXPECT_LT(clock_.now() - before, 62 * kSecond);
  for (const char* part : {"rank 1 on host node1 lost its connection to rank 0 on host node0 (127.0.0.1:",
                           ". No other connection could be made for 60", " tries; LAPWING_PEER_TIMEOUT says how long to try. The last one: ",
                           "224.0.0.1:9"})
    EXPECT_NE(high().sink.lost[0].find(part), std::string::npos) << high().sink.lost[0];
  EXPECT_EQ(second.completions, 1);
  EXPECT_EQ(second.why, high().sink.lost[0]);
}

// The other side has been there all the time, and the network is back.
TEST_P(TcpCutTest, ARankThatWasGivenUpIsTold) {
  TestOp first(1), second(2, 5000);
  low().post(1, first);
  pump([&] { return high().sink.tags.size() == 1 && first.completions == 1 && both_open(); });
  cut(Cut::kBoth, 0);
  for (int turns = 0; high().sink.lost.empty() && turns < 10'000; ++turns) {
    high().turn();  // and not the other
    clock_.advance(kSecond / 20);
  }
  EXPECT_FALSE(high().sink.given_up);
  clock_.advance(7 * kSecond);
  const std::int64_t before = clock_.now();
  low().post(1, second);
  pump([&] { return !low().sink.lost.empty(); });
  EXPECT_LT(clock_.now() - before, kSecond) << "it goes on dialling";
  EXPECT_TRUE(low().sink.given_up) << "it would tell the others that the peer is lost";
  ASSERT_EQ(low().sink.lost.size(), 1u);
  for (const char* part : {"rank 0 on host node0 has been given up by rank 1 on host node1 7.05 s ago, when it had not reached it for 60",
                           "LAPWING_PEER_TIMEOUT, on that rank, says how long"})
    EXPECT_NE(low().sink.lost[0].find(part), std::string::npos) << low().sink.lost[0];
  EXPECT_EQ(low().sink.lost_class, MPI_ERR_PROC_ABORTED);
  EXPECT_EQ(low().transport->link_state({1}), LinkState::kLost);
  EXPECT_EQ(second.completions, 1);
  EXPECT_EQ(second.why, low().sink.lost[0]);
}

// One that has been given up itself has no say about others.
TEST_P(TcpCutTest, ARankThatIsGivenUpItselfGivesUpNoOther) {
  TestOp first(1);
  low().post(1, first);
  pump([&] { return high().sink.tags.size() == 1 && first.completions == 1 && both_open(); });
  cut(Cut::kBoth, 0);
  for (int turns = 0; high().sink.lost.empty() && turns < 10'000; ++turns) {
    high().turn();
    clock_.advance(kSecond / 20);
  }
  high().sink.given_up = true;
  pump([&] { return !low().sink.lost.empty(); });
  EXPECT_FALSE(low().sink.given_up);
  EXPECT_NE(low().sink.lost[0].find("That process has ended"), std::string::npos) << low().sink.lost[0];
}

constexpr Protection kProtections[] = {Protection::kPlain, Protection::kChecked, Protection::kSealed};
std::string name_of_case(const ::testing::TestParamInfo<Protection>& info) {
  return name_of(info.param);
}
INSTANTIATE_TEST_SUITE_P(Wires, TcpResumeTest, ::testing::ValuesIn(kProtections), name_of_case);
INSTANTIATE_TEST_SUITE_P(Wires, TcpCutTest, ::testing::ValuesIn(kProtections), name_of_case);

}  // namespace
}  // namespace lapwing::net::tcp::tests
