// Somebody, or something, between two ranks: a relay that stands in the place of each rank's address and changes what goes through it, at random
// moments of a fixed seed. What is checked loses nothing by accidents, and what is sealed nothing by any of it; both end what was wrong, and go on.
#include <netinet/tcp.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

#include "net/tcp/tcp_pair_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

using Bytes = std::vector<std::byte>;

enum class Attack {
  kFlip,      // one bit is changed
  kRepeat,    // bytes come twice
  kLeaveOut,  // some bytes are missing
  kReorder,   // two parts come in the other order
  kReflect,   // the sender gets its own bytes
  kTruncate,  // some bytes, and then the end
  kSplice,    // in their place come those of an earlier connection, from the same place in it
};

// Two sockets, and what has gone through from each.
struct Conversation {
  Socket ends[2];
  Bytes seen[2];
  Bytes waits[2];  // for that end to take it
  int quiet = 0;   // turns
  bool attacked = false;
  bool over = false;
};

// Looks like the rank whose address it is given.
class Relay {
 public:
  using Hook = std::function<void(Conversation&, int from, Bytes&)>;

  Relay(const Address& target, Hook hook) : target_(target), hook_(std::move(hook)), listener_(open_listener()) {}
  Address address() const { return listener_.local_address(); }
  const std::deque<Conversation>& conversations() const { return conversations_; }

  void turn() {
    Socket accepted;
    Address from;
    while (listener_.accept(accepted, from) == 0) {
      Conversation& fresh = conversations_.emplace_back();
      fresh.ends[0] = std::move(accepted);
      EXPECT_EQ(Socket::connect(target_, {}, fresh.ends[1]), 0);
    }
    for (Conversation& each : conversations_) {
      if (!each.over) pass_on(each);
    }
  }

 private:
  // A network that has damaged something and then carries nothing does not stay so for ever: it ends the connection.
  static constexpr int kPatience = 2000;

  void pass_on(Conversation& conversation) {
    ++conversation.quiet;
    for (int from = 0; from < 2 && !conversation.over; ++from) {
      Bytes chunk(16 << 10);
      const ssize_t got = ::recv(conversation.ends[from].fd(), chunk.data(), chunk.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != ENOTCONN)) conversation.over = true;
      if (got <= 0) continue;
      conversation.quiet = 0;
      acknowledge_at_once(conversation.ends[from]);
      chunk.resize(static_cast<std::size_t>(got));
      const Bytes as_sent = chunk;
      hook_(conversation, from, chunk);
      conversation.seen[from].insert(conversation.seen[from].end(), as_sent.begin(), as_sent.end());
      Bytes& waits = conversation.waits[1 - from];
      waits.insert(waits.end(), chunk.begin(), chunk.end());
    }
    for (int to = 0; to < 2; ++to) send_what_waits(conversation, to);
    if (conversation.attacked && conversation.quiet > kPatience) conversation.over = true;
    if (conversation.over) {
      for (Socket& end : conversation.ends) end.close();
    }
  }
  // The kernel would wait for 40 ms, which are many turns.
  static void acknowledge_at_once(const Socket& socket) {
    const int on = 1;
    ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
  }
  void send_what_waits(Conversation& conversation, int to) {
    Bytes& waits = conversation.waits[to];
    if (waits.empty() || !conversation.ends[to]) return;
    const ssize_t sent = ::send(conversation.ends[to].fd(), waits.data(), waits.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) waits.erase(waits.begin(), waits.begin() + sent);
  }

  const Address target_;
  const Hook hook_;
  const Socket listener_;
  std::deque<Conversation> conversations_;
};

class TcpInterferenceTest : public TcpTest {
 protected:
  void connect(Protection wire, const Relay::Hook& hook, bool polls = false) {
    std::vector<wire::Card> cards;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      nodes_[rank].reset();
      nodes_[rank] = std::make_unique<Node>(clock_, rank, [&](TcpOptions& options) {
        options.wire = wire;
        options.polls = polls;
      });
      relays_[rank] = std::make_unique<Relay>(nodes_[rank]->address(), hook);
      cards.push_back(nodes_[rank]->card);
      cards.back().set("tcp", encode_addresses({relays_[rank]->address()}));
    }
    for (auto& node : nodes_) node->attach(cards);
  }
  void TearDown() override {
    const auto closed = std::move(nodes_[0]);
  }
  void pump(const std::function<bool()>& done) {
    TcpTest::pump(done, [this] {
      for (auto& relay : relays_) relay->turn();
      clock_.advance(100'000);
    });
  }
  // The same, and while a connection stands there is much time in a turn, so that inspections come; a handshake waits for the kernel.
  void pump_rounds(const std::function<bool()>& done) {
    TcpTest::pump(done, [this] {
      for (auto& relay : relays_) relay->turn();
      const bool stands = low().transport->link_state({1}) == LinkState::kOpen && high().transport->link_state({0}) == LinkState::kOpen;
      clock_.advance(stands ? kSecond / 50 : 100'000);
    });
  }
  void exchange_a_frame() {
    TestOp there(1, 100), back(2, 100);
    low().post(1, there);
    high().post(0, back);
    pump([&] { return high().sink.tags.size() == 1 && low().sink.tags.size() == 1; });
    pump([&] { return there.completions == 1 && back.completions == 1; });
    for (auto& node : nodes_) node->sink.tags.clear();
  }
  std::uint64_t wrong() const {
    return nodes_[0]->transport->counters().records_wrong + nodes_[1]->transport->counters().records_wrong;
  }
  bool has_seen(std::string_view text) const {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    for (const auto& relay : relays_) {
      for (const Conversation& each : relay->conversations()) {
        for (const Bytes& seen : each.seen) {
          if (std::search(seen.begin(), seen.end(), begin, begin + text.size()) != seen.end()) return true;
        }
      }
    }
    return false;
  }

  std::unique_ptr<Relay> relays_[2];
};

// Attacks one chunk in some, once the first connection stands.
class Attacker {
 public:
  Attacker(Attack attack, unsigned seed) : attack_(attack), random_(seed) {}

  void begin() { on_ = true; }
  void stop() { on_ = false; }
  int attacks() const { return attacks_; }

  void handle(Conversation& conversation, int from, Bytes& chunk) {
    const std::size_t at = conversation.seen[from].size();
    if (on_ && random_() % 6 == 0 && chunk.size() > 1 && strike(conversation, from, at, chunk)) {
      ++attacks_;
      conversation.attacked = true;
    }
    Bytes& kept = before_[from];
    if (kept.size() < at + chunk.size() && at <= kept.size()) kept.insert(kept.end(), chunk.begin(), chunk.end());
  }

 private:
  bool strike(Conversation& conversation, int from, std::size_t at, Bytes& chunk) {
    const std::size_t cut = 1 + random_() % (chunk.size() - 1);
    Bytes again;
    const auto middle = chunk.begin() + static_cast<std::ptrdiff_t>(cut);
    switch (attack_) {
      case Attack::kFlip:
        chunk[cut] ^= static_cast<std::byte>(1u << random_() % 8);
        break;
      case Attack::kRepeat:
        again = chunk;
        chunk.insert(chunk.end(), again.begin(), again.end());
        break;
      case Attack::kLeaveOut:
        chunk.erase(chunk.begin(), middle);
        break;
      case Attack::kReorder:
        std::rotate(chunk.begin(), middle, chunk.end());
        break;
      case Attack::kReflect:
        conversation.waits[from].insert(conversation.waits[from].end(), chunk.begin(), chunk.end());
        break;
      case Attack::kTruncate:
        chunk.resize(cut);
        conversation.over = true;
        break;
      case Attack::kSplice:
        if (before_[from].size() < at + chunk.size()) {
          conversation.over |= at > kEnoughToSplice;  // so that there is an earlier one
          return false;
        }
        std::copy_n(before_[from].begin() + static_cast<std::ptrdiff_t>(at), chunk.size(), chunk.begin());
        break;
    }
    return true;
  }

  static constexpr std::size_t kEnoughToSplice = 100'000;

  const Attack attack_;
  std::mt19937 random_;
  bool on_ = false;
  int attacks_ = 0;
  Bytes before_[2];  // the longest beginning of what has gone in each direction over one connection, in parts
};

struct Case {
  Protection wire;
  Attack attack;
  const char* name;
};

class TcpAttackTest : public TcpInterferenceTest, public ::testing::WithParamInterface<Case> {};

TEST_P(TcpAttackTest, NothingWrongIsDeliveredAndNothingIsLost) {
  Attacker attacker(GetParam().attack, 7);
  connect(GetParam().wire, [&](Conversation& conversation, int from, Bytes& chunk) { attacker.handle(conversation, from, chunk); });
  exchange_a_frame();
  attacker.begin();
  std::mt19937 random(3);
  constexpr int kFrames = 300;
  std::deque<TestOp> ops;
  for (int tag = 0; tag < kFrames; ++tag) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const std::size_t bytes = random() % 4 != 0 ? random() % 300 : random() % 60'000;
      ops.emplace_back(tag, bytes);
      nodes_[rank]->post(1 - rank, ops.back());
    }
    const auto due = static_cast<std::size_t>(tag < 10 ? 0 : tag - 10);
    pump([&] { return low().sink.tags.size() >= due && high().sink.tags.size() >= due; });
  }
  attacker.stop();
  pump([&] { return low().sink.tags.size() == kFrames && high().sink.tags.size() == kFrames; });
  pump([&] { return std::all_of(ops.begin(), ops.end(), [](const TestOp& op) { return op.completions == 1 && op.why.empty(); }); });
  for (auto& node : nodes_) {
    for (int tag = 0; tag < kFrames; ++tag) ASSERT_EQ(node->sink.tags[static_cast<std::size_t>(tag)], tag);
    EXPECT_TRUE(node->sink.intact);
    EXPECT_TRUE(node->sink.lost.empty()) << node->sink.lost.front();
  }
  EXPECT_GE(attacker.attacks(), 15);
  if (GetParam().attack != Attack::kTruncate) {
    EXPECT_GE(wrong(), 5u);
  }
}

constexpr Case kCases[] = {
    {Protection::kChecked, Attack::kFlip, "checked_flip"},
    {Protection::kChecked, Attack::kRepeat, "checked_repeat"},
    {Protection::kChecked, Attack::kLeaveOut, "checked_leave_out"},
    {Protection::kChecked, Attack::kReorder, "checked_reorder"},
    {Protection::kChecked, Attack::kTruncate, "checked_truncate"},
    {Protection::kSealed, Attack::kFlip, "sealed_flip"},
    {Protection::kSealed, Attack::kRepeat, "sealed_repeat"},
    {Protection::kSealed, Attack::kLeaveOut, "sealed_leave_out"},
    {Protection::kSealed, Attack::kReorder, "sealed_reorder"},
    {Protection::kSealed, Attack::kReflect, "sealed_reflect"},
    {Protection::kSealed, Attack::kTruncate, "sealed_truncate"},
    {Protection::kSealed, Attack::kSplice, "sealed_splice"},
};
std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Attacks, TcpAttackTest, ::testing::ValuesIn(kCases), name_of_case);

// ---- what each protection does not do --------------------------------------------------------------------------------

TEST_F(TcpInterferenceTest, OnlyWhatIsSealedCannotBeRead) {
  constexpr std::string_view kText = "the quick brown fox jumps over the lazy dog";
  for (const Protection wire : {Protection::kPlain, Protection::kChecked, Protection::kSealed}) {
    connect(wire, [](Conversation&, int, Bytes&) {});
    exchange_a_frame();
    TestOp op(1, kText.size());
    std::memcpy(op.payload.data(), kText.data(), kText.size());
    low().post(1, op);
    pump([&] { return high().sink.tags.size() == 1; });
    EXPECT_EQ(has_seen(kText), wire != Protection::kSealed) << name_of(wire);
  }
}

// A bit of a payload is flipped behind the kernel's checksums, as a bridge with bad memory does it.
TEST_F(TcpInterferenceTest, PlainFramesDoNotShowThatTheyWereChanged) {
  for (const Protection wire : {Protection::kPlain, Protection::kChecked}) {
    bool flips = false;
    connect(wire, [&](Conversation&, int, Bytes& chunk) {
      if (chunk.size() > 900 && std::exchange(flips, false)) chunk[600] ^= std::byte{4};
    });
    exchange_a_frame();
    flips = true;
    TestOp op(5, 1000);
    low().post(1, op);
    pump([&] { return high().sink.tags.size() == 1; });
    EXPECT_FALSE(flips);
    EXPECT_EQ(high().sink.intact, wire != Protection::kPlain) << name_of(wire);
    EXPECT_EQ(wrong(), wire == Protection::kPlain ? 0u : 1u);
  }
}

TEST_F(TcpInterferenceTest, APathThatDamagesEverythingIsGivenUp) {
  bool damages = false;
  connect(Protection::kChecked, [&](Conversation&, int, Bytes& chunk) {
    if (damages && chunk.size() > 500) chunk[400] ^= std::byte{1};  // handshakes pass
  });
  exchange_a_frame();
  damages = true;
  TestOp op(1, 1000);
  low().post(1, op);
  const std::int64_t before = clock_.now();
  TcpTest::pump([&] { return !high().sink.lost.empty(); },
                [this] {
                  for (auto& relay : relays_) relay->turn();
                  clock_.advance(kSecond / 50);  // in a minute of smaller steps there would be very many connections
                });
  EXPECT_GE(clock_.now() - before, 60 * kSecond);
  EXPECT_NE(high().sink.lost[0].find("No frame has come through for 60 s over any connection (LAPWING_PEER_TIMEOUT)"), std::string::npos)
      << high().sink.lost[0];
}

// ---- what is swallowed -------------------------------------------------------------------------------------------------

// A relay takes what is sent, so that the kernel acknowledges it, and passes nothing on.
struct SwallowCase {
  Protection wire;
  int from;   // the end of the conversation that is not heard: 0, the one that connected
  int times;  // chunks; kAllOfThem: until this connection ends
  const char* name;
};
constexpr int kAllOfThem = -1;

class TcpSwallowTest : public TcpInterferenceTest, public ::testing::WithParamInterface<SwallowCase> {};

TEST_P(TcpSwallowTest, TheLastFrameComesAllTheSame) {
  int swallows = 0;
  const Conversation* on = nullptr;  // the connection that is attacked
  connect(GetParam().wire, [&](Conversation& conversation, int from, Bytes& chunk) {
    if (swallows == 0 || from != GetParam().from || (on != nullptr && on != &conversation)) return;
    on = &conversation;
    if (swallows > 0) --swallows;
    chunk.clear();
  });
  exchange_a_frame();
  std::uint64_t resumed = 0;
  for (int tag = 10; tag < 16; ++tag) {
    on = nullptr;
    swallows = GetParam().times;
    Node &sender = tag % 2 == 0 ? low() : high(), &receiver = tag % 2 == 0 ? high() : low();
    TestOp op(tag, 300);
    sender.post(tag % 2 == 0 ? 1 : 0, op);
    const std::int64_t before = clock_.now();
    pump_rounds([&] {
      const engine::Visit visit(sender.engine);
      return op.completions == 1 && !receiver.sink.tags.empty() && sender.transport->flushed();
    });
    EXPECT_EQ(op.why, "");
    EXPECT_EQ(receiver.sink.tags, std::vector<int>{tag});
    EXPECT_LT(clock_.now() - before, 10 * kSecond);
    swallows = 0;
    receiver.sink.tags.clear();
  }
  for (auto& node : nodes_) {
    EXPECT_TRUE(node->sink.intact);
    EXPECT_TRUE(node->sink.lost.empty()) << node->sink.lost.front();
    resumed += node->transport->counters().connections_resumed;
  }
  EXPECT_GE(resumed, 1u);
}

constexpr SwallowCase kSwallows[] = {
    {Protection::kChecked, 0, 1, "checked_a_frame_of_the_connector"},
    {Protection::kChecked, 1, 1, "checked_a_frame_of_the_acceptor"},
    {Protection::kChecked, 0, kAllOfThem, "checked_all_of_the_connector"},
    {Protection::kChecked, 1, kAllOfThem, "checked_all_of_the_acceptor"},
    {Protection::kSealed, 0, 1, "sealed_a_frame_of_the_connector"},
    {Protection::kSealed, 1, kAllOfThem, "sealed_all_of_the_acceptor"},
};
INSTANTIATE_TEST_SUITE_P(Swallows, TcpSwallowTest, ::testing::ValuesIn(kSwallows),
                         [](const ::testing::TestParamInfo<SwallowCase>& info) { return std::string(info.param.name); });

// Nothing is broken where a rank that is asked answers.
TEST_F(TcpInterferenceTest, AnIdleLinkIsAskedAndLeftAlone) {
  connect(Protection::kSealed, [](Conversation&, int, Bytes&) {});
  exchange_a_frame();
  TestOp op(3, 300);
  low().post(1, op);
  const auto delivered = [&] {
    const engine::Visit visit(low().engine);
    return low().transport->flushed();
  };
  EXPECT_FALSE(delivered());
  pump_rounds(delivered);
  EXPECT_EQ(high().sink.tags.size(), 1u);
  EXPECT_EQ(low().transport->counters().connections_resumed, 0u);
}

// A rank that computes between its calls has been sent everything, and answers late: its connection is broken, and nothing is lost.
TEST_F(TcpInterferenceTest, ARankThatIsAwayLosesNothing) {
  connect(Protection::kChecked, [](Conversation&, int, Bytes&) {});
  exchange_a_frame();
  TestOp first(3, 300), second(4, 300);
  low().post(1, first);
  for (int turns = 0; turns < 2000; ++turns) {
    low().turn();
    for (auto& relay : relays_) relay->turn();
    clock_.advance(kSecond / 50);
    if (turns == 1000) low().post(1, second);
  }
  EXPECT_NE(low().transport->link_state({1}), LinkState::kOpen) << "the test wants the connection to be broken";
  pump([&] { return high().sink.tags.size() == 2 && first.completions == 1 && second.completions == 1; });
  EXPECT_EQ(high().sink.tags, (std::vector<int>{3, 4}));
  EXPECT_EQ(first.why + second.why, "");
  EXPECT_TRUE(low().sink.lost.empty() && high().sink.lost.empty());
}

// It has said that it answers only while its application calls MPI.
TEST_F(TcpInterferenceTest, ARankThatPollsIsWaitedForLonger) {
  connect(Protection::kChecked, [](Conversation&, int, Bytes&) {}, true);
  exchange_a_frame();
  for (int tag = 3; tag < 6; ++tag) {
    TestOp op(tag, 300);
    low().post(1, op);
    for (std::int64_t away = 0; away < 30 * kSecond; away += kSecond / 50) {
      low().turn();
      for (auto& relay : relays_) relay->turn();
      clock_.advance(kSecond / 50);
    }
    EXPECT_EQ(low().transport->link_state({1}), LinkState::kOpen);
    pump([&] { return !high().sink.tags.empty() && high().sink.tags.back() == tag && op.completions == 1; });
  }
  EXPECT_EQ(low().transport->counters().connections_resumed, 0u);
}

TEST_F(TcpInterferenceTest, APathThatSwallowsEverythingIsGivenUp) {
  constexpr std::size_t kHandshake[] = {128 + 40, 128 + 56};  // bytes of the connector's, and of the acceptor's
  bool swallows = false;
  connect(Protection::kSealed, [&](Conversation& conversation, int from, Bytes& chunk) {
    const std::size_t passed = std::min(conversation.seen[from].size(), kHandshake[from]);
    if (swallows) chunk.resize(std::min(chunk.size(), kHandshake[from] - passed));
  });
  exchange_a_frame();
  swallows = true;
  TestOp op(1, 1000);
  low().post(1, op);
  const std::int64_t before = clock_.now();
  pump_rounds([&] { return !low().sink.lost.empty(); });
  EXPECT_GE(clock_.now() - before, 60 * kSecond);
  EXPECT_LT(clock_.now() - before, 80 * kSecond);
  EXPECT_NE(low().sink.lost[0].find("all that was sent has been taken there, and the rank does not say that it has come. Nothing has come through for 60 s "
                                    "over any connection (LAPWING_PEER_TIMEOUT)"),
            std::string::npos)
      << low().sink.lost[0];
}

// It is told by the rank that connects, with both settings.
TEST_F(TcpTest, RanksThatProtectTheirFramesInDifferentWaysSaySo) {
  nodes_[1] = std::make_unique<Node>(clock_, 1, [](TcpOptions& options) { options.wire = Protection::kSealed; });
  attach();
  TestOp op(1);
  low().post(1, op);
  pump([&] { return op.completions == 1; });
  EXPECT_NE(op.why.find("rank 1 has LAPWING_WIRE=sealed and this rank LAPWING_WIRE=plain; every rank of a job needs the same"), std::string::npos)
      << op.why;
  EXPECT_EQ(op.why.find("firewall"), std::string::npos) << op.why;
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
