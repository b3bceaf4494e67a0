// Rails of a link: two further connections between two ranks, by which frames go that need no order. The networks that they are for are the test's
// own: all of them lead over loopback.
#include <algorithm>
#include <utility>

#include "net/tcp/tcp_pair_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

class TcpRailsTest : public TcpTest {
 protected:
  // Where rails are made: at the address that each card names first, twice.
  static std::vector<CommonNetwork> two_networks(const std::vector<Address>& low, const std::vector<Address>& high) {
    return std::vector<CommonNetwork>(2, {low.front(), high.front()});
  }
  static std::vector<CommonNetwork> one_network(const std::vector<Address>& low, const std::vector<Address>& high) {
    return {{low.front(), high.front()}};
  }

  void SetUp() override {
    TcpTest::SetUp();
    make_nodes([](TcpOptions&) {});
  }
  void make_nodes(const Node::Configure& also) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      nodes_[rank].reset();
      nodes_[rank] = std::make_unique<Node>(clock_, rank, [&](TcpOptions& options) {
        options.resume = Choice::kOn;
        options.networks = two_networks;
        also(options);
      });
      nodes_[rank]->sink.takes_any_order = true;
    }
    attach();
  }
  void TearDown() override {
    const auto closed = std::move(nodes_[0]);  // the goodbye that the other sees
  }
  void pump(const std::function<bool()>& done) {
    TcpTest::pump(done, [this] { clock_.advance(100'000); });
  }

  struct Piece : TestOp {
    Piece(int tag, std::size_t bytes) : TestOp(tag, bytes) { any_order = true; }
  };
  static bool is_done(const TestOp& op) { return op.completions == 1; }
  std::size_t count_connections() { return low().transport->counters().connections_accepted + high().transport->counters().connections_accepted; }
  // Posts pieces until both rails stand.
  void make_rails() {
    TestOp first(0, 100);
    low().post(1, first);
    pump([&] { return high().sink.tags.size() == 1 && is_done(first); });
    for (Node* from : {&low(), &high()}) {
      Piece piece(1, 100'000);
      Node& to = from == &low() ? high() : low();
      const std::size_t before = to.sink.tags.size();
      from->post(from == &low() ? 1 : 0, piece);
      pump([&] { return to.sink.tags.size() == before + 1 && piece.completions == 1; });
    }
    pump([&] { return count_connections() == 3; });
    for (auto& node : nodes_) node->sink.tags.clear();
  }
  void expect_all_once(Node& at, int pieces) {
    std::vector<int> tags = at.sink.tags;
    std::sort(tags.begin(), tags.end());
    ASSERT_EQ(tags.size(), static_cast<std::size_t>(pieces));
    for (int tag = 0; tag < pieces; ++tag) EXPECT_EQ(tags[static_cast<std::size_t>(tag)], tag);
    EXPECT_TRUE(at.sink.intact);
    EXPECT_TRUE(at.sink.lost.empty()) << at.sink.lost.front();
  }
};

TEST_F(TcpRailsTest, EachSideFindsTheRailsOfTheOther) {
  make_rails();
  std::deque<Piece> up, down;
  for (int tag = 0; tag < 20; ++tag) {
    up.emplace_back(tag, 300'000);
    down.emplace_back(tag, 300'000);
    low().post(1, up.back());
    high().post(0, down.back());
  }
  pump([&] { return high().sink.tags.size() == 20 && low().sink.tags.size() == 20; });
  pump([&] { return std::all_of(up.begin(), up.end(), is_done) && std::all_of(down.begin(), down.end(), is_done); });
  expect_all_once(high(), 20);
  expect_all_once(low(), 20);
  EXPECT_EQ(count_connections(), 3u);
}

// What keeps an order does so beside pieces that are on their way.
TEST_F(TcpRailsTest, OtherFramesKeepTheirOrder) {
  make_rails();
  std::deque<Piece> pieces;
  std::deque<TestOp> others;
  for (int i = 0; i < 30; ++i) {
    pieces.emplace_back(1000 + i, 700'000);
    others.emplace_back(i, i % 3 == 0 ? 90'000 : 50);
    low().post(1, pieces.back());
    low().post(1, others.back());
    if (i % 4 == 0) high().turn();
  }
  pump([&] { return high().sink.tags.size() == 60; });
  pump([&] { return std::all_of(pieces.begin(), pieces.end(), is_done) && std::all_of(others.begin(), others.end(), is_done); });
  std::vector<int> order;
  for (const int tag : high().sink.tags) {
    if (tag < 1000) order.push_back(tag);
  }
  for (int i = 0; i < 30; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_TRUE(high().sink.intact);
}

// Any of the three breaks at any moment, at either end.
TEST_F(TcpRailsTest, NothingIsLostWhenConnectionsBreak) {
  make_rails();
  constexpr int kPieces = 120;
  std::deque<Piece> pieces;
  unsigned random = 7;
  for (int tag = 0; tag < kPieces; ++tag) {
    pieces.emplace_back(tag, 200'000 + 1000 * static_cast<std::size_t>(tag));
    low().post(1, pieces.back());
    random = random * 1664525 + 1013904223;
    for (unsigned turns = random >> 16 & 3; turns > 0; --turns) nodes_[turns % 2]->turn();
    clock_.advance(100'000);
    if (tag % 10 != 5) continue;
    const std::vector<int> fds = connections();
    if (!fds.empty()) ::shutdown(fds[(random >> 20) % fds.size()], SHUT_RDWR);
  }
  pump([&] { return high().sink.tags.size() == kPieces; });
  expect_all_once(high(), kPieces);
  pump([&] { return std::all_of(pieces.begin(), pieces.end(), is_done); });
  for (const Piece& piece : pieces) EXPECT_EQ(piece.why, "");
}

TEST_F(TcpRailsTest, WhereThereIsOneNetworkThereAreNone) {
  make_nodes([](TcpOptions& options) { options.networks = one_network; });
  Piece piece(0, 500'000);
  low().post(1, piece);
  pump([&] { return high().sink.tags.size() == 1 && is_done(piece); });
  EXPECT_EQ(count_connections(), 1u);
}

TEST_F(TcpRailsTest, NorWhereOneSideIsToUseOne) {
  int made = 0;
  make_nodes([&](TcpOptions& options) { options.links = made++ == 0 ? 1 : 0; });
  for (int tag = 0; tag < 2; ++tag) {
    Piece up(tag, 500'000), down(tag, 500'000);
    low().post(1, up);
    high().post(0, down);
    pump([&] { return up.completions == 1 && down.completions == 1; });
  }
  EXPECT_EQ(count_connections(), 1u);
}

// A network that leads nowhere costs nothing: all goes by the link itself, or by the others.
TEST_F(TcpRailsTest, ARailThatCannotBeMadeIsDoneWithout) {
  make_nodes([](TcpOptions& options) {
    options.networks = [](const std::vector<Address>& low, const std::vector<Address>& high) {
      std::vector<CommonNetwork> networks = two_networks(low, high);
      networks[1].low.port = networks[1].high.port = 1;
      networks[1].low.bytes[3] = networks[1].high.bytes[3] = 77;  // in no card
      return networks;
    };
  });
  std::deque<Piece> pieces;
  for (int tag = 0; tag < 10; ++tag) {
    pieces.emplace_back(tag, 500'000);
    low().post(1, pieces.back());
    pump([&] { return pieces.back().completions == 1; });
    clock_.advance(kSecond);
  }
  pump([&] { return high().sink.tags.size() == 10; });
  expect_all_once(high(), 10);
  EXPECT_EQ(count_connections(), 2u);
}

TEST_F(TcpRailsTest, AFrameThatMustKeepItsOrderIsRefused) {
  make_rails();
  high().sink.takes_any_order = false;
  Piece piece(0, 500'000);
  low().post(1, piece);
  pump([&] { return high().sink.lost.size() == 1; });
  EXPECT_NE(high().sink.lost[0].find("a frame that must keep its order came by a rail"), std::string::npos) << high().sink.lost[0];
  pump([&] { return low().sink.lost.size() == 1 && piece.completions == 1; });
}

// It is told once, for the link; what was to go by the rails fails.
TEST_F(TcpRailsTest, APeerThatEndsTakesItsRailsAlong) {
  make_rails();
  std::deque<Piece> pieces;
  for (int tag = 0; tag < 8; ++tag) {
    pieces.emplace_back(tag, 8 << 20);
    low().post(1, pieces.back());
  }
  for (int fd = 3; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t length = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0) ::shutdown(fd, SHUT_RDWR);
  }
  for (const int fd : connections()) ::shutdown(fd, SHUT_RDWR);
  pump([&] { return low().sink.lost.size() == 1 && high().sink.lost.size() == 1; });
  pump([&] { return std::all_of(pieces.begin(), pieces.end(), is_done); });
  EXPECT_EQ(low().transport->link_state({1}), LinkState::kLost);
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
