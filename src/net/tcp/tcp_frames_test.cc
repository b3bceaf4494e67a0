// Frames over an open connection: bytes that break the rules, peers that end, links with much traffic. What every transport must do is in
// net/conformance_test.cc.
#include "net/tcp/tcp_pair_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

TEST_F(TcpTest, BytesMayArriveOneByOne) {
  attach();
  const Socket socket = join_as_rank_0();
  std::vector<std::byte> bytes = frame(0, 11, 5);
  const std::vector<std::byte> next = frame(1, 12, 0);
  bytes.insert(bytes.end(), next.begin(), next.end());
  for (const std::byte byte : bytes) {
    send_bytes(socket, &byte, 1);
    high().turn();
  }
  pump([&] { return high().sink.tags.size() == 2; });
  EXPECT_EQ(high().sink.tags, (std::vector<int>{11, 12}));
}

TEST_F(TcpTest, ViolationsCloseTheConnectionWithAReason) {
  struct Case {
    std::vector<std::byte> bytes;
    const char* reason;
  };
  std::vector<Case> cases;
  cases.push_back({frame(1, 0, 0), "frame 1 arrived where frame 0 was due"});
  cases.push_back({frame(0, 0, 0), "there is no protocol 99"});
  cases.back().bytes[4] = std::byte{99};
  cases.push_back({frame(0, 0, 0), "67108865 payload bytes; 67108864 is the limit"});
  const unsigned char too_long[4] = {1, 0, 0, 4};
  std::memcpy(&cases.back().bytes[0], too_long, 4);
  cases.push_back({frame(0, 0, 0), "it acknowledges 1 frames more than it was sent"});
  cases.back().bytes[12] = std::byte{1};
  for (const Case& broken : cases) {
    SetUp();
    attach();
    const Socket socket = join_as_rank_0();
    send_bytes(socket, broken.bytes.data(), broken.bytes.size());
    pump([&] { return high().sink.lost.size() == 1; });
    EXPECT_NE(high().sink.lost[0].find(broken.reason), std::string::npos) << high().sink.lost[0];
    EXPECT_NE(high().sink.lost[0].find("rank 0 on host node0 broke the rules of the wire (127.0.0.1:"),
              std::string::npos);
    pump([&] { return is_closed(socket); });
  }
}

TEST_F(TcpTest, TheSinkMayRefuseAFrame) {
  attach();
  high().sink.refuse = "no such receive";
  TestOp op(1);
  low().post(1, op);
  pump([&] { return high().sink.lost.size() == 1 && low().sink.lost.size() == 1; });
  EXPECT_NE(high().sink.lost[0].find("no such receive"), std::string::npos);
  EXPECT_NE(low().sink.lost[0].find("rank 0 on host node0 lost its connection to rank 1 on host node1 (127.0.0.1:"),
            std::string::npos)
      << low().sink.lost[0];
}

TEST_F(TcpTest, APeerThatVanishesIsReported) {
  attach();
  {
    const Socket socket = join_as_rank_0();
    const std::vector<std::byte> bytes = frame(0, 1, 100);
    send_bytes(socket, bytes.data(), bytes.size() - 1);
    pump([&] { return high().transport->link_state({0}) == LinkState::kOpen; });
  }
  pump([&] { return high().sink.lost.size() == 1; });
  EXPECT_TRUE(high().sink.lost_within_frame);
  EXPECT_TRUE(high().sink.tags.empty());
}

TEST_F(TcpTest, AfterGoodbyeAPeerMayGo) {
  attach();
  {
    const Socket socket = join_as_rank_0();
    const wire::FrameHeader goodbye = wire::goodbye();
    send_bytes(socket, reinterpret_cast<const std::byte*>(goodbye.words), sizeof goodbye.words);
  }
  pump([&] { return high().transport->link_state({0}) == LinkState::kFinished; });
  EXPECT_EQ(high().sink.lost.size(), 1u);  // what waits for it waits in vain
  TestOp late(1);
  high().post(0, late);
  EXPECT_EQ(late.completions, 1);
  EXPECT_EQ(late.why, "rank 0 on host node0 has finalized, so nothing can be sent to it");
}

TEST_F(TcpTest, ClosingLosesNothingThatWasPosted) {
  attach();
  TestOp first(1);
  low().post(1, first);
  pump([&] { return high().sink.tags.size() == 1; });
  std::deque<TestOp> ops;
  for (int i = 0; i < 50; ++i) {
    ops.emplace_back(i, 1000);
    low().post(1, ops.back());
  }
  high().sink.tags.clear();
  pump([&] { return low().transport->flushed(); });
  {
    const engine::Visit visit(high().engine);
    high().transport->expect_goodbye();
  }
  nodes_[0].reset();
  pump([&] { return high().transport->link_state({0}) == LinkState::kFinished; });
  EXPECT_EQ(high().sink.tags.size(), 50u);
  EXPECT_TRUE(high().sink.lost.empty());
}

// Message after message, each taken before the next: then rank 1 looks at its socket without the port's help.
class TcpBusyTest : public TcpTest {
 protected:
  void SetUp() override {
    TcpTest::SetUp();
    attach();
    for (int i = 0; i < 100; ++i) {
      TestOp op(i);
      low().post(1, op);
      pump([&] { return high().sink.tags.size() == static_cast<std::size_t>(i) + 1; });
    }
  }
  bool announced(int timeout_ms) {
    engine::EventPort::Batch batch;
    high().engine.port().collect(batch, timeout_ms);
    return batch.count > 0;
  }
};

TEST_F(TcpBusyTest, ABusyLinkIsAnnouncedOnlyToWhoSleeps) {
  announced(0);
  TestOp op(1);
  low().post(1, op);
  EXPECT_FALSE(announced(0));
  {
    const engine::Visit visit(high().engine);
    EXPECT_TRUE(high().transport->arm());
  }
  EXPECT_TRUE(announced(10'000)) << "what came before it was armed";
  high().turn();
  EXPECT_EQ(high().sink.tags.size(), 101u);
  for (int i = 0; i < 100; ++i) {
    TestOp another(i);
    low().post(1, another);
    EXPECT_TRUE(announced(10'000)) << "a thread sleeps, whatever polls";
    high().turn();
  }
}

TEST_F(TcpBusyTest, ABusyLinkSendsWhenItsSocketTakesMore) {
  TestOp large(7, 64 << 20);
  high().post(0, large);
  EXPECT_EQ(large.completions, 0) << "more than a socket holds";
  pump([&] { return !low().sink.tags.empty(); });
  EXPECT_EQ(large.completions, 1);
}

TEST_F(TcpBusyTest, TheEndOfABusyLinkIsSeen) {
  nodes_[0].reset();
  pump([&] { return high().transport->link_state({0}) != LinkState::kOpen; });
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
