// Connections that do not belong to the job, and the listening sockets.
#include "net/tcp/acceptor.h"
#include "net/tcp/tcp_pair_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

TEST_F(TcpTest, AStrangerIsDroppedWithoutAWord) {
  attach();
  const Socket socket = call_rank_1();
  send_bytes(socket, "GET / HTTP/1.1\r\n\r\n", 18);
  pump([&] { return is_closed(socket); });
  EXPECT_EQ(high().transport->counters().strangers_dropped, 1u);
  EXPECT_EQ(high().transport->strangers(), 0u);

  TestOp op(7);  // and the job goes on
  low().post(1, op);
  pump([&] { return high().sink.tags.size() == 1; });
}

TEST_F(TcpTest, ASilentStrangerHasADeadline) {
  attach();
  const Socket socket = call_rank_1();
  pump([&] { return high().transport->strangers() == 1; });
  clock_.advance(5 * kSecond - 1);
  high().turn();
  EXPECT_EQ(high().transport->strangers(), 1u);
  clock_.advance(1);
  pump([&] { return is_closed(socket); });
  EXPECT_EQ(high().transport->strangers(), 0u);
}

// The process computed, with LAPWING_PROGRESS=polling, while the deadline passed and the peer's word came.
TEST_F(TcpTest, WhatCameBeforeTheDeadlineWasLookedAtIsInTime) {
  attach();
  const Socket socket = call_rank_1();
  pump([&] { return high().transport->strangers() == 1; });
  const wire::Handshake handshake = wire::Handshake::connector(key_, {runtime::kJobForTests, 0}, {runtime::kJobForTests, 1}, wire::random_nonce());
  send_bytes(socket, handshake.output(), handshake.output_bytes());
  clock_.advance(60 * kSecond);
  for (int i = 0; i < 100; ++i) high().turn();
  EXPECT_EQ(high().transport->strangers(), 1u);
  EXPECT_FALSE(is_closed(socket));
  // Now the peer computes, longer than a stranger may be silent.
  clock_.advance(60 * kSecond);
  for (int i = 0; i < 100; ++i) high().turn();
  EXPECT_FALSE(is_closed(socket)) << "it has named the job";
}

// A listening socket that fails every accept() is looked at now and then, and does not hold up the rank.
TEST_F(TcpTest, AListenerThatFailsForGoodDoesNotSpin) {
  attach();
  for (int fd = 3; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t length = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) continue;
    ::shutdown(fd, SHUT_RDWR);  // from now on accept() says EINVAL
  }
  for (int i = 0; i < 10; ++i) {
    high().turn();
    clock_.advance(kSecond);
  }
}

TEST_F(TcpTest, AFloodFromElsewhereDoesNotMakeAPeerWait) {
  attach();
  std::vector<Socket> flood;
  for (int i = 0; i < 300; ++i) {
    flood.push_back(call_rank_1("127.0.0.2"));
    high().turn();
  }
  EXPECT_LE(high().transport->strangers(), tcp::Admission::kMostPerSource);
  TestOp op(7);
  low().post(1, op);
  pump([&] { return high().sink.tags.size() == 1; });  // the clock stands still
}

TEST_F(TcpTest, ACrowdOfStrangersDoesNotShutPeersOut) {
  attach();
  std::vector<Socket> crowd;
  for (std::size_t i = 0; i < tcp::Admission::kMostKnown + 20; ++i) crowd.push_back(call_rank_1());
  pump([&] { return high().transport->strangers() == tcp::Admission::kMostKnown; });
  TestOp op(7);
  low().post(1, op);
  for (int i = 0; i < 100; ++i) {
    low().turn();
    high().turn();
    ASSERT_LE(high().transport->strangers(), tcp::Admission::kMostKnown);
  }
  EXPECT_TRUE(high().sink.tags.empty()) << "the test wants the acceptor to be full";
  pump([&] { return high().sink.tags.size() == 1; }, [&] { clock_.advance(1'000'000); });
}

TEST_F(TcpTest, PortsComeFromTheRange) {
  TcpOptions options;
  options.self = {3};
  options.size = 8;
  options.processes = &runtime::one_job(8);
  options.job_secret = std::string(32, 's');
  options.single_host = true;
  const std::uint16_t base = high().address().port;  // one that is taken
  options.first_port = options.last_port = base;
  const engine::Visit visit(high().engine);
  TcpTransport transport(high().engine, high().sink, options);
  wire::Card card;
  const Status status = transport.publish(card);
  EXPECT_NE(std::string(status.text())
                .find("rank 3 can listen on no address for TCP (127.0.0.1 (lo): Address already in use)"),
            std::string::npos)
      << status.text();
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
