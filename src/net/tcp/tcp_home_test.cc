// A link between two ranks that leaves its first address, because that leads nowhere for a time, and goes back there by itself. The first address
// is a forwarder of the test's own, on loopback, and the other the one that rank 1 listens on.
#include <utility>

#include "net/tcp/tcp_pair_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

// The network by which the first address is reached.
class Forwarder {
 public:
  explicit Forwarder(const Address& target) : target_(target) {
    Address any = target;
    any.bytes[3] = 2;
    any.port = 0;
    EXPECT_EQ(Socket::listen(any, {}, listener_), 0);
  }
  Address address() const { return listener_.local_address(); }
  // Connections that have brought something.
  int used() const { return used_; }

  // Asks for a connection are dropped, because the queue of those that wait is full; what stands breaks.
  void cut() {
    pairs_.clear();
    EXPECT_EQ(::listen(listener_.fd(), 0), 0);
    callers_.resize(4);
    for (Socket& caller : callers_) EXPECT_EQ(Socket::connect(address(), {}, caller), 0);
    is_cut_ = true;
  }
  void restore() {
    callers_.clear();
    EXPECT_EQ(::listen(listener_.fd(), 128), 0);
    is_cut_ = false;
  }
  // Connections can be made, and nothing passes.
  void swallow(bool on) { swallows_ = on; }

  void turn() {
    if (is_cut_) return;
    Socket accepted;
    Address from;
    while (listener_.accept(accepted, from) == 0) {
      Pair& pair = pairs_.emplace_back();
      pair.ends[0] = std::move(accepted);
      EXPECT_EQ(Socket::connect(target_, {}, pair.ends[1]), 0);
    }
    for (Pair& pair : pairs_) {
      for (int end = 0; end < 2; ++end) pass_on(pair, end);
    }
  }

 private:
  struct Pair {
    Socket ends[2];
    std::vector<std::byte> waits[2];
    bool used = false;
  };
  void pass_on(Pair& pair, int from) {
    if (!pair.ends[0]) return;
    std::byte bytes[16 << 10];
    std::vector<std::byte>& waits = pair.waits[from];
    const ssize_t got = ::recv(pair.ends[from].fd(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != ENOTCONN)) {
      for (Socket& end : pair.ends) end.close();
      return;
    }
    if (got > 0 && !std::exchange(pair.used, true)) ++used_;
    if (got > 0 && !swallows_) waits.insert(waits.end(), bytes, bytes + got);
    const ssize_t sent = ::send(pair.ends[1 - from].fd(), waits.data(), waits.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) waits.erase(waits.begin(), waits.begin() + sent);
  }

  const Address target_;
  Socket listener_;
  std::deque<Pair> pairs_;
  std::vector<Socket> callers_;
  bool is_cut_ = false, swallows_ = false;
  int used_ = 0;
};

class TcpHomeTest : public TcpTest, public ::testing::WithParamInterface<Protection> {
 protected:
  void SetUp() override {
    TcpTest::SetUp();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      nodes_[rank].reset();
      nodes_[rank] = std::make_unique<Node>(clock_, rank, [](TcpOptions& options) {
        options.resume = Choice::kOn;
        options.links = 1;
        options.wire = GetParam();
      });
    }
    home_ = std::make_unique<Forwarder>(high().address());
    high().card.set("tcp", encode_addresses({home_->address(), high().address()}));
    attach();
    TestOp first(0, 100);
    low().post(1, first);
    pump([&] { return high().sink.tags.size() == 1 && first.completions == 1; });
    EXPECT_EQ(home_->used(), 1);
  }
  void TearDown() override {
    const auto closed = std::move(nodes_[0]);
  }
  void pump(const std::function<bool()>& done) {
    TcpTest::pump(done, [this] {
      home_->turn();
      clock_.advance(100'000);
    });
  }
  void leave_home() {
    home_->cut();
    TestOp op(next_++, 5000);
    low().post(1, op);
    pump([&] { return op.completions == 1 && high().sink.tags.back() == next_ - 1; });
    EXPECT_EQ(op.why, "");
  }
  bool both_open() { return low().transport->link_state({1}) == LinkState::kOpen && high().transport->link_state({0}) == LinkState::kOpen; }
  // So many seconds, with a frame each way in each. While a connection stands there is much time in a turn; a handshake waits for the kernel.
  void pass(int seconds, const std::function<bool()>& enough = [] { return false; }) {
    for (int i = 0; i < seconds && !enough(); ++i) {
      TestOp there(next_, 30'000), back(next_, 30'000);
      ++next_;
      low().post(1, there);
      high().post(0, back);
      for (const std::int64_t end = clock_.now() + kSecond; clock_.now() < end;) {
        for (auto& node : nodes_) node->turn();
        home_->turn();
        clock_.advance(both_open() ? kSecond / 100 : 100'000);
      }
      pump([&] { return there.completions == 1 && back.completions == 1; });
      EXPECT_EQ(there.why + back.why, "");
    }
  }
  void expect_nothing_lost() {
    pump([&] { return static_cast<int>(high().sink.tags.size()) == next_; });
    for (int tag = 0; tag < next_; ++tag) EXPECT_EQ(high().sink.tags[static_cast<std::size_t>(tag)], tag);
    EXPECT_TRUE(low().sink.intact && high().sink.intact);
    EXPECT_TRUE(low().sink.lost.empty() && high().sink.lost.empty());
  }
  std::uint64_t made() { return low().transport->counters().connections_made + high().transport->counters().connections_made; }

  std::unique_ptr<Forwarder> home_;
  int next_ = 1;
};

TEST_P(TcpHomeTest, ItGoesBackWhenItsFirstAddressHasBeenWellForSomeSeconds) {
  leave_home();
  const std::uint64_t resumed = low().transport->counters().connections_resumed;
  pass(10);
  EXPECT_EQ(home_->used(), 1);
  home_->restore();
  pass(2);
  EXPECT_EQ(home_->used(), 1) << "at once";
  pass(60, [this] { return home_->used() == 2 && both_open(); });
  EXPECT_EQ(home_->used(), 2);
  EXPECT_EQ(low().transport->counters().connections_resumed, resumed) << "that was no break";
  pump([&] { return both_open(); });
  const std::uint64_t connections = made();
  pass(200);
  EXPECT_EQ(made(), connections);
  expect_nothing_lost();
}

// It takes connections, and nothing passes on them.
TEST_P(TcpHomeTest, AnAddressThatOnlySeemsWellIsTriedEverMoreRarely) {
  leave_home();
  home_->restore();
  home_->swallow(true);
  pass(150);
  const int tries = home_->used() - 1;
  EXPECT_GE(tries, 3);
  EXPECT_LE(tries, 8);
  pass(150);
  EXPECT_LE(home_->used() - 1, tries + 3);
  home_->swallow(false);
  pass(80);
  const std::uint64_t connections = made();
  pass(100);
  EXPECT_EQ(made(), connections) << "it is at home";
  expect_nothing_lost();
}

INSTANTIATE_TEST_SUITE_P(Wires, TcpHomeTest, ::testing::Values(Protection::kPlain, Protection::kSealed),
                         [](const ::testing::TestParamInfo<Protection>& info) { return name_of(info.param); });

}  // namespace
}  // namespace lapwing::net::tcp::tests
