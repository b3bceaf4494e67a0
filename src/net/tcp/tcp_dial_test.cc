// Several addresses of one peer: which is dialled when, and which connection of them counts. Time is the test's own, so what an address that leads
// nowhere costs is exact: nothing but tcp.stagger.
#include <linux/filter.h>
#include <netinet/tcp.h>

#include "base/tuning.h"
#include "net/tcp/liveness.h"
#include "net/tcp/tcp_pair_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

// The kernel drops what asks for a connection, because the queue of those that wait is full: an address that does not answer.
class DeafAddress {
 public:
  DeafAddress() {
    const Address any = open_listener().local_address();
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    listener_ = Socket(fd);
    sockaddr_storage storage;
    Address own = any;
    own.port = 0;
    const socklen_t length = own.to_sockaddr(storage);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&storage), length), 0);
    EXPECT_EQ(::listen(fd, 0), 0);
    for (Socket& caller : callers_) EXPECT_EQ(Socket::connect(address(), {}, caller), 0);
  }
  Address address() const { return listener_.local_address(); }

 private:
  Socket listener_;
  Socket callers_[4];
};

// The test answers at an address of its own, in the name of rank 1.
class Answerer {
 public:
  explicit Answerer(const wire::JobKey& key, const wire::Terms& terms = {})
      : handshake_(wire::Handshake::acceptor(key, {runtime::kJobForTests, 1}, 2, wire::random_nonce(), terms)) {}

  std::string card() const { return listener_.local_address().text() + "/8"; }
  bool accept() {
    Address from;
    return socket || listener_.accept(socket, from) == 0;
  }
  // Reads and answers what is there, up to the verdict.
  void answer() {
    std::byte bytes[wire::Handshake::kMaxMessageBytes];
    while (handshake_.wanted() > 0) {
      const ssize_t count = ::recv(socket.fd(), bytes, handshake_.wanted(), MSG_DONTWAIT);
      if (count <= 0) return;
      handshake_.receive(bytes, static_cast<std::size_t>(count));
      if (handshake_.output_bytes() > 0) ::send(socket.fd(), handshake_.output(), handshake_.output_bytes(), MSG_NOSIGNAL);
    }
  }
  bool greeted() {
    answer();
    return handshake_.state() != wire::Handshake::State::kHello;
  }
  bool has_proof() {
    answer();
    return handshake_.state() == wire::Handshake::State::kProven;
  }
  void decide(wire::Verdict verdict) {
    handshake_.decide(verdict);
    ::send(socket.fd(), handshake_.output(), handshake_.output_bytes(), MSG_NOSIGNAL);
  }

  const Socket& listener() const { return listener_; }

  Socket socket;

 private:
  Socket listener_ = open_listener();
  wire::Handshake handshake_;
};

class TcpDialTest : public TcpTest {
 protected:
  // The addresses of rank 1, in this order; its own one is "".
  void offer(std::initializer_list<std::string> addresses) {
    std::string text;
    for (const std::string& address : addresses)
      text += (text.empty() ? "" : ",") + (address.empty() ? high().card.get("tcp") : address);
    high().card.set("tcp", text);
    attach();
  }
  static std::string text_of(const DeafAddress& deaf) { return deaf.address().text() + "/8"; }
  void turn_both(int times = 50) {
    for (int i = 0; i < times; ++i) low().turn(), high().turn();
  }
  // Nothing comes before the pause is over, and then it does.
  void expect_the_stagger_alone(TestOp& op) {
    low().post(1, op);
    clock_.advance(tuning().tcp_stagger - 1);
    turn_both();
    EXPECT_TRUE(high().sink.tags.empty());
    clock_.advance(1);
    pump([&] { return high().sink.tags.size() == 1; });
    EXPECT_EQ(op.why, "");
  }
};

TEST_F(TcpDialTest, AnAddressThatLeadsNowhereCostsThePauseAlone) {
  const DeafAddress deaf;
  offer({text_of(deaf), ""});
  TestOp op(1);
  expect_the_stagger_alone(op);
}

TEST_F(TcpDialTest, SoDoesOneWhereNothingAnswers) {
  Answerer mute(key_);
  offer({mute.card(), ""});
  TestOp op(1);
  expect_the_stagger_alone(op);
  pump([&] { return mute.accept() && is_closed(mute.socket); });
}

// A host that has the peer's address in another network, perhaps with a rank of another job on it.
TEST_F(TcpDialTest, AnAddressWhereAnotherJobAnswersCostsNothing) {
  wire::JobKey other;
  ASSERT_TRUE(other.set(std::string(32, 'x')).ok());
  Answerer stranger(other);
  offer({stranger.card(), ""});
  TestOp op(1);
  low().post(1, op);
  pump([&] { return stranger.accept(); });
  const char html[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
  send_bytes(stranger.socket, html, sizeof html);
  pump([&] { return high().sink.tags.size() == 1; });
}

// The deaf one may come to life: it goes on being dialled beside the others.
TEST_F(TcpDialTest, TheFirstOneMayStillWin) {
  Answerer slow(key_), mute(key_);
  offer({slow.card(), mute.card()});
  TestOp op(1);
  low().post(1, op);
  pump([&] { return slow.accept(); });
  clock_.advance(tuning().tcp_stagger);
  pump([&] { return mute.accept(); });
  pump([&] { return slow.has_proof(); });
  pump([&] { return is_closed(mute.socket); });
  slow.decide(wire::Verdict::kAccepted);
  pump([&] { return op.completions == 1; });
  EXPECT_EQ(low().transport->counters().connections_made, 1u);
}

// Both have proven that they are the peer before this rank looks: its own proof goes to one of them.
TEST_F(TcpDialTest, OneProofGoesOut) {
  Answerer first(key_), second(key_);
  offer({first.card(), second.card()});
  TestOp op(1);
  low().post(1, op);
  pump([&] { return first.accept(); });
  clock_.advance(tuning().tcp_stagger);
  pump([&] { return second.accept(); });
  turn_both();
  ASSERT_TRUE(first.greeted() && second.greeted());
  turn_both();
  EXPECT_NE(first.has_proof(), second.has_proof());
  Answerer &winner = first.has_proof() ? first : second, &loser = first.has_proof() ? second : first;
  EXPECT_TRUE(is_closed(loser.socket));
  winner.decide(wire::Verdict::kAccepted);
  pump([&] { return op.completions == 1; });
}

// The peer may have accepted the one that it was given the proof on. It has not if it closes that, and then the others have their turn again.
TEST_F(TcpDialTest, TheOthersFollowAWinnerThatIsClosed) {
  Answerer first(key_);
  offer({first.card(), ""});
  TestOp op(1);
  low().post(1, op);
  pump([&] { return first.accept(); });
  pump([&] { return first.has_proof(); });
  clock_.advance(10 * tuning().tcp_stagger);
  turn_both();
  EXPECT_TRUE(high().sink.tags.empty()) << "two connections of one attempt could be accepted";
  first.socket.close();
  turn_both();
  clock_.advance(tuning().tcp_stagger);
  pump([&] { return high().sink.tags.size() == 1; });
}

TEST_F(TcpDialTest, WhatIsThereWhenTimeIsOverIsInTime) {
  const DeafAddress deaf;
  Answerer late(key_);
  offer({text_of(deaf), late.card()});
  TestOp op(1);
  low().post(1, op);
  clock_.advance(tuning().tcp_stagger);
  pump([&] { return late.accept(); });
  turn_both();
  ASSERT_TRUE(late.greeted());
  clock_.advance(1000 * kSecond);  // this process was stopped
  pump([&] { return late.has_proof(); });
  late.decide(wire::Verdict::kAccepted);
  pump([&] { return op.completions == 1; });
  EXPECT_EQ(op.why, "");
}

TEST_F(TcpDialTest, AllAddressesThatDoNotAnswerAreTold) {
  const DeafAddress first, second;
  offer({text_of(first), text_of(second)});
  TestOp op(1);
  low().post(1, op);
  pump([&] { return op.completions == 1; }, [&] { clock_.advance(tuning().tcp_stagger / 5); });
  for (const std::string& part : {first.address().text() + ": no answer within 10 s", second.address().text() + ": no answer within 9.75 s"})
    EXPECT_NE(op.why.find(part), std::string::npos) << op.why;
}

// What is wrong is neither the network nor a port, and one address has told all.
TEST_F(TcpDialTest, RanksWithOtherKeyFilesAreToldOnceHoweverManyAddressesTheyHave) {
  nodes_[0] = std::make_unique<Node>(clock_, 0, [](TcpOptions& options) { options.key_file = std::string(32, 'f'); });
  wire::JobKey other;
  ASSERT_TRUE(other.set(std::string(32, 's'), std::string(32, 'g')).ok());
  wire::Terms terms;
  terms.features = wire::kFeatureKeyFile;
  Answerer first(other, terms), second(other, terms);
  offer({first.card(), second.card()});
  TestOp op(1);
  low().post(1, op);
  pump([&] { return op.completions == 1; },
       [&] {
         if (first.accept()) first.answer();
         if (second.accept()) second.answer();
       });
  EXPECT_EQ(op.why, "rank 0 on host node0 cannot reach rank 1 on host node1 by TCP (" + first.listener().local_address().text() + ", " +
                        second.listener().local_address().text() +
                        ": what answers there does not know the job's secret, or has another key file than this rank (LAPWING_KEY_FILE): all hosts need "
                        "the same one)");
}

TEST_F(TcpDialTest, WhereSomethingElseAnswersAnotherNetworkIsAdvised) {
  const Socket listener = open_listener();
  offer({listener.local_address().text() + "/8"});
  TestOp op(1);
  low().post(1, op);
  Socket server;
  bool answered = false;
  pump([&] { return op.completions == 1; },
       [&] {
         Address from;
         if (answered || (server.fd() < 0 && listener.accept(server, from) != 0)) return;
         answered = true;
         send_bytes(server, "HTTP/1.1 400 Bad Request\r\n", 26);
       });
  EXPECT_EQ(op.why, "rank 0 on host node0 cannot reach rank 1 on host node1 by TCP (" + listener.local_address().text() +
                        ": what answers there is not Lapwing). Choose the network that leads to that rank with LAPWING_TCP_INTERFACE");
}

// Its host answers, so it is only busy: it is waited for when no other address has led to it.
TEST_F(TcpDialTest, ARankThatDoesNotAnswerIsWaitedForWhereItsHostDoes) {
  const DeafAddress deaf;
  Answerer busy(key_);
  offer({text_of(deaf), busy.card()});
  TestOp op(1);
  low().post(1, op);
  pump([&] { return busy.accept(); }, [&] { clock_.advance(tuning().tcp_stagger); });
  for (int i = 0; i < 100; ++i) low().turn(), clock_.advance(kSecond);
  EXPECT_EQ(op.completions, 0) << op.why;
  pump([&] { return busy.has_proof(); });
  busy.decide(wire::Verdict::kAccepted);
  pump([&] { return op.completions == 1; });
  EXPECT_EQ(op.why, "");
}

// ---- connections that break, or are of no use, before the handshake is over ---------------------------------------------

// The kernel of this socket, and of those that it accepts, drops what holds more than a header, and acknowledges none of it.
void take_no_data(const Socket& socket) {
  constexpr std::uint32_t kMostHeader = 60, kDrop = 0, kTake = ~0u;
  sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kMostHeader, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, kDrop), BPF_STMT(BPF_RET | BPF_K, kTake)};
  const sock_fprog filter{4, steps};
  ASSERT_EQ(::setsockopt(socket.fd(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter), 0) << std::strerror(errno);
}
void take_data_again(const Socket& socket) {
  const int unused = 0;
  ASSERT_EQ(::setsockopt(socket.fd(), SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused), 0) << std::strerror(errno);
}

class TcpFirstHandshakeTest : public TcpDialTest {
 protected:
  void SetUp() override {
    TcpTest::SetUp();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      nodes_[rank].reset();
      nodes_[rank] = std::make_unique<Node>(clock_, rank, [](TcpOptions& options) { options.resume = Choice::kOn; });
    }
    terms_.features = wire::kFeatureResume;
  }
  void pump(const std::function<bool()>& done) {
    TcpTest::pump(done, [this] { clock_.advance(100'000); });
  }
  // Waits for the kernel, whose first sendings again come 0.2 and 0.6 s after the first one.
  static void wait_until_sent_in_vain(int fd) {
    tcp_info info{};
    socklen_t length = sizeof info;
    while (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_retransmits < kHandshakeResendsInVain) {
    }
  }
  // Of this process, to that address.
  static int socket_to(const Address& remote) {
    for (const int fd : connections()) {
      sockaddr_storage peer;
      socklen_t length = sizeof peer;
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
      if (Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&peer)).port == remote.port) return fd;
    }
    return -1;
  }

  wire::Terms terms_;
};

TEST_F(TcpFirstHandshakeTest, BreaksAreSurvivedHoweverMany) {
  Answerer peer(key_, terms_);
  offer({peer.card()});
  TestOp op(1);
  low().post(1, op);
  for (int breaks = 0; breaks < 10; ++breaks) {
    pump([&] { return peer.accept(); });
    peer.socket.close();
  }
  pump([&] { return peer.accept(); });
  pump([&] { return peer.has_proof(); });
  peer.decide(wire::Verdict::kAccepted);
  pump([&] { return low().transport->link_state({1}) == LinkState::kOpen; });
  EXPECT_TRUE(low().sink.lost.empty());
}

// As after a packet with a damaged time stamp: the host answers, and takes nothing of this connection any more.
TEST_F(TcpFirstHandshakeTest, AConnectionWhoseHostTakesNothingIsMadeAnew) {
  Answerer peer(key_, terms_);
  take_no_data(peer.listener());
  offer({peer.card()});
  TestOp op(1);
  low().post(1, op);
  pump([&] { return peer.accept(); });
  take_data_again(peer.listener());
  turn_both();
  wait_until_sent_in_vain(socket_to(peer.listener().local_address()));
  const std::int64_t before = clock_.now();
  pump([&] { return is_closed(peer.socket); });
  peer.socket.close();
  pump([&] { return peer.accept() && peer.has_proof(); });
  EXPECT_LT(clock_.now() - before, kSecond);
  peer.decide(wire::Verdict::kAccepted);
  pump([&] { return low().transport->link_state({1}) == LinkState::kOpen; });
}

// The same in the other direction: the one that connects is told by a reset, which its kernel takes all the same.
TEST_F(TcpFirstHandshakeTest, AStrangerWhoseHostTakesNothingIsDropped) {
  attach();
  const Socket caller = call_rank_1();
  take_no_data(caller);
  const wire::Handshake hello = wire::Handshake::connector(key_, {runtime::kJobForTests, 0}, {runtime::kJobForTests, 1}, wire::random_nonce(), terms_);
  send_bytes(caller, hello.output(), hello.output_bytes());
  pump([&] { return high().transport->strangers() == 1; });
  turn_both();
  for (const int fd : connections()) {
    if (fd != caller.fd()) wait_until_sent_in_vain(fd);
  }
  pump([&] { return high().transport->strangers() == 0; });
  EXPECT_TRUE(is_closed(caller));
}

// An address at which somebody else closes all connections.
TEST_F(TcpFirstHandshakeTest, BreaksEndWithTheTimeToConnect) {
  Answerer stranger(key_);
  offer({stranger.card()});
  TestOp op(1);
  low().post(1, op);
  pump([&] {
    if (stranger.accept()) stranger.socket.close();
    return op.completions == 1;
  });
  EXPECT_NE(op.why.find("connected, but closed from there"), std::string::npos) << op.why;
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
