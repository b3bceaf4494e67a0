// Somebody, or something, between two ranks: a relay that stands in the place of each rank's address and changes what goes through it, at random moments
// of a fixed seed. What is checked loses nothing by accidents, and what is sealed nothing by any of it; both end what was wrong, and go on.
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
      EXPECT_EQ(Socket::connect(target_, fresh.ends[1]), 0);
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
  void connect(Protection wire, const Relay::Hook& hook) {
    std::vector<wire::Card> cards;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      nodes_[rank].reset();
      nodes_[rank] = std::make_unique<Node>(clock_, rank, [wire](TcpOptions& options) { options.wire = wire; });
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

// It is told by the rank that connects, with both settings.
TEST_F(TcpTest, RanksThatProtectTheirFramesInDifferentWaysSaySo) {
  nodes_[1] = std::make_unique<Node>(clock_, 1, [](TcpOptions& options) { options.wire = Protection::kSealed; });
  attach();
  TestOp op(1);
  low().post(1, op);
  pump([&] { return op.completions == 1; });
  EXPECT_NE(op.why.find("rank 1 has LAPWING_WIRE=sealed and this rank LAPWING_WIRE=plain; every rank of a job needs the same"), std::string::npos)
      << op.why;
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
