// How two ranks get a connection: both at once, over several addresses, against deadlines and limits; and how it is told that they get none.
#include <sys/resource.h>

#include "net/tcp/tcp_pair_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

TEST_F(TcpTest, ConnectsOnFirstUseAndOnlyOnce) {
  attach();
  EXPECT_EQ(low().transport->link_state({1}), LinkState::kIdle);
  TestOp there(1), back(2);
  low().post(1, there);
  pump([&] { return high().sink.tags.size() == 1; });
  high().post(0, back);
  pump([&] { return low().sink.tags.size() == 1; });
  EXPECT_EQ(low().transport->counters().connections_made, 1u);
  EXPECT_EQ(high().transport->counters().connections_made, 0u);
  EXPECT_EQ(high().transport->counters().connections_accepted, 1u);
}

// Both ranks post before either has heard of the other, in every interleaving of their turns that a bit pattern gives.
TEST_F(TcpTest, SimultaneousConnectsLeaveOneConnection) {
  for (unsigned pattern = 0; pattern < 1024; pattern += 3) {
    SetUp();
    attach();
    std::deque<TestOp> ops;
    for (int tag = 0; tag < 6; ++tag) ops.emplace_back(tag, 1000);
    unsigned step = 0;
    const auto chosen = [&]() -> Node& { return (pattern >> (step++ % 10) & 1) != 0 ? high() : low(); };
    low().post(1, ops[0]);
    for (int i = 0; i < 3; ++i) chosen().turn();
    high().post(0, ops[1]);
    for (int i = 0; i < 10; ++i) chosen().turn();
    low().post(1, ops[2]);
    high().post(0, ops[3]);
    pump([&] { return low().sink.tags.size() == 2 && high().sink.tags.size() == 2; });
    low().post(1, ops[4]);
    high().post(0, ops[5]);
    pump([&] { return low().sink.tags.size() == 3 && high().sink.tags.size() == 3; });
    EXPECT_EQ(high().sink.tags, (std::vector<int>{0, 2, 4}));
    EXPECT_EQ(low().sink.tags, (std::vector<int>{1, 3, 5}));
    for (const TestOp& op : ops) EXPECT_EQ(op.completions, 1);
    const TcpCounters &a = low().transport->counters(), &b = high().transport->counters();
    EXPECT_EQ(a.connections_made + b.connections_made, 1u) << pattern;
    EXPECT_EQ(a.connections_accepted + b.connections_accepted, 1u) << pattern;
    EXPECT_TRUE(low().sink.lost.empty() && high().sink.lost.empty());
  }
}

// The lower rank connects where nothing answers; the higher rank's connection comes in meanwhile and is taken.
TEST_F(TcpTest, OneWayRoundIsEnough) {
  const Socket silent = open_listener();
  high().card.set("tcp", silent.local_address().text() + "/8");
  attach();
  TestOp down(1), up(2);
  low().post(1, down);
  for (int i = 0; i < 10; ++i) low().turn();
  ASSERT_EQ(low().transport->link_state({1}), LinkState::kConnecting);
  high().post(0, up);
  pump([&] { return low().sink.tags.size() == 1 && high().sink.tags.size() == 1; });
  EXPECT_EQ(low().transport->counters().connections_accepted, 1u);
  EXPECT_EQ(low().transport->counters().connections_made, 0u);
}

// The test plays rank 0, which answers rank 1's connection.
class TcpAnswerTest : public TcpTest {
 protected:
  // Up to the verdict.
  Socket answer(TestOp& op, wire::Verdict verdict, const wire::Terms& terms = {}) {
    const Socket listener = open_listener();
    low().card.set("tcp", listener.local_address().text() + "/8");
    attach();
    high().post(0, op);
    Socket accepted;
    Address from;
    pump([&] { return listener.accept(accepted, from) == 0; });
    before_the_handshake();
    wire::Handshake handshake = wire::Handshake::acceptor(key_, {runtime::kJobForTests, 0}, 2, wire::random_nonce(), terms);
    pump([&] { return handshake.state() == wire::Handshake::State::kProven; },
         [&] {
           std::byte bytes[wire::Handshake::kMaxMessageBytes];
           const ssize_t count = ::recv(accepted.fd(), bytes, handshake.wanted(), MSG_DONTWAIT);
           if (count <= 0) return;
           handshake.receive(bytes, static_cast<std::size_t>(count));
           if (handshake.output_bytes() > 0) send_bytes(accepted, handshake.output(), handshake.output_bytes());
         });
    handshake.decide(verdict);
    send_bytes(accepted, handshake.output(), handshake.output_bytes());
    return accepted;
  }
  virtual void before_the_handshake() {}
};

class TcpDuplicateTest : public TcpAnswerTest {
 protected:
  void answer_with_duplicate(TestOp& op) {
    answer(op, wire::Verdict::kDuplicate);
    pump([&] { return high().transport->link_state({0}) == LinkState::kAwaiting; });
    EXPECT_EQ(op.completions, 0);
  }
};

// Frames that are posted while the connection is being made have no numbers yet; then each gets one.
class TcpEarlyFramesTest : public TcpAnswerTest {
 protected:
  void before_the_handshake() override {
    for (TestOp& op : early_) high().post(0, op);
  }
  TestOp early_[3] = {TestOp(1), TestOp(2, 100), TestOp(3, 10'000)};
};

TEST_F(TcpEarlyFramesTest, FramesOfBeforeTheConnectionAreNumberedOnce) {
  TestOp first(0), late(4);
  const Socket socket = answer(first, wire::Verdict::kAccepted);
  pump([&] { return high().transport->link_state({0}) == LinkState::kOpen; });
  high().post(0, late);
  std::vector<std::byte> bytes;
  constexpr std::size_t kAll = 5 * wire::kHeaderBytes + 100 + 10'000;
  pump([&] { return bytes.size() >= kAll; },
       [&] {
         std::byte some[4096];
         const ssize_t count = ::recv(socket.fd(), some, sizeof some, MSG_DONTWAIT);
         if (count > 0) bytes.insert(bytes.end(), some, some + count);
       });
  ASSERT_EQ(bytes.size(), kAll);
  std::size_t at = 0;
  for (std::uint32_t number = 0; number < 5; ++number) {
    wire::FrameHeader header;
    std::memcpy(header.words, &bytes[at], sizeof header.words);
    EXPECT_EQ(header.numbers().sequence, number);
    EXPECT_EQ(header.own(0), number);
    at += wire::kHeaderBytes + header.payload_bytes();
  }
  EXPECT_EQ(at, kAll);
}

// What both have agreed is what a sender keeps to; before they have met, what every rank must take.
class TcpFrameLimitTest : public TcpAnswerTest {
 protected:
  void before_the_handshake() override {
    EXPECT_EQ(high().transport->frame_limit({0}), wire::kLeastFrameLimit);
    EXPECT_LE(high().transport->capabilities({0}).eager_limit, wire::kLeastFrameLimit);
  }
};

TEST_F(TcpFrameLimitTest, TheFrameLimitOfThePeerIsKept) {
  wire::Terms terms;
  terms.frame_limit = 3 << 20;
  TestOp first(0), fits(1, 3 << 20), too_long(2, (3 << 20) + 1);
  const Socket socket = answer(first, wire::Verdict::kAccepted, terms);
  pump([&] { return high().transport->link_state({0}) == LinkState::kOpen; });
  EXPECT_EQ(high().transport->frame_limit({0}), 3u << 20);
  high().post(0, too_long);
  pump([&] { return too_long.completions == 1; });
  EXPECT_EQ(too_long.why, "rank 0 on host node0 takes frames of 3145728 bytes at most, and one of 3145729 was posted");
  high().post(0, fits);
  std::byte some[4096];
  pump([&] { return fits.completions == 1; }, [&] { (void)::recv(socket.fd(), some, sizeof some, MSG_DONTWAIT); });
  EXPECT_EQ(fits.why, "");
}

TEST_F(TcpDuplicateTest, ThePeersConnectionIsAwaited) {
  TestOp op(1);
  answer_with_duplicate(op);
  const Socket socket = join_as_rank_0();
  pump([&] { return op.completions == 1; });
  EXPECT_EQ(op.why, "");
  EXPECT_EQ(high().transport->link_state({0}), LinkState::kOpen);
}

TEST_F(TcpDuplicateTest, ThePeersConnectionHasADeadline) {
  TestOp op(1);
  answer_with_duplicate(op);
  clock_.advance(10 * kSecond);
  pump([&] { return op.completions == 1; });
  EXPECT_NE(op.why.find("the connection of the latter did not arrive"), std::string::npos) << op.why;
  EXPECT_EQ(high().sink.lost.size(), 1u);
}

// Takes all descriptors that the process may have but some, or gives them back.
class NoDescriptors {
 public:
  explicit NoDescriptors(std::size_t but = 0) {
    getrlimit(RLIMIT_NOFILE, &before_);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) {
      taken_.emplace_back(fd);
      if (taken_.size() == 1) {
        const rlimit soon{static_cast<rlim_t>(fd) + 50, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &soon);
      }
    }
    taken_.resize(taken_.size() - but);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<Socket> taken_;
};

TEST_F(TcpTest, AProcessWithoutDescriptorsTriesAgain) {
  attach();
  TestOp op(1);
  {
    const NoDescriptors none;
    low().post(1, op);
    low().turn();
    clock_.advance(kSecond);
    low().turn();
    EXPECT_EQ(op.completions, 0) << op.why;
  }
  pump([&] { return high().sink.tags.size() == 1; }, [&] { clock_.advance(1'000'000); });
}

// Each side has just the one that its end takes: the acceptor, which asks for more, gives it to no one else.
TEST_F(TcpTest, TheLastDescriptorMakesAConnection) {
  attach();
  TestOp op(1);
  const NoDescriptors none(2);
  low().post(1, op);
  pump([&] { return high().sink.tags.size() == 1; });
  EXPECT_EQ(high().transport->counters().strangers_dropped, 0u);
}

TEST_F(TcpTest, AProcessThatGetsNoDescriptorSaysSo) {
  attach();
  TestOp op(1);
  const NoDescriptors none;
  low().post(1, op);
  pump([&] { return op.completions == 1; }, [&] { clock_.advance(10'000'000); });
  EXPECT_NE(op.why.find("ulimit -n"), std::string::npos) << op.why;
  EXPECT_EQ(op.why.find("firewall"), std::string::npos) << op.why;
}

TEST_F(TcpTest, AnotherJobIsNotLetIn) {
  nodes_[0] = std::make_unique<Node>(clock_, 0, [](TcpOptions& options) { options.job_secret = std::string(32, 't'); });
  attach();
  TestOp op(1);
  low().post(1, op);
  pump([&] { return op.completions == 1; }, [&] { clock_.advance(10'000'000); });
  ASSERT_EQ(low().sink.lost.size(), 1u);
  EXPECT_NE(op.why.find("connected, but closed from there"), std::string::npos) << op.why;
  EXPECT_TRUE(high().sink.tags.empty());
  EXPECT_EQ(low().transport->link_state({1}), LinkState::kLost);
}

TEST_F(TcpTest, AnUnreachablePeerGivesOneDiagnosis) {
  std::string address;
  {
    const Socket listener = open_listener();
    address = listener.local_address().text();
  }  // the port is closed now
  nodes_[1]->card.set("tcp", address + "/8");
  attach();
  TestOp first(1), second(2), late(3);
  low().post(1, first);
  low().post(1, second);
  pump([&] { return first.completions == 1; });
  EXPECT_EQ(second.completions, 1);
  low().post(1, late);
  EXPECT_EQ(late.completions, 1);
  ASSERT_EQ(low().sink.lost.size(), 1u);
  EXPECT_EQ(low().sink.lost[0],
            "rank 0 on host node0 cannot reach rank 1 on host node1, where nothing listens any more. That process has ended; "
            "look at what it printed last");
  EXPECT_EQ(first.why, low().sink.lost[0]);
  EXPECT_EQ(late.why, low().sink.lost[0]);
}

// No proof there: a firewall may refuse as well. The address is of this host, though the peer's card has another.
TEST_F(TcpTest, APeerOnAnotherHostWhereNothingListensHasProbablyEnded) {
  high().card.set("host", "another machine");
  high().card.set("tcp", "0.0.0.0:1/8");
  attach();
  TestOp op(1);
  low().post(1, op);
  pump([&] { return op.completions == 1; });
  EXPECT_EQ(low().sink.lost_class, MPI_ERR_PROC_ABORTED);
  EXPECT_NE(op.why.find("0.0.0.0:1: Connection refused). That process has probably ended; look at what it printed last"), std::string::npos) << op.why;
}

// A peer that is stopped, or computes without progress: its kernel takes the connection and nothing answers.
TEST_F(TcpTest, ABusyPeerIsWaitedFor) {
  attach();
  TestOp op(1);
  low().post(1, op);
  for (int i = 0; i < 100; ++i) {
    low().turn();
    clock_.advance(kSecond);
  }
  EXPECT_EQ(op.completions, 0);
  EXPECT_TRUE(low().sink.lost.empty());
  pump([&] { return high().sink.tags.size() == 1; });
}

TEST_F(TcpTest, AnAddressThatDoesNotWorkIsPassedOver) {
  high().card.set("tcp", "127.0.0.1:1/8," + high().card.get("tcp"));
  attach();
  TestOp op(1);
  low().post(1, op);
  pump([&] { return high().sink.tags.size() == 1; });
}

// A rank that only waits connects, so that the kernel watches over the peer's host.
TEST_F(TcpTest, APeerThatIsWatchedOverIsConnectedOnce) {
  attach();
  const auto watch = [&] {
    const engine::Visit visit(low().engine);
    return low().transport->watch_over({1});
  };
  EXPECT_TRUE(watch());
  EXPECT_FALSE(watch());
  pump([&] { return low().transport->link_state({1}) == LinkState::kOpen; });
  EXPECT_FALSE(watch());
  TestOp op(3);
  high().post(0, op);
  pump([&] { return low().sink.tags.size() == 1; });
  EXPECT_EQ(low().transport->counters().connections_made, 1u);
}

// It may only be out of reach for a while: it is lost after as long as a connection may be silent, and then told with the last cause.
TEST_F(TcpTest, APeerThatIsWatchedOverAndNotReachedIsLostInTheEnd) {
  Address nowhere;
  {
    const Socket closed = open_listener();
    nowhere = closed.local_address();
  }
  high().card.set("tcp", nowhere.text() + "/8");
  attach();
  const auto try_once = [&] {
    const engine::Visit visit(low().engine);
    EXPECT_TRUE(low().transport->watch_over({1}));
  };
  for (int seconds = 0; seconds < 60; seconds += 15) {
    try_once();
    pump([&] { return low().transport->link_state({1}) == LinkState::kIdle; });
    EXPECT_TRUE(low().sink.lost.empty());
    clock_.advance(15 * kSecond);
  }
  try_once();
  pump([&] { return !low().sink.lost.empty(); });
  EXPECT_NE(low().sink.lost.front().find("waits for messages and could not reach rank 1"), std::string::npos)
      << low().sink.lost.front();
}

// Raw Ethernet asks for a watch whenever packets need a detour. One that failed before a long time in which it asked for none says nothing of the
// host now.
TEST_F(TcpTest, AWatchThatFailedLongAgoTakesNoPatienceFromTheNext) {
  Address nowhere;
  {
    const Socket closed = open_listener();
    nowhere = closed.local_address();
  }
  high().card.set("tcp", nowhere.text() + "/8");
  attach();
  const auto fail_once = [&] {
    {
      const engine::Visit visit(low().engine);
      EXPECT_TRUE(low().transport->watch_over({1}));
    }
    pump([&] { return low().transport->link_state({1}) == LinkState::kIdle || !low().sink.lost.empty(); });
  };
  for (int watch = 0; watch < 3; ++watch) {
    for (int seconds = 0; seconds < 60; seconds += 15) {
      fail_once();
      ASSERT_TRUE(low().sink.lost.empty()) << "watch " << watch << ", after " << seconds << " s";
      clock_.advance(15 * kSecond);
    }
    clock_.advance(60 * kSecond);
  }
  for (int seconds = 0; seconds < 60; seconds += 15) {
    fail_once();
    clock_.advance(15 * kSecond);
  }
  fail_once();
  EXPECT_EQ(low().sink.lost.size(), 1u) << "without such a pause it ends as ever";
}

// What is posted while a watch fails is not the worse for it: it gets a try of its own, and an error that is its own.
TEST_F(TcpTest, APostDuringAWatchThatFailsIsTriedAndFails) {
  Address nowhere;
  {
    const Socket closed = open_listener();
    nowhere = closed.local_address();
  }
  high().card.set("tcp", nowhere.text() + "/8");
  attach();
  {
    const engine::Visit visit(low().engine);
    EXPECT_TRUE(low().transport->watch_over({1}));
  }
  TestOp op(1);
  low().post(1, op);
  pump([&] { return op.completions == 1; });
  EXPECT_NE(op.why.find("cannot reach"), std::string::npos) << op.why;
  EXPECT_EQ(low().sink.lost.size(), 1u);
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
