// What every transport must do, run over each of them: order, sizes, walks, half-received frames, truncation, bursts, floods,
// loss and farewell. Two ranks live in this process, each with an engine of its own; over `self` both ends are the same rank.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/settings.h"
#include "net/network.h"
#include "net/self/self_transport.h"
#include "net/shm/shm_transport.h"
#include "net/tcp/tcp_transport.h"

namespace lapwing::net {
namespace {

using Bytes = std::vector<std::byte>;

Bytes make_bytes(std::uint64_t size, std::uint64_t seed) {
  Bytes bytes(size);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

// A walk through pieces of uneven length, with gaps between them.
class ScatteredWalk final : public ByteWalk {
 public:
  ScatteredWalk(std::uint64_t bytes, bool prefers_copy) : prefers_copy_(prefers_copy), remaining_(bytes) {
    for (std::uint64_t length = 1, left = bytes; left != 0;
         left -= std::min(left, length), length = length * 5 % 977 + 1)
      lengths_.push_back(std::min(left, length));
    memory_.resize(bytes + lengths_.size() * kGap, std::byte{0xee});
    skip_empty();
  }
  ScatteredWalk(const Bytes& content, bool prefers_copy) : ScatteredWalk(content.size(), prefers_copy) {
    std::size_t taken = 0, at = 0;
    for (const std::uint64_t length : lengths_) {
      std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(taken), length,
                  memory_.begin() + static_cast<std::ptrdiff_t>(at));
      taken += length;
      at += length + kGap;
    }
  }

  // The bytes in the order of the wire, whatever was walked.
  Bytes content() const {
    Bytes bytes;
    std::size_t at = 0;
    for (const std::uint64_t length : lengths_) {
      bytes.insert(bytes.end(), memory_.begin() + static_cast<std::ptrdiff_t>(at),
                   memory_.begin() + static_cast<std::ptrdiff_t>(at + length));
      at += length + kGap;
    }
    return bytes;
  }

  std::uint64_t remaining() const noexcept override { return remaining_; }
  std::size_t peek(iovec* segments, std::size_t capacity) noexcept override {
    std::size_t count = 0, at = at_;
    for (std::size_t i = index_; i < lengths_.size() && count < capacity; ++i) {
      const std::uint64_t skip = i == index_ ? within_ : 0;
      segments[count++] = {memory_.data() + at + skip, lengths_[i] - skip};
      at += lengths_[i] + kGap;
    }
    return count;
  }
  void advance(std::uint64_t bytes) noexcept override {
    move(bytes, [](std::byte*, std::uint64_t) {});
  }
  void gather(void* destination, std::size_t bytes) noexcept override {
    auto* next = static_cast<std::byte*>(destination);
    move(bytes, [&](std::byte* piece, std::uint64_t length) {
      std::memcpy(next, piece, length);
      next += length;
    });
  }
  void scatter(const void* source, std::size_t bytes) noexcept override {
    const auto* next = static_cast<const std::byte*>(source);
    move(bytes, [&](std::byte* piece, std::uint64_t length) {
      std::memcpy(piece, next, length);
      next += length;
    });
  }
  bool prefers_copy() const noexcept override { return prefers_copy_; }

 private:
  static constexpr std::size_t kGap = 3;

  template <typename Visit>
  void move(std::uint64_t bytes, Visit visit) {
    ASSERT_LE(bytes, remaining_);
    remaining_ -= bytes;
    while (bytes != 0) {
      const std::uint64_t length = std::min(bytes, lengths_[index_] - within_);
      visit(memory_.data() + at_ + within_, length);
      within_ += length;
      bytes -= length;
      skip_empty();
    }
  }
  void skip_empty() {
    while (index_ < lengths_.size() && within_ == lengths_[index_]) {
      at_ += lengths_[index_++] + kGap;
      within_ = 0;
    }
  }

  bool prefers_copy_;
  std::uint64_t remaining_;
  std::vector<std::uint64_t> lengths_;
  Bytes memory_;
  std::size_t index_ = 0, at_ = 0;
  std::uint64_t within_ = 0;
};

struct TestOp : SendOp {
  TestOp() {
    header.kind = wire::FrameKind::kEager;
    on_sent = [](SendOp& op, const Status& status) noexcept {
      auto& self = static_cast<TestOp&>(op);
      ++self.completions;
      self.failed = !status.ok();
      self.why = status.text();
      if (self.then) self.then(self);
    };
  }
  void carry(Bytes content) {
    bytes = std::move(content);
    data = bytes.data();
    header.payload_bytes = header.message_bytes = bytes.size();
  }
  void carry(ScatteredWalk& content) {
    walk = &content;
    header.payload_bytes = header.message_bytes = content.remaining();
  }
  Bytes bytes;
  std::function<void(TestOp&)> then;
  int completions = 0;
  bool failed = false;
  std::string why;
};

struct Received {
  PeerId from = 0;
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
  int lost = 0;
  bool lost_within_frame = false;
  std::string lost_text;

  Landing on_header(PeerId peer, const wire::FrameHeader& header) noexcept override {
    ++headers;
    if (choose) return choose(peer, header);
    Bytes& buffer = buffers_[peer];
    buffer.assign(header.payload_bytes, std::byte{0});
    Landing landing;
    landing.base = buffer.data();
    landing.accepted = header.payload_bytes;
    landing.token = this;
    return landing;
  }
  void on_frame(PeerId peer, const wire::FrameHeader& header, const Landing& landing) noexcept override {
    received.push_back({peer, header, landing.token == this ? std::move(buffers_[peer]) : Bytes()});
    if (after_frame) after_frame();
  }
  void on_peer_lost(PeerId, const Status& why, const Landing* landing) noexcept override {
    ++lost;
    lost_text = why.text();
    lost_within_frame = landing != nullptr;
  }

 private:
  std::map<PeerId, Bytes> buffers_;
};

struct Kind {
  const char* name;
  std::unique_ptr<Transport> (*make)(engine::Engine&, FrameSink&, const NetworkConfig&);
  bool loops_back;       // one rank that talks to itself
  bool notices_closing;  // a peer that breaks off, or whom we break off with, learns of it
};

template <typename T>
std::unique_ptr<Transport> make(engine::Engine& engine, FrameSink& sink, const NetworkConfig& config) {
  return std::make_unique<T>(engine, sink, config);
}

std::unique_ptr<Transport> make_tcp(engine::Engine& engine, FrameSink& sink, const NetworkConfig& config) {
  TcpOptions options;
  options.rank = config.rank;
  options.size = config.size;
  options.job_secret = config.job_secret;
  options.host_identity = config.host_identity;
  options.host_name = config.host_name;
  options.single_host = true;
  return std::make_unique<TcpTransport>(engine, sink, options);
}

constexpr Kind kKinds[] = {
    {"self", &make<SelfTransport>, true, false},
    {"shm", &make<ShmTransport>, false, false},
    {"tcp", &make_tcp, false, true},
};

// One rank: an engine, a sink and the transport between them.
struct Node {
  Node(const Kind& kind, PeerId rank, std::uint32_t size, const engine::EngineOptions& options) {
    config.rank = rank;
    config.size = size;
    config.job_secret = std::string(32, 's');
    config.host_identity = "this-host";
    config.host_name = "this-host";
    settings.single_copy = Choice::kOn;  // whether it pays on this machine or not
    config.settings = &settings;
    EXPECT_TRUE(engine.start(options).ok());
    transport = kind.make(engine, sink, config);
  }
  ~Node() {
    close();
    engine.stop();
    transport.reset();
  }
  void close() {
    const engine::Call call(engine);
    transport->expect_goodbye();
    transport->close();
  }
  void turn() {
    const engine::Call call(engine);
    engine.turn();
  }
  void post(PeerId peer, SendOp& op) {
    const engine::Call call(engine);
    transport->post(peer, op);
  }

  SteadyClock clock;
  Settings settings;
  engine::Engine engine{clock};
  TestSink sink;
  NetworkConfig config;
  std::unique_ptr<Transport> transport;
};

class Conformance : public testing::TestWithParam<Kind> {
 protected:
  // Ranks that progress only inside turn(), and always go to sleep when they wait.
  void SetUp() override {
    engine::EngineOptions options;
    options.event_thread = false;
    options.spin_budget = 0;
    open(options);
  }

  void open(const engine::EngineOptions& options) {
    const std::uint32_t size = GetParam().loops_back ? 1 : 2;
    second_.reset();
    first_.reset();
    std::vector<wire::Card> cards(size);
    first_ = std::make_unique<Node>(GetParam(), 0, size, options);
    publish(*first_, cards[0]);
    if (size == 2) {
      second_ = std::make_unique<Node>(GetParam(), 1, size, options);
      publish(*second_, cards[1]);
    }
    std::thread other([&] {
      if (second_) attach(*second_, cards);
    });
    attach(*first_, cards);
    other.join();
  }

  static void publish(Node& node, wire::Card& card) {
    card.set("host", node.config.host_identity);
    card.set("name", node.config.host_name);
    const engine::Call call(node.engine);
    const Status status = node.transport->publish(card);
    ASSERT_TRUE(status.ok()) << status.text();
  }
  static void attach(Node& node, const std::vector<wire::Card>& cards) {
    const engine::Call call(node.engine);
    const Status status = node.transport->attach(cards);
    ASSERT_TRUE(status.ok()) << status.text();
  }

  Node& sender() { return *first_; }
  Node& receiver() { return second_ ? *second_ : *first_; }
  PeerId receiver_rank() const { return second_ ? 1 : 0; }

  void post(SendOp& op) { sender().post(receiver_rank(), op); }

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
  void pump_until_received(std::size_t frames) {
    pump([&] { return receiver().sink.received.size() >= frames; });
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

  std::unique_ptr<Node> first_, second_;
};

TEST_P(Conformance, SaysWhomItReachesAndHow) {
  EXPECT_STREQ(sender().transport->name(), GetParam().name);
  EXPECT_TRUE(sender().transport->reaches(receiver_rank()));
  EXPECT_FALSE(sender().transport->reaches(2));
  const Capabilities capabilities = sender().transport->capabilities(receiver_rank());
  EXPECT_GT(capabilities.eager_limit, 0u);
  EXPECT_LE(capabilities.eager_limit, wire::kMaxPayloadBytes);
  EXPECT_GT(capabilities.data_chunk, 0u);
  EXPECT_LE(capabilities.data_chunk, wire::kMaxPayloadBytes);
  EXPECT_TRUE(sender().transport->flushed());
}

TEST_P(Conformance, EveryFieldOfTheHeaderArrives) {
  TestOp op;
  op.header.kind = wire::FrameKind::kRequest;
  op.header.credit = 17;
  op.header.context = 0x1122334455667788;
  op.header.source = -5;
  op.header.tag = 2147483647;
  op.header.sender_token = 0xfedcba9876543210;
  op.header.receiver_token = 42;
  op.carry(make_bytes(100, 3));
  op.header.message_bytes = std::uint64_t{1} << 40;
  post(op);
  pump_until_received(1);
  const wire::FrameHeader& header = receiver().sink.received[0].header;
  EXPECT_EQ(receiver().sink.received[0].from, sender().config.rank);
  EXPECT_EQ(header.kind, op.header.kind);
  EXPECT_EQ(header.credit, op.header.credit);
  EXPECT_EQ(header.context, op.header.context);
  EXPECT_EQ(header.source, op.header.source);
  EXPECT_EQ(header.tag, op.header.tag);
  EXPECT_EQ(header.message_bytes, op.header.message_bytes);
  EXPECT_EQ(header.sender_token, op.header.sender_token);
  EXPECT_EQ(header.receiver_token, op.header.receiver_token);
}

TEST_P(Conformance, EverySizeArrivesWhole) {
  for (const std::uint64_t size :
       {0u,    1u,     7u,     8u,     63u,    64u,    65u,    127u,   128u,     1000u,    4032u,
        4096u, 16319u, 16320u, 16384u, 65471u, 65472u, 65473u, 65536u, 200'000u, 1u << 20, (3u << 20) + 13}) {
    TestOp op;
    op.carry(make_bytes(size, size));
    post(op);
    pump([&] { return receiver().sink.received.size() == 1 && op.completions == 1; });
    EXPECT_FALSE(op.failed) << op.why;
    EXPECT_EQ(receiver().sink.received[0].bytes, op.bytes) << size;
    receiver().sink.received.clear();
    EXPECT_TRUE(sender().transport->flushed());
  }
}

TEST_P(Conformance, OrderIsKept) {
  constexpr int kMessages = 2000;
  std::deque<TestOp> ops(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ops[i].header.tag = i;
    ops[i].carry(make_bytes(i % 11 == 0 ? 30'000 : i % 200, i));
    post(ops[i]);
    if (i % 64 == 0) receiver().turn();
  }
  pump_until_received(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_EQ(receiver().sink.received[i].header.tag, i);
    ASSERT_EQ(receiver().sink.received[i].bytes, ops[i].bytes);
  }
}

TEST_P(Conformance, WalksAreGatheredAndScattered) {
  for (const std::uint64_t size : {0u, 1u, 500u, 70'000u, 1'000'000u}) {
    for (const bool prefers_copy : {false, true}) {
      const Bytes content = make_bytes(size, size + 1);
      ScatteredWalk source(content, prefers_copy), target(size, prefers_copy);
      receiver().sink.choose = [&](PeerId, const wire::FrameHeader& header) {
        Landing landing;
        landing.walk = &target;
        landing.accepted = header.payload_bytes;
        return landing;
      };
      TestOp op;
      op.carry(source);
      post(op);
      pump([&] { return !receiver().sink.received.empty() && op.completions == 1; });
      EXPECT_EQ(source.remaining(), 0u);
      EXPECT_EQ(target.remaining(), 0u);
      EXPECT_EQ(target.content(), content) << size;
      receiver().sink.received.clear();
    }
  }
}

TEST_P(Conformance, AWalkMeetsABuffer) {
  const Bytes content = make_bytes(123'457, 9);
  ScatteredWalk source(content, false), target(content.size(), false);
  TestOp from_walk, to_walk;
  from_walk.carry(source);
  post(from_walk);
  pump_until_received(1);
  EXPECT_EQ(receiver().sink.received[0].bytes, content);
  receiver().sink.choose = [&](PeerId, const wire::FrameHeader& header) {
    Landing landing;
    landing.walk = &target;
    landing.accepted = header.payload_bytes;
    return landing;
  };
  to_walk.carry(content);
  post(to_walk);
  pump_until_received(2);
  EXPECT_EQ(target.content(), content);
}

TEST_P(Conformance, WhatALandingDoesNotAcceptIsDropped) {
  for (const std::uint64_t size : {100u, 100'000u}) {
    for (const std::uint64_t accepted : {std::uint64_t{0}, std::uint64_t{10}, size - 1}) {
      for (const bool into_walk : {false, true}) {
        const Bytes content = make_bytes(size, 5);
        Bytes buffer(accepted + 1, std::byte{0xaa});
        ScatteredWalk walk(accepted, false), source(content, false);
        receiver().sink.choose = [&](PeerId, const wire::FrameHeader&) {
          Landing landing;
          if (into_walk) landing.walk = &walk;
          if (!into_walk) landing.base = buffer.data();
          landing.accepted = accepted;
          return landing;
        };
        TestOp truncated, next;
        if (into_walk) truncated.carry(source);
        if (!into_walk) truncated.carry(content);
        post(truncated);
        pump_until_received(1);
        const Bytes kept(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(accepted));
        if (into_walk) {
          EXPECT_EQ(walk.content(), kept);
        } else {
          EXPECT_EQ(Bytes(buffer.begin(), buffer.end() - 1), kept);
          EXPECT_EQ(buffer.back(), std::byte{0xaa});
        }
        receiver().sink.choose = nullptr;
        next.carry(make_bytes(77, 6));
        post(next);
        pump_until_received(2);
        EXPECT_EQ(receiver().sink.received[1].bytes, next.bytes);
        receiver().sink.received.clear();
      }
    }
  }
}

TEST_P(Conformance, AFrameWithoutLandingIsDropped) {
  receiver().sink.choose = [](PeerId, const wire::FrameHeader&) { return Landing(); };
  ScatteredWalk source(make_bytes(50'000, 2), false);
  TestOp dropped, dropped_walk, next;
  dropped.carry(make_bytes(300'000, 1));
  dropped_walk.carry(source);
  post(dropped);
  post(dropped_walk);
  pump_until_received(2);
  receiver().sink.choose = nullptr;
  next.carry(make_bytes(77, 6));
  post(next);
  pump_until_received(3);
  EXPECT_EQ(receiver().sink.received[2].bytes, next.bytes);
}

TEST_P(Conformance, ABurstIsKeptUntilTheReceiverLooks) {
  constexpr int kMessages = 10'000;
  std::deque<TestOp> ops(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ops[i].header.tag = i;
    ops[i].carry(make_bytes(100, i));
    post(ops[i]);
  }
  pump_until_received(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_EQ(ops[i].completions, 1);
    ASSERT_FALSE(ops[i].failed);
    ASSERT_EQ(receiver().sink.received[i].bytes, ops[i].bytes);
  }
  EXPECT_TRUE(sender().transport->flushed());
}

TEST_P(Conformance, OnSentMayPostAgainWithoutEnd) {
  constexpr int kMessages = 20'000;
  TestOp op;
  int posted = 1;
  op.carry(make_bytes(16, 1));
  op.then = [&](TestOp& done) {
    if (posted == kMessages) return;
    done.header.tag = posted++;
    sender().transport->post(receiver_rank(), done);
  };
  post(op);
  pump_until_received(kMessages);
  for (int i = 0; i < kMessages; ++i) ASSERT_EQ(receiver().sink.received[i].header.tag, i);
  EXPECT_EQ(op.completions, kMessages);
}

TEST_P(Conformance, AFrameArrivesInParts) {
  if (GetParam().loops_back) GTEST_SKIP() << "self delivers whole frames";
  get_acquainted();
  TestOp op;
  op.carry(make_bytes(48 << 20, 4));  // more than any kernel buffer or ring
  post(op);
  for (int i = 0; i < 1000 || receiver().sink.headers == 0; ++i) receiver().turn();
  EXPECT_EQ(receiver().sink.headers, 1);
  EXPECT_TRUE(receiver().sink.received.empty());
  EXPECT_FALSE(sender().transport->flushed());
  EXPECT_EQ(op.completions, 0);
  pump([&] { return !receiver().sink.received.empty() && op.completions == 1; });
  EXPECT_TRUE(receiver().sink.received[0].bytes == op.bytes);
  EXPECT_EQ(receiver().sink.headers, 1);
}

// Both ranks send much more than fits in between, from threads of their own, and sleep whenever they can.
TEST_P(Conformance, AFloodInBothDirectionsEnds) {
  constexpr int kMessages = 300;
  constexpr std::uint64_t kBytes = 40'000;
  struct Finish final : engine::Operation {};
  const auto run = [&](Node& node, PeerId peer) {
    std::deque<TestOp> ops(kMessages);
    Finish all;
    int missing = 2 * kMessages;  // sent and received
    engine::Call call(node.engine);
    const auto one_less = [&] {
      if (--missing == 0) node.engine.finish(all);
    };
    node.engine.begin(all);
    node.sink.after_frame = one_less;
    for (int i = 0; i < kMessages; ++i) {
      ops[i].header.tag = i;
      ops[i].carry(make_bytes(kBytes + i, i));
      ops[i].then = [&](TestOp&) { one_less(); };
      node.transport->post(peer, ops[i]);
    }
    call.wait(all);
    node.sink.after_frame = nullptr;
    for (int i = 0; i < kMessages; ++i) EXPECT_TRUE(node.sink.received[i].bytes == ops[i].bytes);
  };
  if (GetParam().loops_back) {
    run(sender(), 0);
    return;
  }
  std::thread other([&] { run(*second_, 0); });
  run(*first_, 1);
  other.join();
}

// A ping-pong in which each side sleeps before every answer: no wake-up may be missed.
TEST_P(Conformance, NoWakeUpIsLost) {
  if (GetParam().loops_back) GTEST_SKIP() << "self does not sleep";
  constexpr int kRounds = 2000;
  struct Arrival final : engine::Operation {};
  const auto run = [&](Node& node, PeerId peer, bool begins) {
    TestOp op;
    op.carry(make_bytes(8, 1));
    engine::Call call(node.engine);
    Arrival arrival;
    node.sink.after_frame = [&] { node.engine.finish(arrival); };
    for (int round = 0; round < kRounds; ++round) {
      node.engine.begin(arrival);
      if (begins) node.transport->post(peer, op);
      call.wait(arrival);
      if (!begins) node.transport->post(peer, op);
    }
    node.sink.after_frame = nullptr;
  };
  // The last answer may still have to leave when its sender is done: his rank lives on until both threads have ended.
  std::thread other([&] { run(*second_, 0, false); });
  run(*first_, 1, true);
  other.join();
}

// Messages longer than any buffer move while neither application is inside the library.
TEST_P(Conformance, EventThreadsMoveMessagesAlone) {
  engine::EngineOptions options;
  options.event_thread = true;
  options.spin_budget = 0;
  open(options);
  std::atomic<int> arrived{0};
  constexpr int kMessages = 20;
  {
    const engine::Call call(receiver().engine);
    receiver().sink.after_frame = [&] {
      arrived.fetch_add(1);
      arrived.notify_one();
    };
  }
  std::deque<TestOp> ops(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ops[i].carry(make_bytes(500'000 + i, i));
    post(ops[i]);
  }
  for (int seen; (seen = arrived.load()) < kMessages;) arrived.wait(seen);
  {
    const engine::Call call(sender().engine);  // its event thread has reported the last one when it lets go of the lock
    for (const TestOp& op : ops) EXPECT_EQ(op.completions, 1);
  }
  const engine::Call call(receiver().engine);
  for (int i = 0; i < kMessages; ++i) EXPECT_TRUE(receiver().sink.received[i].bytes == ops[i].bytes);
  receiver().sink.after_frame = nullptr;
}

TEST_P(Conformance, AnExpectedFarewellIsSilent) {
  get_acquainted();
  {
    const engine::Call call(receiver().engine);
    receiver().transport->expect_goodbye();
  }
  sender().close();
  for (int i = 0; i < 1000 && second_; ++i) second_->turn();
  EXPECT_EQ(receiver().sink.lost, 0);
  TestOp late;
  late.carry(make_bytes(8, 1));
  receiver().post(sender().config.rank, late);
  pump([&] { return late.completions == 1; });
  EXPECT_TRUE(late.failed);
}

TEST_P(Conformance, AnUnexpectedFarewellIsReportedOnce) {
  if (GetParam().loops_back) GTEST_SKIP() << "nobody leaves himself";
  get_acquainted();
  sender().close();
  pump([&] { return receiver().sink.lost != 0; });
  for (int i = 0; i < 100; ++i) receiver().turn();
  EXPECT_EQ(receiver().sink.lost, 1);
  EXPECT_FALSE(receiver().sink.lost_within_frame);
  EXPECT_NE(receiver().sink.lost_text.find("rank 0"), std::string::npos) << receiver().sink.lost_text;
  TestOp late;
  late.carry(make_bytes(8, 1));
  receiver().post(0, late);
  EXPECT_EQ(late.completions, 1);
  EXPECT_TRUE(late.failed);
}

TEST_P(Conformance, APeerThatBreaksTheProtocolIsLost) {
  receiver().sink.choose = [](PeerId, const wire::FrameHeader& header) {
    Landing landing;
    landing.violation = header.tag == 13;
    landing.reason = "tag 13 brings bad luck";
    return landing;
  };
  std::deque<TestOp> ops(3);
  for (TestOp& op : ops) op.carry(make_bytes(1000, 1));
  ops[1].header.tag = 13;
  for (TestOp& op : ops) post(op);
  pump([&] { return receiver().sink.lost != 0; });
  EXPECT_EQ(receiver().sink.received.size(), 1u);
  EXPECT_EQ(receiver().sink.headers, 2);
  EXPECT_NE(receiver().sink.lost_text.find("tag 13 brings bad luck"), std::string::npos) << receiver().sink.lost_text;
  TestOp late;
  late.carry(make_bytes(8, 1));
  receiver().post(sender().config.rank, late);
  pump([&] { return late.completions == 1; });
  EXPECT_TRUE(late.failed);
  if (GetParam().notices_closing) {
    pump([&] { return sender().sink.lost != 0; });
    TestOp more;
    more.carry(make_bytes(8, 1));
    post(more);
    EXPECT_TRUE(more.failed);
  }
}

TEST_P(Conformance, APeerLostInTheMiddleOfAFrame) {
  if (!GetParam().notices_closing) GTEST_SKIP() << "only the launcher sees such a death";
  get_acquainted();
  TestOp half, queued;
  half.carry(make_bytes(48 << 20, 4));
  post(half);
  for (int i = 0; i < 1000 || receiver().sink.headers == 0; ++i) receiver().turn();
  queued.carry(make_bytes(48 << 20, 4));
  receiver().post(0, queued);
  sender().close();
  pump([&] { return receiver().sink.lost != 0; });
  EXPECT_EQ(receiver().sink.lost, 1);
  EXPECT_TRUE(receiver().sink.lost_within_frame);
  EXPECT_EQ(queued.completions, 1);
  EXPECT_TRUE(queued.failed);
}

TEST_P(Conformance, APullCopiesOnce) {
  if (!receiver().transport->capabilities(sender().config.rank).pull) GTEST_SKIP() << "cannot pull here";
  for (const bool prefers_copy : {false, true}) {
    const Bytes content = make_bytes(777'777, 8);
    ScatteredWalk target(content.size(), prefers_copy);
    const engine::Call call(receiver().engine);
    EXPECT_TRUE(receiver().transport->pull(sender().config.rank, reinterpret_cast<std::uintptr_t>(content.data()),
                                           content.size(), target));
    EXPECT_TRUE(target.content() == content);
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, Conformance, testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<Kind>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lapwing::net
