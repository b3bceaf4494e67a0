// Two ranks in this process, each with an engine of its own and a transport of one kind between them; over `self` both ends are
// the same rank. What every transport must do is tested with them (conformance_test.cc, conformance_progress_test.cc).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "net/ether/segment_for_tests.h"
#include "net/network.h"
#include "net/registry.h"
#include "net/scattered_walk_for_tests.h"
#include "runtime/one_job_for_tests.h"

namespace lapwing::net {

// Tells frames apart: in a word that no transport reads.
inline void set_tag(SendOp& op, int tag) {
  op.header.set_own(5, static_cast<std::uint64_t>(tag));
}
inline int tag_of(const wire::FrameHeader& header) {
  return static_cast<int>(header.own(5));
}

// How many posts run on this thread: nothing may call back from inside.
inline thread_local int posts_running = 0;

// Posts, and calls back when the frame was taken at once.
inline bool post_and_tell(Transport& transport, PeerId peer, SendOp& op) {
  ++posts_running;
  const bool taken = transport.post(peer, op);
  --posts_running;
  if (taken) op.on_taken(op, Status());
  return taken;
}

struct TestPull : PullOp {
  TestPull() {
    on_end = [](PullOp& op, End end, const Status&) noexcept {
      auto& self = static_cast<TestPull&>(op);
      ++self.ends;
      self.end = end;
    };
  }
  int ends = 0;
  End end = End::kNone;
};

struct TestOp : SendOp {
  TestOp() {
    header.describe(wire::Protocol::kMessages, 0);
    on_taken = [](SendOp& op, const Status& status) noexcept {
      auto& self = static_cast<TestOp&>(op);
      EXPECT_EQ(posts_running, 0);
      ++self.completions;
      if (self.pending != nullptr) {
        --*std::exchange(self.pending, nullptr);
        self.engine->unhold();
      }
      self.failed = !status.ok();
      self.why = status.text();
      if (self.then) self.then(self);
    };
  }
  void carry(Bytes content) {
    bytes = std::move(content);
    data = bytes.data();
    header.describe(wire::Protocol::kMessages, bytes.size());
  }
  void carry(ScatteredWalk& content) {
    walk = &content;
    header.describe(wire::Protocol::kMessages, content.remaining());
  }
  Bytes bytes;
  std::function<void(TestOp&)> then;
  int completions = 0;
  int* pending = nullptr;  // counts those of a node
  engine::Engine* engine = nullptr;
  bool failed = false;
  std::string why;
};

struct Received {
  PeerId from;
  wire::FrameHeader header;
  Bytes bytes;
};

class TestSink final : public FrameSink {
 public:
  // Instead of the landing in a buffer of the payload's size.
  std::function<Landing(PeerId, const wire::FrameHeader&)> choose;
  std::function<void()> after_frame;
  std::vector<Received> received;
  int headers = 0;
  int met = 0;
  int lost = 0;
  bool lost_within_frame = false;
  std::string lost_text;

  Landing on_header(PeerId peer, const wire::FrameHeader& header) noexcept override {
    ++headers;
    Bytes& buffer = buffers_[peer];
    buffer.clear();
    if (choose) return choose(peer, header);
    buffer.assign(header.payload_bytes(), std::byte{0});
    Landing landing;
    landing.base = buffer.data();
    landing.accepted = header.payload_bytes();
    return landing;
  }
  void on_frame(PeerId peer, const wire::FrameHeader& header) noexcept override {
    EXPECT_EQ(posts_running, 0);
    received.push_back({peer, header, std::move(buffers_[peer])});
    if (after_frame) after_frame();
  }
  void on_peer_met(PeerId) noexcept override { ++met; }
  void on_peer_lost(PeerId, const Status& why, const Landing* landing) noexcept override {
    ++lost;
    lost_text = why.text();
    lost_within_frame = landing != nullptr;
  }

 private:
  std::map<PeerId, Bytes> buffers_;
};

// A transport of the registry, with or without what may be set for it.
struct Case {
  TransportKind kind;
  bool resumes;  // LAPWING_RESUME
  Protection wire = Protection::kPlain;
  bool past_program = false;  // LAPWING_RECEIVE=kernel, where this process may
  bool datagrams = false;     // LAPWING_ETHER_FRAMING=udp
  unsigned mtu = 1500;        // of the segment
  // Its ranks are joined by a segment that the test makes.
  bool needs_segment() const noexcept { return std::string(kind.name) == "ether"; }
  // One rank that talks to itself.
  bool loops_back() const noexcept { return kind.always; }
};

inline std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const TransportKind& kind : transport_kinds()) {
    cases.push_back({kind, false});
    if (!kind.always && !kind.may_lack) cases.push_back({kind, true});
    if (kind.name == std::string_view("ether")) {
      for (const Protection wire : {Protection::kPlain, Protection::kChecked, Protection::kSealed}) {
        if (wire != Protection::kPlain) cases.push_back({kind, false, wire});
        cases.push_back({kind, false, wire, false, true});
        for (const bool datagrams : {false, true}) cases.push_back({kind, false, wire, false, datagrams, 9000});
      }
    }
    if (kind.name != std::string_view("tcp")) continue;
    for (const Protection wire : {Protection::kChecked, Protection::kSealed}) cases.push_back({kind, true, wire});
    cases.push_back({kind, false, Protection::kPlain, true});
  }
  return cases;
}

inline std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  const Case& param = info.param;
  const std::string name = std::string(param.kind.name) + (param.datagrams ? "_by_udp" : "") + (param.mtu > 1500 ? "_jumbo" : "");
  if (param.wire != Protection::kPlain) return name + "_" + name_of(param.wire);
  return name + (param.resumes ? "_that_resumes" : param.past_program ? "_past_a_program" : "");
}

// One rank: an engine, a sink and the transport between them.
struct Node {
  Node(const Case& with, PeerId rank, std::uint32_t size, const engine::EngineOptions& options) {
    config.self = rank;
    config.size = size;
    config.processes = &runtime::one_job(size);
    config.job_secret = std::string(32, 's');
    config.host_identity = "this-host";
    config.host_name = "this-host";
    config.single_host = true;
    settings.resume = with.resumes ? Choice::kOn : Choice::kOff;
    settings.wire = with.wire;
    settings.receive = with.past_program ? Receive::kAuto : Receive::kUser;
    settings.single_copy = Choice::kOn;  // whether it pays on this machine or not
    if (with.needs_segment()) settings.ether_interface = {ether::TestSegment::kInterfaces[rank.index]};
    if (with.datagrams) settings.ether_framing = EtherFraming::kUdp;
    config.settings = &settings;
    EXPECT_TRUE(engine.start(options).ok());
    transport = with.kind.make(engine, sink, config);
  }
  ~Node() {
    close();
    engine.stop();
    transport.reset();
  }
  void close() {
    const engine::Visit visit(engine);
    transport->expect_goodbye();
    transport->close();
  }
  void turn() {
    const engine::Visit visit(engine);
    engine.turn();
  }
  void post(PeerId peer, TestOp& op) {
    const engine::Visit visit(engine);
    engine.hold();  // as for any request: a rank at rest leaves an acknowledgement to the application's next call
    op.engine = &engine;
    ++pending;
    op.pending = &pending;
    post_and_tell(*transport, peer, op);
  }
  bool send_now(PeerId peer, wire::FrameHeader& header, const std::byte* payload) {
    const engine::Visit visit(engine);
    ++posts_running;
    const bool sent = transport->send_now(peer, header, payload, Delivery::kAtOnce);
    --posts_running;
    return sent;
  }
  Capabilities capabilities(PeerId peer) {
    const engine::Visit visit(engine);  // what the executor's work makes possible changes them
    return transport->capabilities(peer);
  }

  int pending = 0;  // posts that have not been taken
  SteadyClock clock;
  Settings settings;
  engine::Engine engine{clock};
  TestSink sink;
  NetworkConfig config;
  std::unique_ptr<Transport> transport;
};

class Conformance : public testing::TestWithParam<Case> {
 protected:
  // Ranks that progress only inside turn(), and always go to sleep when they wait.
  void SetUp() override {
    if (GetParam().needs_segment() && !ether::TestSegment::get().ready()) GTEST_SKIP() << ether::TestSegment::get().why();
    ASSERT_TRUE(!GetParam().needs_segment() || ether::TestSegment::get().set_mtu(GetParam().mtu));
    engine::EngineOptions options;
    options.event_thread = false;
    options.spin_budget = 0;
    open(options);
    if (GetParam().past_program && !sender().capabilities(receiver_rank()).matches)
      GTEST_SKIP() << "this process may not load a program into the kernel";
  }

  // `early`: what the first rank sends before the second one knows its peers.
  void open(const engine::EngineOptions& options, TestOp* early = nullptr) {
    const std::uint32_t size = GetParam().loops_back() ? 1 : 2;
    second_.reset();
    first_.reset();
    std::vector<wire::Card> cards(size);
    first_ = std::make_unique<Node>(GetParam(), PeerId{0}, size, options);
    publish(*first_, cards[0]);
    if (size == 2) {
      second_ = std::make_unique<Node>(GetParam(), PeerId{1}, size, options);
      publish(*second_, cards[1]);
    }
    if (early != nullptr) {
      attach(*first_, cards);
      post(*early);
      if (second_) attach(*second_, cards);
      return;
    }
    std::thread other([&] {
      if (second_) attach(*second_, cards);
    });
    attach(*first_, cards);
    other.join();
  }

  static void publish(Node& node, wire::Card& card) {
    std::optional<ether::TestSegment::Visit> segment;
    if (GetParam().needs_segment()) segment.emplace(ether::TestSegment::get(), node.config.self.index);
    card.set("host", node.config.host_identity);
    card.set("name", node.config.host_name);
    const engine::Visit visit(node.engine);
    const Status status = node.transport->publish(card);
    ASSERT_TRUE(status.ok()) << status.text();
  }
  static void attach(Node& node, const std::vector<wire::Card>& cards) {
    std::optional<ether::TestSegment::Visit> segment;
    if (GetParam().needs_segment()) segment.emplace(ether::TestSegment::get(), node.config.self.index);
    const engine::Visit visit(node.engine);
    const Status status = node.transport->attach(cards);
    ASSERT_TRUE(status.ok()) << status.text();
  }

  Node& sender() { return *first_; }
  Node& receiver() { return second_ ? *second_ : *first_; }
  PeerId receiver_rank() const { return {second_ ? 1u : 0u}; }

  void post(TestOp& op) { sender().post(receiver_rank(), op); }

  // Turns both ranks until `done`. The limit only ends a broken run.
  void pump(const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!done()) {
      sender().turn();
      if (second_) second_->turn();
      if (std::chrono::steady_clock::now() > limit) {
        FAIL() << "nothing moves any more";
        return;
      }
    }
  }
  // The receiver pulls from the sender; false: it cannot.
  bool pull(TestPull& op) {
    {
      const engine::Visit visit(receiver().engine);
      op.end = receiver().transport->pull(sender().config.self, op);
    }
    pump([&] { return op.end != PullOp::End::kNone; });
    return op.end == PullOp::End::kWhole;
  }
  void pump_until_received(std::size_t frames) {
    pump([&] { return receiver().sink.received.size() >= frames && sender().pending == 0; });
  }
  // So that a transport with lazy connections has one.
  void get_acquainted() {
    TestOp op;
    op.carry(make_bytes(8, 1));
    post(op);
    pump([&] { return receiver().sink.received.size() == 1 && op.completions == 1; });
    receiver().sink.received.clear();
    receiver().sink.headers = 0;
  }

  // By event threads alone.
  void wait_until_taken(const std::deque<TestOp>& ops) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (bool all = false; !all; std::this_thread::yield()) {
      if (std::chrono::steady_clock::now() > limit) {
        FAIL() << "nothing moves any more";
        return;
      }
      const engine::Visit visit(sender().engine);
      all = std::all_of(ops.begin(), ops.end(), [](const TestOp& op) { return op.completions == 1; });
    }
  }

  std::unique_ptr<Node> first_, second_;
};

}  // namespace lapwing::net
