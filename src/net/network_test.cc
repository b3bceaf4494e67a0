#include "net/network.h"

#include <gtest/gtest.h>

#include "base/settings.h"
#include "net/shm/invitation.h"

#include "runtime/one_job_for_tests.h"

namespace lapwing::net {

struct NetworkForTests {
  static void put(Network& network, std::vector<std::unique_ptr<Transport>> transports) {
    network.transports_ = std::move(transports);
    network.routes_.reset(network.size(), [&network](std::size_t index, Network::Route& route) {
      network.find_route({static_cast<std::uint32_t>(index)}, route);
    });
  }
};

namespace {

class SilentSink final : public FrameSink {
 public:
  Landing on_header(PeerId, const wire::FrameHeader&) noexcept override { return {}; }
  void on_frame(PeerId, const wire::FrameHeader&) noexcept override {}
  void on_peer_lost(PeerId, const Status&, const Landing*) noexcept override {}
};

class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    engine::EngineOptions options;
    options.event_thread = false;
    ASSERT_TRUE(engine_.start(options).ok());
    config_.size = 2;
    config_.processes = &runtime::one_job(2);
    config_.transports = {"tcp"};
    config_.job_secret = std::string(32, 's');
    config_.host_identity = "machine";
    config_.host_name = "node1";
    config_.single_host = true;
    config_.settings = &settings_;
  }

  Settings settings_;
  SteadyClock clock_;
  engine::Engine engine_{clock_};
  SilentSink sink_;
  NetworkConfig config_;
};

TEST_F(NetworkTest, ChoosesATransportPerPeer) {
  const engine::Visit visit(engine_);
  config_.single_host = false;
  Network network(engine_, sink_, config_);
  std::vector<wire::Card> cards(2);
  ASSERT_TRUE(network.publish(cards[0]).ok());
  EXPECT_EQ(cards[0].get("name"), "node1");
  EXPECT_EQ(cards[0].get("tcp").rfind("127.0.0.1:", 0), 0u) << cards[0].get("tcp");
  cards[1] = cards[0];
  cards[1].set("name", "node2");
  cards[1].set("host", "another");
  const Status attached = network.attach(cards);
  ASSERT_TRUE(attached.ok()) << attached.text();
  EXPECT_STREQ(network.route({0}).name(), "self");
  EXPECT_STREQ(network.route({1}).name(), "tcp");
  EXPECT_EQ(network.capabilities({1}).eager_limit, 64u << 10);
  EXPECT_TRUE(network.same_host({0}));
  EXPECT_FALSE(network.same_host({1}));
  EXPECT_EQ(network.describe({1}), "rank 1 on host node2");
  EXPECT_TRUE(network.flushed());
  network.close();
}

// Transports that only say what they can.
class SaidTransport final : public Transport {
 public:
  SaidTransport(const char* name, bool reaches, const Capabilities& capabilities) : name_(name), reaches_(reaches), capabilities_(capabilities) {}
  const char* name() const noexcept override { return name_; }
  Status publish(wire::Card&) override { return {}; }
  Status attach(const wire::CardBook&) override { return {}; }
  bool reaches(PeerId) const noexcept override { return reaches_; }
  Capabilities capabilities(PeerId) const noexcept override { return capabilities_; }
  bool post(PeerId, SendOp&) noexcept override { return true; }
  void abandon(PeerId, const Status&) noexcept override { ++abandoned; }
  bool loses_packets(PeerId) const noexcept override { return loses_packets_now; }
  std::uint32_t packets_resent(PeerId) const noexcept override { return resent; }
  void heed_resent(PeerId, std::uint32_t packets, std::uint64_t) noexcept override { heeded = packets; }
  bool flushed() const noexcept override { return true; }
  void expect_goodbye() noexcept override {}
  void close() noexcept override {}
  bool poll() noexcept override { return false; }
  bool arm() noexcept override { return true; }
  void disarm() noexcept override {}

  int abandoned = 0;
  bool loses_packets_now = false;
  std::uint32_t resent = 0, heeded = 0;

 private:
  const char* name_;
  const bool reaches_;
  const Capabilities capabilities_;
};

TEST_F(NetworkTest, LongMessagesTakeTheNextWayWhereTheFirstIsWorse) {
  const engine::Visit visit(engine_);
  Capabilities first{65536, 10000}, second{65536, 50000};
  first.best_up_to = 8000;
  for (const bool another_way : {true, false}) {
    Network network(engine_, sink_, config_);
    std::vector<std::unique_ptr<Transport>> transports;
    transports.push_back(std::make_unique<SaidTransport>("ether", true, first));
    transports.push_back(std::make_unique<SaidTransport>("shm", false, second));
    if (another_way) transports.push_back(std::make_unique<SaidTransport>("tcp", true, second));
    auto& best = static_cast<SaidTransport&>(*transports.front());
    auto& last = static_cast<SaidTransport&>(*transports.back());
    NetworkForTests::put(network, std::move(transports));
    EXPECT_STREQ(network.route({1}).name(), "ether");
    EXPECT_STREQ(network.data_route({1}).name(), another_way ? "tcp" : "ether");
    EXPECT_EQ(network.capabilities({1}).eager_limit, another_way ? 8000u : 65536u);
    EXPECT_EQ(network.capabilities({1}).data_chunk, another_way ? 50000u : 10000u);
    last.resent = 3;
    network.look_for_losses({1}, 100'000);
    EXPECT_EQ(best.heeded, another_way ? 3u : 0u);
    best.loses_packets_now = true;
    EXPECT_STREQ(network.data_route({1}).name(), "ether");
    network.abandon({1}, Status());
    EXPECT_EQ(last.abandoned, 1);
  }
}

// What a rank says whose peer's card differs from its own in these entries.
class NoRouteTest : public NetworkTest {
 protected:
  std::string text_where(std::initializer_list<std::pair<const char*, const char*>> entries) {
    const engine::Visit visit(engine_);
    config_.single_host = false;
    Network network(engine_, sink_, config_);
    std::vector<wire::Card> cards(2);
    EXPECT_TRUE(network.publish(cards[0]).ok());
    cards[1] = cards[0];
    for (const auto& [name, value] : entries) cards[1].set(name, value);
    std::string text = network.attach(cards).text();
    network.close();
    return text;
  }
};

TEST_F(NoRouteTest, APeerThatCannotBeReached) {
  config_.transports.clear();
  EXPECT_EQ(text_where({{"host", "another"}, {"name", "node2"}}),
            "rank 0 on host node1 has no way to rank 1 on host node2: the transports in use are self, and only ether or tcp reaches "
            "other hosts; see LAPWING_TRANSPORTS and `lapwing doctor`");
}

TEST_F(NoRouteTest, AProcessOfThisMachineThatIsOnAnotherHost) {
  config_.transports.clear();
  config_.host_identity = "boot/1/0";
  EXPECT_NE(text_where({{"host", "boot/2/0"}}).find("in different network namespaces"), std::string::npos);
}

TEST_F(NoRouteTest, APeerThatOffersNoTransportBetweenHosts) {
  EXPECT_EQ(text_where({{"host", "another"}, {"name", "node2"}, {"tcp", ""}}),
            "rank 0 on host node1 has no way to rank 1 on host node2: the transports in use are self, tcp, and only ether or tcp reaches "
            "other hosts, which that rank does not offer, or not the same as this one; see LAPWING_TRANSPORTS and `lapwing doctor`");
}

TEST_F(NetworkTest, RefusesATransportThatThereIsNot) {
  const engine::Visit visit(engine_);
  config_.transports = {"self", "tpc"};
  Network network(engine_, sink_, config_);
  wire::Card card;
  EXPECT_STREQ(network.publish(card).text(), "LAPWING_TRANSPORTS names \"tpc\", which is no transport: there are self, shm, ether, tcp");
  network.close();
}

TEST_F(NetworkTest, RefusesAnotherVersion) {
  const engine::Visit visit(engine_);
  config_.single_host = false;
  Network network(engine_, sink_, config_);
  std::vector<wire::Card> cards(2);
  ASSERT_TRUE(network.publish(cards[0]).ok());
  cards[1] = cards[0];
  cards[1].set("version", "7");
  EXPECT_STREQ(network.attach(cards).text(),
               "rank 1 on host node1 speaks version 7 of Lapwing's wire format and rank 0 on host node1 version 3; run "
               "all ranks "
               "with the same Lapwing");
  network.close();
}

// A rank of thousands must not pay for peers that it never meets.
TEST_F(NetworkTest, OnASingleHostNobodysCardIsReadAtTheStart) {
  const engine::Visit visit(engine_);
  Network network(engine_, sink_, config_);
  wire::Card card;
  ASSERT_TRUE(network.publish(card).ok());
  ASSERT_TRUE(network.attach(wire::CardBook({card.encode(), "no card at all"})).ok());
  EXPECT_STREQ(network.route({1}).name(), "tcp");
  EXPECT_TRUE(network.same_host({1}));
  EXPECT_EQ(network.describe({1}), "rank 1");
  network.close();
}

// Two machines cloned while they ran: all that their kernels say of themselves is equal.
TEST_F(NetworkTest, AHostOfTheSameIdentityIsAnotherHostIfItsSocketIsNotHere) {
  const engine::Visit visit(engine_);
  config_.single_host = false;
  config_.transports = {"shm", "tcp"};
  Network network(engine_, sink_, config_);
  std::vector<wire::Card> cards(2);
  ASSERT_TRUE(network.publish(cards[0]).ok());
  cards[1] = cards[0];
  cards[1].set("shm", shm::Invitation{"lapwing-of-the-other-machine", std::string(16, 't'), 2, 3, {1}}.encode());
  const Status attached = network.attach(cards);
  ASSERT_TRUE(attached.ok()) << attached.text();
  EXPECT_STREQ(network.route({1}).name(), "tcp");
  EXPECT_FALSE(network.same_host({1}));
  EXPECT_NE(network.host_key(), std::hash<std::string>{}(config_.host_identity));
  network.close();
}

TEST_F(NetworkTest, TooManyForSharedMemoryGoByTcp) {
  const engine::Visit visit(engine_);
  config_.transports = {"shm", "tcp"};
  config_.size = 5000;
  config_.processes = &runtime::one_job(5000);
  Network network(engine_, sink_, config_);
  wire::Card card;
  ASSERT_TRUE(network.publish(card).ok());
  EXPECT_FALSE(card.has("shm"));
  ASSERT_TRUE(network.attach(wire::CardBook(std::vector<std::string>(config_.size, card.encode()))).ok());
  EXPECT_STREQ(network.route({4999}).name(), "tcp");
  network.close();
}

TEST_F(NetworkTest, ASingletonListensToNobody) {
  const engine::Visit visit(engine_);
  config_.size = 1;
  config_.processes = &runtime::one_job(1);
  config_.job_secret.clear();
  Network network(engine_, sink_, config_);
  std::vector<wire::Card> cards(1);
  ASSERT_TRUE(network.publish(cards[0]).ok());
  EXPECT_FALSE(cards[0].has("tcp"));
  ASSERT_TRUE(network.attach(cards).ok());
  EXPECT_STREQ(network.route({0}).name(), "self");
  network.close();
}

}  // namespace
}  // namespace lapwing::net
