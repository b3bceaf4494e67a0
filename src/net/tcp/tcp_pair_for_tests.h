// Two ranks in this process with TCP between them, or one of them played by the test over a raw socket.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/tcp/tcp_transport.h"
#include "runtime/one_job_for_tests.h"

namespace lapwing::net::tcp::tests {

using LinkState = Link::State;

inline constexpr std::int64_t kSecond = 1'000'000'000;

// Byte `at` of the payload of the frame `tag`.
inline std::byte pattern(int tag, std::size_t at) {
  return static_cast<std::byte>(static_cast<std::size_t>(tag) * 31 + at * 7 + at / 251);
}
// It repeats itself after so many bytes, which are filled in and looked at one by one; what is behind them is copied and compared as a whole,
// because a sanitizer makes every single access dear.
inline constexpr std::size_t kPatternPeriod = 251 * 256;

inline void fill_with_pattern(std::span<std::byte> bytes, int tag) {
  const std::size_t first = std::min(bytes.size(), kPatternPeriod);
  for (std::size_t i = 0; i < first; ++i) bytes[i] = pattern(tag, i);
  for (std::size_t i = first; i < bytes.size(); i += first)
    std::memcpy(&bytes[i], bytes.data(), std::min(first, bytes.size() - i));
}
inline bool has_pattern(std::span<const std::byte> bytes, int tag) {
  const std::size_t first = std::min(bytes.size(), kPatternPeriod);
  for (std::size_t i = 0; i < first; ++i)
    if (bytes[i] != pattern(tag, i)) return false;
  return first == bytes.size() || std::memcmp(&bytes[first], bytes.data(), bytes.size() - first) == 0;
}

struct TestOp : SendOp {
  explicit TestOp(int tag = 0, std::size_t bytes = 0) : payload(bytes) {
    fill_with_pattern(payload, tag);
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
  int lost_class = 0;
  bool given_up = false;  // before anything was lost
  bool intact = true;  // every payload as its tag says
  int headers = 0;
  std::string refuse;
  bool takes_any_order = false;

  bool may_overtake(const wire::FrameHeader&) const noexcept override { return takes_any_order; }
  Landing on_header(PeerId, const wire::FrameHeader& header) noexcept override {
    ++headers;
    std::vector<std::byte>& buffer = buffers_[static_cast<int>(header.own(0))];
    buffer.assign(header.payload_bytes(), std::byte{0});
    Landing landing;
    landing.base = buffer.data();
    landing.accepted = header.payload_bytes();
    landing.violation = !refuse.empty();
    landing.reason = refuse.c_str();
    return landing;
  }
  void on_frame(PeerId, const wire::FrameHeader& header) noexcept override {
    tags.push_back(static_cast<int>(header.own(0)));
    intact &= has_pattern(buffers_[tags.back()], tags.back());
  }
  void on_given_up(PeerId) noexcept override { given_up = lost.empty(); }
  bool is_given_up() const noexcept override { return given_up; }
  void on_peer_lost(PeerId, const Status& why, const Landing* landing) noexcept override {
    lost.emplace_back(why.text());
    lost_class = why.error_class();
    lost_within_frame = landing != nullptr;
  }

 private:
  std::map<int, std::vector<std::byte>> buffers_;  // by tag: several frames may be half here
};

// One rank of a job of two.
struct Node {
  using Configure = std::function<void(TcpOptions&)>;
  // `own_sink`: in place of `sink`.
  Node(Clock& clock, std::uint32_t rank, const Configure& configure = {}, FrameSink* own_sink = nullptr) : engine(clock) {
    engine::EngineOptions engine_options;
    engine_options.event_thread = false;
    EXPECT_TRUE(engine.start(engine_options).ok());
    TcpOptions options;
    options.self = {rank};
    options.processes = &runtime::one_job(2);
    options.size = 2;
    options.job_secret = std::string(32, 's');
    options.host_identity = "machine";
    options.host_name = "node" + std::to_string(rank);
    options.single_host = true;
    if (configure) configure(options);
    const engine::Visit visit(engine);
    transport = std::make_unique<TcpTransport>(engine, own_sink != nullptr ? *own_sink : sink, options);
    card.set("host", "machine");
    card.set("name", options.host_name);
    const Status published = transport->publish(card);
    EXPECT_TRUE(published.ok()) << published.text();
  }
  ~Node() {
    {
      const engine::Visit visit(engine);
      transport->expect_goodbye();
      transport->close();
    }
    engine.stop();
    const engine::Visit visit(engine);
    transport.reset();
  }
  void attach(const std::vector<wire::Card>& cards) {
    const engine::Visit visit(engine);
    const Status attached = transport->attach(cards);
    EXPECT_TRUE(attached.ok()) << attached.text();
  }
  void turn() {
    const engine::Visit visit(engine);
    engine.turn();
  }
  void post(std::uint32_t peer, SendOp& op) {
    const engine::Visit visit(engine);
    if (transport->post({peer}, op)) op.on_taken(op, Status());
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

// A listening socket of the test's own on loopback.
inline Socket open_listener() {
  Address any;
  any.family = AF_INET;
  any.bytes[0] = 127;
  any.bytes[3] = 1;
  Socket listener;
  EXPECT_EQ(Socket::listen(any, {}, listener), 0);
  return listener;
}

// What becomes of the two sockets of each connection there is, finished or not.
enum class Cut {
  kShutdown,  // one end is shut down: what has left still arrives
  kReset,     // one end drops all it holds, and says so
  kBoth,      // both ends drop all they hold
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
  // The sockets of connections between the two ranks; the one that the lower rank's listening socket has made, or that calls it, is even.
  static std::vector<int> connections() {
    std::vector<int> found;
    for (int fd = 3; fd < 1024; ++fd) {
      sockaddr_storage peer;
      socklen_t length = sizeof peer;
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 && peer.ss_family == AF_INET) found.push_back(fd);
    }
    return found;
  }
  static void reset(int fd) {
    sockaddr_storage nowhere{};
    nowhere.ss_family = AF_UNSPEC;
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&nowhere), sizeof(sockaddr_in)), 0) << std::strerror(errno);
  }
  // `end`: which of two.
  static void cut(Cut how, std::size_t end) {
    const std::vector<int> fds = connections();
    for (std::size_t i = 0; i < fds.size(); ++i) {
      if (how != Cut::kBoth && i % 2 != end) continue;
      if (how == Cut::kShutdown)
        ::shutdown(fds[i], SHUT_RDWR);
      else
        reset(fds[i]);
    }
  }
  // Plays rank 0 through a whole handshake with rank 1.
  Socket join_as_rank_0(const wire::Terms& terms = {}) {
    Socket socket = call_rank_1();
    EXPECT_EQ(shake_hands_as_rank_0(socket, terms), wire::Handshake::State::kAccepted);
    return socket;
  }
  // What rank 1 says to that.
  wire::Handshake::State verdict_for_rank_0(const wire::Terms& terms) { return shake_hands_as_rank_0(call_rank_1(), terms); }
  wire::Handshake::State shake_hands_as_rank_0(const Socket& socket, const wire::Terms& terms) {
    wire::Handshake handshake = wire::Handshake::connector(key_, {runtime::kJobForTests, 0}, {runtime::kJobForTests, 1}, wire::random_nonce(), terms);
    send_bytes(socket, handshake.output(), handshake.output_bytes());
    pump([&] { return handshake.state() != wire::Handshake::State::kChallenge && handshake.state() != wire::Handshake::State::kVerdict; },
         [&] {
           std::byte bytes[wire::Handshake::kMaxMessageBytes];
           const ssize_t count = ::recv(socket.fd(), bytes, handshake.wanted(), MSG_DONTWAIT);
           if (count <= 0) return;
           handshake.receive(bytes, static_cast<std::size_t>(count));
           if (handshake.output_bytes() > 0) send_bytes(socket, handshake.output(), handshake.output_bytes());
         });
    return handshake.state();
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

}  // namespace lapwing::net::tcp::tests
