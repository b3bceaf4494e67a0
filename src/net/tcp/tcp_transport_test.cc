// What is particular to TCP: strangers, handshakes that collide, peers that cannot be reached, bytes that break the
// rules. What every transport must do is in net/conformance_test.cc.
#include "net/tcp/tcp_transport.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/tcp/acceptor.h"

namespace lapwing::net {
namespace {

using tcp::Address;
using tcp::Socket;
using LinkState = tcp::Link::State;

constexpr std::int64_t kSecond = 1'000'000'000;

struct TestOp : SendOp {
  explicit TestOp(int tag = 0, std::size_t bytes = 0) : payload(bytes, static_cast<std::byte>(tag)) {
    header.describe(wire::Protocol::kMessages, bytes);
    header.set_own(0, static_cast<std::uint64_t>(tag));
    data = payload.data();
    on_taken = [](SendOp& op, const Status& status) noexcept {
      auto& self = static_cast<TestOp&>(op);
      ++self.completions;
      self.why = status.text();
    };
  }
  std::vector<std::byte> payload;
  int completions = 0;
  std::string why;
};

class TestSink final : public FrameSink {
 public:
  std::vector<int> tags;
  std::vector<std::string> lost;
  bool lost_within_frame = false;
  std::string refuse;

  Landing on_header(PeerId, const wire::FrameHeader& header) noexcept override {
    buffer_.resize(header.payload_bytes());
    Landing landing;
    landing.base = buffer_.data();
    landing.accepted = header.payload_bytes();
    landing.violation = !refuse.empty();
    landing.reason = refuse.c_str();
    return landing;
  }
  void on_frame(PeerId, const wire::FrameHeader& header, const Landing&) noexcept override {
    tags.push_back(static_cast<int>(header.own(0)));
  }
  void on_peer_lost(PeerId, const Status& why, const Landing* landing) noexcept override {
    lost.emplace_back(why.text());
    lost_within_frame = landing != nullptr;
  }

 private:
  std::vector<std::byte> buffer_;
};

// One rank of a job of two.
struct Node {
  explicit Node(Clock& clock, PeerId rank, const std::string& secret = std::string(32, 's')) : engine(clock) {
    engine::EngineOptions engine_options;
    engine_options.event_thread = false;
    EXPECT_TRUE(engine.start(engine_options).ok());
    TcpOptions options;
    options.rank = rank;
    options.size = 2;
    options.job_secret = secret;
    options.host_identity = "machine";
    options.host_name = "node" + std::to_string(rank);
    options.single_host = true;
    const engine::Call call(engine);
    transport = std::make_unique<TcpTransport>(engine, sink, options);
    card.set("host", "machine");
    card.set("name", options.host_name);
    const Status published = transport->publish(card);
    EXPECT_TRUE(published.ok()) << published.text();
  }
  ~Node() {
    const engine::Call call(engine);
    transport->expect_goodbye();
    transport.reset();
  }
  void attach(const std::vector<wire::Card>& cards) {
    const engine::Call call(engine);
    const Status attached = transport->attach(cards);
    EXPECT_TRUE(attached.ok()) << attached.text();
  }
  void turn() {
    const engine::Call call(engine);
    engine.turn();
  }
  void post(PeerId peer, SendOp& op) {
    const engine::Call call(engine);
    if (transport->post(peer, op)) op.on_taken(op, Status());
  }
  Address address() const {
    std::vector<Address> addresses;
    EXPECT_TRUE(tcp::decode_addresses(card.get("tcp"), addresses).ok());
    return addresses.front();
  }

  engine::Engine engine;
  TestSink sink;
  wire::Card card;
  std::unique_ptr<TcpTransport> transport;
};

class TcpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(key_.set(std::string(32, 's')).ok());
    nodes_[0] = std::make_unique<Node>(clock_, 0);
    nodes_[1] = std::make_unique<Node>(clock_, 1);
  }
  void attach() {
    const std::vector<wire::Card> cards{nodes_[0]->card, nodes_[1]->card};
    nodes_[0]->attach(cards);
    nodes_[1]->attach(cards);
  }
  Node& low() { return *nodes_[0]; }
  Node& high() { return *nodes_[1]; }

  // Turns until `done`. The kernel moves bytes on its own, so this waits for it; the limit only ends a broken run.
  void pump(
      const std::function<bool()>& done, const std::function<void()>& also = [] {}) {
    for (int turns = 0; !done(); ++turns) {
      ASSERT_LT(turns, 2'000'000) << "nothing moves any more";
      for (auto& node : nodes_) {
        if (node) node->turn();
      }
      also();
    }
  }

  // A raw connection to rank 1, as a stranger or as a peer played by the test. Blocking.
  Socket call_rank_1(const char* from = nullptr) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_storage storage;
    Address own;
    if (from != nullptr && tcp::parse_address(from, own)) {
      const socklen_t length = own.to_sockaddr(storage);
      EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&storage), length), 0) << std::strerror(errno);
    }
    const socklen_t length = high().address().to_sockaddr(storage);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&storage), length), 0) << std::strerror(errno);
    return Socket(fd);
  }
  static void send_bytes(const Socket& socket, const void* bytes, std::size_t count) {
    EXPECT_EQ(::send(socket.fd(), bytes, count, MSG_NOSIGNAL), static_cast<ssize_t>(count));
  }
  // True once the other side has closed; whatever it said before is dropped.
  static bool is_closed(const Socket& socket) {
    char byte[256];
    ssize_t count;
    while ((count = ::recv(socket.fd(), byte, sizeof byte, MSG_DONTWAIT)) > 0) {
    }
    return count == 0 || errno != EAGAIN;
  }
  // Plays rank 0 through a whole handshake with rank 1.
  Socket join_as_rank_0() {
    Socket socket = call_rank_1();
    wire::Handshake handshake = wire::Handshake::connector(key_, 0, 1, wire::random_nonce());
    send_bytes(socket, handshake.output(), handshake.output_bytes());
    pump([&] { return handshake.state() == wire::Handshake::State::kAccepted; },
         [&] {
           std::byte bytes[wire::Handshake::kMaxMessageBytes];
           const ssize_t count = ::recv(socket.fd(), bytes, handshake.wanted(), MSG_DONTWAIT);
           if (count <= 0) return;
           handshake.receive(bytes, static_cast<std::size_t>(count));
           if (handshake.output_bytes() > 0) send_bytes(socket, handshake.output(), handshake.output_bytes());
         });
    return socket;
  }
  static std::vector<std::byte> frame(std::uint64_t sequence, int tag, std::size_t payload) {
    wire::FrameHeader header;
    header.describe(wire::Protocol::kMessages, payload);
    header.number(static_cast<std::uint32_t>(sequence), 0);
    header.set_own(0, static_cast<std::uint64_t>(tag));
    std::vector<std::byte> bytes(wire::kHeaderBytes + payload);
    std::memcpy(bytes.data(), header.words, sizeof header.words);
    return bytes;
  }

  ManualClock clock_;
  wire::JobKey key_;
  std::unique_ptr<Node> nodes_[2];
};

TEST_F(TcpTest, ConnectsOnFirstUseAndOnlyOnce) {
  attach();
  EXPECT_EQ(low().transport->link_state(1), LinkState::kIdle);
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

// A listening socket of the test's own on loopback.
Socket open_listener() {
  Address any;
  any.family = AF_INET;
  any.bytes[0] = 127;
  any.bytes[3] = 1;
  Socket listener;
  EXPECT_EQ(Socket::listen(any, listener), 0);
  return listener;
}

// The lower rank connects where nothing answers; the higher rank's connection comes in meanwhile and is taken.
TEST_F(TcpTest, OneWayRoundIsEnough) {
  const Socket silent = open_listener();
  high().card.set("tcp", silent.local_address().text() + "/8");
  attach();
  TestOp down(1), up(2);
  low().post(1, down);
  for (int i = 0; i < 10; ++i) low().turn();
  ASSERT_EQ(low().transport->link_state(1), LinkState::kConnecting);
  high().post(0, up);
  pump([&] { return low().sink.tags.size() == 1 && high().sink.tags.size() == 1; });
  EXPECT_EQ(low().transport->counters().connections_accepted, 1u);
  EXPECT_EQ(low().transport->counters().connections_made, 0u);
}

// A rank that only waits connects, so that the kernel watches over the peer's host.
TEST_F(TcpTest, APeerThatIsWatchedOverIsConnectedOnce) {
  attach();
  const auto watch = [&] {
    const engine::Call call(low().engine);
    return low().transport->watch_over(1);
  };
  EXPECT_TRUE(watch());
  EXPECT_FALSE(watch());
  pump([&] { return low().transport->link_state(1) == LinkState::kOpen; });
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
    const engine::Call call(low().engine);
    EXPECT_TRUE(low().transport->watch_over(1));
  };
  for (int seconds = 0; seconds < 60; seconds += 15) {
    try_once();
    pump([&] { return low().transport->link_state(1) == LinkState::kIdle; });
    EXPECT_TRUE(low().sink.lost.empty());
    clock_.advance(15 * kSecond);
  }
  try_once();
  pump([&] { return !low().sink.lost.empty(); });
  EXPECT_NE(low().sink.lost.front().find("waits for messages and could not reach rank 1"), std::string::npos)
      << low().sink.lost.front();
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
    const engine::Call call(low().engine);
    EXPECT_TRUE(low().transport->watch_over(1));
  }
  TestOp op(1);
  low().post(1, op);
  pump([&] { return op.completions == 1; });
  EXPECT_NE(op.why.find("cannot reach"), std::string::npos) << op.why;
  EXPECT_EQ(low().sink.lost.size(), 1u);
}

// The test plays rank 0, which answers rank 1's connection with "duplicate".
class TcpDuplicateTest : public TcpTest {
 protected:
  void answer_with_duplicate(TestOp& op) {
    const Socket listener = open_listener();
    low().card.set("tcp", listener.local_address().text() + "/8");
    attach();
    high().post(0, op);
    Socket accepted;
    Address from;
    pump([&] { return listener.accept(accepted, from) == 0; });
    wire::Handshake handshake = wire::Handshake::acceptor(key_, 0, 2, wire::random_nonce());
    pump([&] { return handshake.state() == wire::Handshake::State::kProven; },
         [&] {
           std::byte bytes[wire::Handshake::kMaxMessageBytes];
           const ssize_t count = ::recv(accepted.fd(), bytes, handshake.wanted(), MSG_DONTWAIT);
           if (count <= 0) return;
           handshake.receive(bytes, static_cast<std::size_t>(count));
           if (handshake.output_bytes() > 0) send_bytes(accepted, handshake.output(), handshake.output_bytes());
         });
    handshake.decide(wire::Verdict::kDuplicate);
    send_bytes(accepted, handshake.output(), handshake.output_bytes());
    pump([&] { return high().transport->link_state(0) == LinkState::kAwaiting; });
    EXPECT_EQ(op.completions, 0);
  }
};

TEST_F(TcpDuplicateTest, ThePeersConnectionIsAwaited) {
  TestOp op(1);
  answer_with_duplicate(op);
  const Socket socket = join_as_rank_0();
  pump([&] { return op.completions == 1; });
  EXPECT_EQ(op.why, "");
  EXPECT_EQ(high().transport->link_state(0), LinkState::kOpen);
}

TEST_F(TcpDuplicateTest, ThePeersConnectionHasADeadline) {
  TestOp op(1);
  answer_with_duplicate(op);
  clock_.advance(10 * kSecond);
  pump([&] { return op.completions == 1; });
  EXPECT_NE(op.why.find("the connection of the latter did not arrive"), std::string::npos) << op.why;
  EXPECT_EQ(high().sink.lost.size(), 1u);
}

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
  const wire::Handshake handshake = wire::Handshake::connector(key_, 0, 1, wire::random_nonce());
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

// Takes all descriptors that the process may have, or gives them back.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) {
      taken_.emplace_back(fd);
      if (taken_.size() == 1) {
        const rlimit soon{static_cast<rlim_t>(fd) + 50, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &soon);
      }
    }
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

TEST_F(TcpTest, AProcessThatGetsNoDescriptorSaysSo) {
  attach();
  TestOp op(1);
  const NoDescriptors none;
  low().post(1, op);
  pump([&] { return op.completions == 1; }, [&] { clock_.advance(10'000'000); });
  EXPECT_NE(op.why.find("ulimit -n"), std::string::npos) << op.why;
  EXPECT_EQ(op.why.find("firewall"), std::string::npos) << op.why;
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

TEST_F(TcpTest, AnotherJobIsNotLetIn) {
  nodes_[0] = std::make_unique<Node>(clock_, 0, std::string(32, 't'));
  attach();
  TestOp op(1);
  low().post(1, op);
  pump([&] { return op.completions == 1; }, [&] { clock_.advance(10'000'000); });
  ASSERT_EQ(low().sink.lost.size(), 1u);
  EXPECT_NE(op.why.find("connected, but closed from there"), std::string::npos) << op.why;
  EXPECT_TRUE(high().sink.tags.empty());
  EXPECT_EQ(low().transport->link_state(1), LinkState::kLost);
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
    pump([&] { return high().transport->link_state(0) == LinkState::kOpen; });
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
  pump([&] { return high().transport->link_state(0) == LinkState::kFinished; });
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
    const engine::Call call(high().engine);
    high().transport->expect_goodbye();
  }
  nodes_[0].reset();
  pump([&] { return high().transport->link_state(0) == LinkState::kFinished; });
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
    const engine::Call call(high().engine);
    EXPECT_TRUE(high().transport->arm());
  }
  EXPECT_TRUE(announced(10'000)) << "what came before it was armed";
  high().turn();
  EXPECT_EQ(high().sink.tags.size(), 101u);
  for (int i = 0; i < 100; ++i) {
    TestOp another(i);
    low().post(1, another);
    EXPECT_TRUE(announced(10'000)) << "whoever looks in, somebody sleeps";
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
  pump([&] { return high().transport->link_state(0) != LinkState::kOpen; });
}

TEST_F(TcpTest, PortsComeFromTheRange) {
  TcpOptions options;
  options.rank = 3;
  options.size = 8;
  options.job_secret = std::string(32, 's');
  options.single_host = true;
  const std::uint16_t base = high().address().port;  // one that is taken
  options.first_port = options.last_port = base;
  const engine::Call call(high().engine);
  TcpTransport transport(high().engine, high().sink, options);
  wire::Card card;
  const Status status = transport.publish(card);
  EXPECT_NE(std::string(status.text())
                .find("rank 3 can listen on no address for TCP (127.0.0.1 (lo): Address already in use)"),
            std::string::npos)
      << status.text();
}

}  // namespace
}  // namespace lapwing::net
