// A rank's side is played over a socket pair. What needs the rights to load programs is skipped where this process has none.
#include "accelerator/session.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "accelerator/socket_check.h"
#include "net/ether/steering.h"
#include "net/ether/xdp_socket.h"
#include "net/kernel/area.h"
#include "net/kernel/intake.h"
#include "net/kernel/service_loader.h"
#include "wire/message_header.h"

namespace lapwing::launch::tests {
namespace {

using net::bpf::Descriptor;
using net::kernel::LocalMessage;
using net::kernel::Received;
using net::kernel::ServiceLoader;
using wire::AcceleratorAnswer;
using wire::AcceleratorRequest;
using Kind = AcceleratorRequest::Kind;

struct Pair {
  Descriptor here, there;
};

Pair local_pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// `there` has connected to `here`.
Pair tcp_pair() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Pair pair;
  pair.there = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(listener.fd(), generic, length), 0);
  EXPECT_EQ(::listen(listener.fd(), 1), 0);
  EXPECT_EQ(::getsockname(listener.fd(), generic, &length), 0);
  EXPECT_EQ(::connect(pair.there.fd(), generic, length), 0);
  pair.here = Descriptor(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  return pair;
}

// A request with more descriptors than any has.
void send_with_too_many(int socket, int descriptor) {
  std::vector<int> descriptors(LocalMessage::kMostDescriptors + 100, descriptor);
  std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
  std::string bytes = "x";
  iovec body{bytes.data(), bytes.size()};
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* entry = CMSG_FIRSTHDR(&header);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  std::memcpy(CMSG_DATA(entry), descriptors.data(), descriptors.size() * sizeof(int));
  EXPECT_EQ(::sendmsg(socket, &header, MSG_NOSIGNAL), 1);
}

// A connection that the program sees, with bytes that it has passed on. Nothing keeps it when its loader goes: then, a moment later, the bytes are
// lost.
struct Witness {
  std::unique_ptr<net::kernel::OwnLoader> loader = std::make_unique<net::kernel::OwnLoader>();
  Pair tcp = tcp_pair();

  bool begin() {
    if (!loader->prepare(1, 1).ok() || !loader->load().ok() || !loader->join(0, tcp.here.fd()).status.ok()) return false;
    EXPECT_EQ(::send(tcp.there.fd(), "x", 1, MSG_NOSIGNAL), 1);
    char byte = 0;
    return ::recv(tcp.here.fd(), &byte, 1, MSG_PEEK) == 1;
  }
  // What ended before has been cleared away by then, as far as can be known; not at all on a kernel that loses nothing.
  void wait_until_lost() {
    loader.reset();
    char byte = 0;
    for (int i = 0; i < 500 && ::recv(tcp.here.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1; ++i) ::poll(nullptr, 0, 10);
  }
};

AcceleratorRequest request(Kind kind, std::uint32_t index = 0) {
  AcceleratorRequest request;
  request.kind = kind;
  request.index = index;
  request.connections = 2;
  request.fingerprint = net::kernel::OwnLoader::fingerprint();
  request.zone_bytes = 1;
  return request;
}

class SessionTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(accounts_.open().ok()); }
  void TearDown() override { end(); }

  void begin() {
    Pair pair = local_pair();
    rank_ = std::move(pair.there);
    net::kernel::set_limit(rank_.fd(), 20'000);
    Ledger::Id id = 0;
    ASSERT_TRUE(accounts_.admit(::geteuid(), id).ok());
    auto session = std::make_unique<Session>(std::move(pair.here), ::geteuid(), accounts_, id, programs_);
    thread_ = std::thread([session = std::move(session)]() mutable {
      session->run();
      session.reset();
    });
  }
  void end() {
    const Descriptor closed = std::move(rank_);
    ::shutdown(closed.fd(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
  }
  AcceleratorAnswer hear() {
    LocalMessage message;
    AcceleratorAnswer answer;
    const Received received = net::kernel::receive_message(rank_.fd(), message);
    if (received != Received::kMessage) return {false, 0, received == Received::kEnd ? "end" : "nothing"};
    EXPECT_TRUE(AcceleratorAnswer::decode(message.bytes, answer).ok());
    EXPECT_EQ(answer.descriptors, message.descriptors.size());
    return answer;
  }
  AcceleratorAnswer say(const std::string& bytes, const std::vector<int>& descriptors = {}) {
    EXPECT_TRUE(net::kernel::send_message(rank_.fd(), bytes, descriptors).ok());
    return hear();
  }
  AcceleratorAnswer ask(Kind kind, std::uint32_t index = 0, const std::vector<int>& descriptors = {}) {
    return say(request(kind, index).encode(), descriptors);
  }
  // Skips where programs cannot be loaded.
  bool loads() {
    begin();
    const AcceleratorAnswer hello = ask(Kind::kHello);
    if (!hello.granted) return false;
    return ask(Kind::kLoad).granted;
  }

  Accounts accounts_{AcceleratorLimits()};
  EtherPrograms programs_{{"lo"}, 0x88b5, 27182, true};
  Descriptor rank_;
  std::thread thread_;
};

#define LAPWING_NEEDS_RIGHTS() \
  if (!loads()) GTEST_SKIP() << "this process may not load a program into the kernel"

TEST_F(SessionTest, WhatIsNoRequestEndsIt) {
  for (const std::string& message :
       {std::string("hello"), std::string(300, 'x'), request(Kind::kHello).encode() + "x", request(Kind::kHello).encode().substr(1)}) {
    begin();
    EXPECT_FALSE(say(message).granted);
    EXPECT_EQ(hear().text, "end");
    end();
  }
}

TEST_F(SessionTest, AMessageLongerThanAnyEndsIt) {
  begin();
  EXPECT_EQ(say(std::string(LocalMessage::kMostBytes + 1, 'x')).text, "a message is longer than any, or its descriptors are too many");
  EXPECT_EQ(hear().text, "end");
}

TEST_F(SessionTest, RequestsComeInOrder) {
  for (const Kind kind : {Kind::kLoad, Kind::kLeave, Kind::kForget}) {
    begin();
    EXPECT_EQ(ask(kind).text, "a request came out of order");
    end();
  }
}

TEST_F(SessionTest, DescriptorsThatNoRequestTakesEndIt) {
  begin();
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ask(Kind::kHello, 0, {null.fd()}).text, "a request came with 1 descriptors instead of 0");
  EXPECT_EQ(hear().text, "end");
  end();
  begin();
  send_with_too_many(rank_.fd(), null.fd());
  EXPECT_EQ(hear().text, "a message is longer than any, or its descriptors are too many");
}

TEST_F(SessionTest, AnotherBuildOrPurposeIsTold) {
  begin();
  AcceleratorRequest other = request(Kind::kHello);
  ++other.fingerprint;
  EXPECT_NE(say(other.encode()).text.find("another build"), std::string::npos);
  end();
  begin();
  other = request(Kind::kHello);
  other.purpose = 9;
  EXPECT_NE(say(other.encode()).text.find("no purpose 9"), std::string::npos);
}

TEST_F(SessionTest, WhatIsMoreThanMayBeIsTold) {
  for (const std::uint32_t connections : {0u, ~0u}) {
    begin();
    AcceleratorRequest hello = request(Kind::kHello);
    hello.connections = connections;
    EXPECT_FALSE(say(hello.encode()).granted);
    EXPECT_EQ(hear().text, "end");
    end();
  }
  begin();
  AcceleratorRequest hello = request(Kind::kHello);
  hello.zone_bytes = ~std::uint64_t{0};
  EXPECT_NE(say(hello.encode()).text.find("--user-memory"), std::string::npos);
}

TEST_F(SessionTest, ASocketJoinsAndLeaves) {
  LAPWING_NEEDS_RIGHTS();
  const Pair tcp = tcp_pair();
  EXPECT_TRUE(ask(Kind::kJoin, 1, {tcp.here.fd()}).granted);
  EXPECT_FALSE(ask(Kind::kJoin, 1, {tcp.here.fd()}).granted) << "twice";
  EXPECT_TRUE(ask(Kind::kJoin, 1, {tcp.there.fd()}).granted) << "another in its place";
  EXPECT_TRUE(ask(Kind::kLeave, 1).granted);
  EXPECT_TRUE(ask(Kind::kLeave, 1).granted) << "again";
}

TEST_F(SessionTest, ASocketThatMayNotJoinIsRefusedAndNothingElse) {
  LAPWING_NEEDS_RIGHTS();
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ask(Kind::kJoin, 0, {null.fd()}).text, "only sockets of TCP can join");
  const Pair tcp = tcp_pair();
  EXPECT_TRUE(ask(Kind::kJoin, 0, {tcp.here.fd()}).granted);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::fchown(tcp.there.fd(), 1234, 1234), 0);
  EXPECT_EQ(ask(Kind::kJoin, 1, {tcp.there.fd()}).text, "a socket can join only if the user of the rank has made it");
}

TEST_F(SessionTest, AConnectionThatIsNotThereEndsIt) {
  for (const Kind kind : {Kind::kLeave, Kind::kForget, Kind::kWay}) {
    LAPWING_NEEDS_RIGHTS();
    const Pair tcp = tcp_pair();
    const std::vector<int> socket(request(kind).descriptors(), tcp.here.fd());
    EXPECT_EQ(ask(kind, 2, socket).text, "there is no connection 2 of 2");
    EXPECT_EQ(hear().text, "end");
    end();
  }
}

TEST_F(SessionTest, AnswersAreOfAConnectionThatHasJoined) {
  LAPWING_NEEDS_RIGHTS();
  const Pair tcp = tcp_pair(), way = tcp_pair();
  const std::string none = "no connection has joined that could be answered";
  EXPECT_EQ(ask(Kind::kWay, 1, {way.here.fd()}).text, none);
  EXPECT_TRUE(ask(Kind::kJoin, 1, {tcp.here.fd()}).granted);
  EXPECT_TRUE(ask(Kind::kWay, 1, {way.here.fd()}).granted);
  EXPECT_EQ(ask(Kind::kWay, 0, {way.here.fd()}).text, none);
  EXPECT_TRUE(ask(Kind::kLeave, 1).granted);
  EXPECT_EQ(ask(Kind::kWay, 1, {way.here.fd()}).text, none);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(ask(Kind::kForget, 1).granted);
}

TEST_F(SessionTest, ASocketThatMayNotAnswerIsRefusedAndNothingElse) {
  LAPWING_NEEDS_RIGHTS();
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Pair tcp = tcp_pair(), way = tcp_pair();
  EXPECT_TRUE(ask(Kind::kJoin, 0, {tcp.here.fd()}).granted);
  EXPECT_EQ(ask(Kind::kWay, 0, {null.fd()}).text, "only sockets of TCP can join");
  if (::geteuid() == 0) {
    ASSERT_EQ(::fchown(way.there.fd(), 1234, 1234), 0);
    EXPECT_EQ(ask(Kind::kWay, 0, {way.there.fd()}).text, "a socket can join only if the user of the rank has made it");
  }
  EXPECT_TRUE(ask(Kind::kWay, 0, {way.here.fd()}).granted);
}

// ---- answers by the program -------------------------------------------------------------------------------------------

// A rank with one connection that has joined, and a way for answers.
class AnswerSessionTest : public SessionTest {
 protected:
  using Intake = net::kernel::Intake;
  static constexpr std::uint64_t kContext = 4, kToken = 77, kBytes = 100'000;
  static constexpr std::int32_t kTag = 5;

  void TearDown() override {
    ::shutdown(service_.fd(), SHUT_RDWR);
    loader_.reset();
    if (mapped_ != MAP_FAILED) ::munmap(mapped_, sizeof(net::kernel::ConnectionArea));
    if (thread_.joinable()) thread_.join();
  }
  // False: this process may not.
  bool join() {
    begin();
    service_ = Descriptor(::dup(rank_.fd()));
    loader_->adopt(std::move(rank_));
    if (!loader_->prepare(1, 1).ok()) return false;
    EXPECT_TRUE(loader_->load().ok());
    mapped_ = ::mmap(nullptr, sizeof(net::kernel::ConnectionArea), PROT_READ | PROT_WRITE, MAP_SHARED, loader_->areas().fd(), 0);
    EXPECT_NE(mapped_, MAP_FAILED);
    intake_.emplace(*static_cast<net::kernel::ConnectionArea*>(mapped_));
    EXPECT_TRUE(loader_->join(0, tcp_.here.fd()).status.ok());
    return true;
  }
  void get_way() {
    net::kernel::Permission permission = loader_->answer_by(0, way_.here.fd());
    while (permission.state == net::kernel::Permission::State::kAsked) permission = loader_->permission(0);
    ASSERT_EQ(permission.state, net::kernel::Permission::State::kGranted);
    net::kernel::set_limit(way_.there.fd(), 20'000);
    intake_->answer(true);
    intake_->close_to_attended();
  }
  void lose_service() {
    ::shutdown(service_.fd(), SHUT_RDWR);
    thread_.join();
  }
  // A request whose receive is lent. Until the program has taken it.
  void request_one() {
    intake_->queue().lend({kContext, static_cast<std::uint64_t>(kTag)}, kBytes, {nullptr, nullptr, 1, kToken});
    wire::MessageHeader header;
    header.kind = wire::MessageKind::kRts;
    header.flags = wire::kFlagAtOnce;
    header.context = kContext;
    header.tag = kTag;
    header.message_bytes = kBytes;
    header.sender_token = 66;
    const wire::FrameHeader frame = wire::pack(header);
    ASSERT_EQ(::send(tcp_.there.fd(), frame.words, sizeof frame.words, MSG_NOSIGNAL), ssize_t{sizeof frame.words});
    while (!intake_->has_arrivals()) ::sched_yield();
    const Intake::Frame taken = intake_->take();
    intake_->queue().land(taken.position, taken.header);
    intake_->release(taken);
    intake_->queue().collect([](const net::LentRoom&, const wire::FrameHeader&) {});
  }
  void expect_answer() {
    wire::FrameHeader frame;
    ASSERT_EQ(::recv(way_.there.fd(), frame.words, sizeof frame.words, MSG_WAITALL), ssize_t{sizeof frame.words});
    const wire::MessageHeader header = wire::unpack(frame);
    EXPECT_EQ(header.kind, wire::MessageKind::kCts);
    EXPECT_EQ(header.receiver_token, kToken);
    EXPECT_EQ(header.sender_token, 66u);
  }

  std::unique_ptr<ServiceLoader> loader_ = std::make_unique<ServiceLoader>("the test");
  Descriptor service_;
  void* mapped_ = MAP_FAILED;
  std::optional<Intake> intake_;
  Pair tcp_ = tcp_pair(), way_ = tcp_pair();
};

#define LAPWING_NEEDS_ANSWERS() \
  if (!join()) GTEST_SKIP() << "this process may not load a program into the kernel"; \
  get_way()

TEST_F(AnswerSessionTest, TheProgramAnswersByTheSocket) {
  LAPWING_NEEDS_ANSWERS();
  for (int i = 0; i < 3; ++i) {
    request_one();
    expect_answer();
  }
}

// The program that the socket which has joined keeps holds the map of those by which it answers.
TEST_F(AnswerSessionTest, AndDoesSoThoughTheServiceHasGone) {
  LAPWING_NEEDS_ANSWERS();
  request_one();
  expect_answer();
  Witness witness;
  ASSERT_TRUE(witness.begin());
  lose_service();
  witness.wait_until_lost();
  request_one();
  expect_answer();
}

TEST_F(AnswerSessionTest, AnotherConnectionThatJoinsIsAnsweredTheSameWay) {
  LAPWING_NEEDS_ANSWERS();
  loader_->leave(0);
  tcp_ = tcp_pair();
  ASSERT_TRUE(loader_->join(0, tcp_.here.fd()).status.ok());
  static_cast<net::kernel::ConnectionArea*>(mapped_)->started = 0;
  request_one();
  expect_answer();
}

// Its socket is closed for what is sent: the request is noted, its answer goes nowhere, and nothing else happens.
TEST_F(AnswerSessionTest, AWayThatTakesNothingHarmsNothing) {
  LAPWING_NEEDS_ANSWERS();
  ::shutdown(way_.here.fd(), SHUT_WR);
  for (int i = 0; i < 3; ++i) request_one();
  char byte;
  EXPECT_EQ(::recv(way_.there.fd(), &byte, 1, 0), 0);
}

// The rank has the socket too, and may do so at any time.
TEST_F(AnswerSessionTest, AWayThatGetsAnUpperProtocolLaterHarmsNothing) {
  LAPWING_NEEDS_ANSWERS();
  if (::setsockopt(way_.here.fd(), IPPROTO_TCP, TCP_ULP, "tls", 3) != 0) GTEST_SKIP() << "this kernel has no TLS";
  request_one();
  tcp_ = {};
  way_ = {};
}

// ---- raw Ethernet -----------------------------------------------------------------------------------------------------

AcceleratorRequest ether(Kind kind) {
  AcceleratorRequest ether = request(kind);
  ether.purpose = AcceleratorRequest::kEther;
  ether.connections = 1;
  ether.fingerprint = net::ether::Steering::fingerprint();
  ether.zone_bytes = net::ether::kMemoryBytes;
  ether.interface = 1;
  ether.ether_type = 0x88b5;
  ether.network = own_network_namespace();
  return ether;
}

Descriptor memory(std::size_t bytes, int seals) {
  Descriptor file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(file.fd(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(::fcntl(file.fd(), F_ADD_SEALS, seals), 0);
  return file;
}

class EtherSessionTest : public SessionTest {
 protected:
  AcceleratorAnswer greet() {
    begin();
    return say(ether(Kind::kHello).encode());
  }
  // False: this process may have no such sockets.
  bool has_socket() {
    if (!greet().granted) return false;
    return say(ether(Kind::kMemory).encode(), {memory(net::ether::kMemoryBytes, F_SEAL_SHRINK).fd()}).granted;
  }
};

TEST_F(EtherSessionTest, OfAnotherBuildIsToldSo) {
  if (!net::ether::Steering::built()) GTEST_SKIP() << "it was built without";
  AcceleratorRequest hello = ether(Kind::kHello);
  for (int wrong = 0; wrong < 3; ++wrong) {
    hello = ether(Kind::kHello);
    (wrong == 0 ? hello.fingerprint : hello.zone_bytes) += 1;
    if (wrong == 2) hello = ether(Kind::kHello), hello.connections = 2;
    begin();
    EXPECT_NE(say(hello.encode()).text.find("another build"), std::string::npos);
    EXPECT_EQ(hear().text, "end");
    end();
  }
}

TEST_F(EtherSessionTest, RequestsOfTheTwoPurposesAreNotMixed) {
  if (!net::ether::Steering::built()) GTEST_SKIP() << "it was built without";
  for (const Kind kind : {Kind::kLoad, Kind::kLeave, Kind::kForget, Kind::kBind, Kind::kHello}) {
    ASSERT_TRUE(greet().granted);
    EXPECT_EQ(say(ether(kind).encode()).text, "a request came out of order");
    EXPECT_EQ(hear().text, "end");
    end();
  }
}

TEST_F(EtherSessionTest, MemoryThatCouldGetSmallerOrIsNoneIsRefused) {
  if (!net::ether::Steering::built()) GTEST_SKIP() << "it was built without";
  const Descriptor files[] = {memory(net::ether::kMemoryBytes, F_SEAL_GROW), memory(net::ether::kMemoryBytes - 4096, F_SEAL_SHRINK),
                              Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)), local_pair().here};
  for (const Descriptor& file : files) {
    ASSERT_TRUE(greet().granted);
    EXPECT_EQ(say(ether(Kind::kMemory).encode(), {file.fd()}).text.rfind("the memory of a socket is a memfd", 0), 0u);
    EXPECT_EQ(hear().text, "end");
    end();
  }
}

TEST_F(EtherSessionTest, ABindingThatMayNotBeIsRefusedAndNothingElse) {
  if (!has_socket()) GTEST_SKIP() << "this process may have no AF_XDP socket";
  AcceleratorRequest bind = ether(Kind::kBind);
  bind.network += 1;
  EXPECT_NE(say(bind.encode()).text.find("another network namespace"), std::string::npos);
  bind = ether(Kind::kBind);
  bind.interface = 4711;
  EXPECT_NE(say(bind.encode()).text.find("has not named this interface"), std::string::npos);
  bind = ether(Kind::kBind);
  bind.ether_type = 0x0800;
  EXPECT_EQ(say(bind.encode()).text, "it serves EtherType 0x88b5, and not 0x0800 (LAPWING_ETHER_TYPE)");
  bind = ether(Kind::kBind);
  bind.port = 53;
  EXPECT_EQ(say(bind.encode()).text, "it serves UDP port 27182, and not 53 (LAPWING_ETHER_PORT)");
  bind = ether(Kind::kBind);
  bind.index = 256;
  EXPECT_EQ(say(bind.encode()).text, "there is no receive queue 256");
}

TEST_F(EtherSessionTest, MemoryCountsAsLongAsAProcessHoldsTheSocket) {
  if (!greet().granted) GTEST_SKIP() << "it was built without";
  ASSERT_TRUE(
      net::kernel::send_message(rank_.fd(), ether(Kind::kMemory).encode(), std::vector<int>{memory(net::ether::kMemoryBytes, F_SEAL_SHRINK).fd()})
          .ok());
  LocalMessage answer;
  ASSERT_EQ(net::kernel::receive_message(rank_.fd(), answer), Received::kMessage);
  if (answer.descriptors.empty()) GTEST_SKIP() << "this process may have no AF_XDP socket";
  end();
  EXPECT_EQ(accounts_.ranks(), 0u);
  EXPECT_GE(accounts_.memory(), net::ether::kMemoryBytes);
  answer.descriptors.clear();
  EXPECT_EQ(accounts_.memory(), 0u);
}

// What a rank keeps of its memory counts as long as it does.
TEST_F(SessionTest, MemoryCountsAsLongAsAProcessHoldsIt) {
  auto loader = std::make_unique<ServiceLoader>("the test");
  begin();
  loader->adopt(std::move(rank_));
  if (!loader->prepare(1, 1).ok()) GTEST_SKIP() << "this process may not load a program into the kernel";
  ASSERT_TRUE(loader->load().ok());
  void* zone = ::mmap(nullptr, net::kernel::kZoneBlock, PROT_READ | PROT_WRITE, MAP_SHARED, loader->zone().fd(), 0);
  ASSERT_NE(zone, MAP_FAILED);
  EXPECT_GT(accounts_.memory(), std::uint64_t{net::kernel::kZoneBlock});
  loader.reset();
  thread_.join();
  EXPECT_EQ(accounts_.ranks(), 0u);
  EXPECT_GT(accounts_.memory(), std::uint64_t{net::kernel::kZoneBlock}) << "the zone is mapped";
  ::munmap(zone, net::kernel::kZoneBlock);
  EXPECT_EQ(accounts_.memory(), 0u);
}

// By the keeper and a socket that has joined the kernel keeps everything, though no process has any of it open.
TEST_F(SessionTest, MemoryCountsAsLongAsTheKeeperKeepsIt) {
  begin();
  if (!ask(Kind::kHello).granted) GTEST_SKIP() << "this process may not load a program into the kernel";
  ASSERT_TRUE(net::kernel::send_message(rank_.fd(), request(Kind::kLoad).encode()).ok());
  LocalMessage loaded;
  ASSERT_EQ(net::kernel::receive_message(rank_.fd(), loaded), Received::kMessage);
  ASSERT_EQ(loaded.descriptors.size(), 3u);
  std::optional<Descriptor> keeper = std::move(loaded.descriptors[1]);
  loaded.descriptors.clear();
  end();
  EXPECT_EQ(accounts_.ranks(), 0u);
  EXPECT_GT(accounts_.memory(), std::uint64_t{net::kernel::kZoneBlock});
  const std::uint32_t index = 0;
  net::bpf::erase(*keeper, &index);
  std::uint32_t kept = 0;
  EXPECT_TRUE(net::bpf::look_up(*keeper, &index, &kept)) << "a rank cannot change what it keeps";
  keeper.reset();
  EXPECT_EQ(accounts_.memory(), 0u);
}

// The service goes while a packet that was passed on waits to be read.
TEST_F(SessionTest, NothingIsLostWhenItEnds) {
  auto loader = std::make_unique<ServiceLoader>("the test");
  begin();
  const int service = ::dup(rank_.fd());
  loader->adopt(std::move(rank_));
  if (!loader->prepare(1, 1).ok()) GTEST_SKIP() << "this process may not load a program into the kernel";
  ASSERT_TRUE(loader->load().ok());
  const Pair tcp = tcp_pair();
  net::kernel::set_limit(tcp.here.fd(), 20'000);
  ASSERT_TRUE(loader->join(0, tcp.here.fd()).status.ok());
  ASSERT_EQ(::send(tcp.there.fd(), "before", 6, MSG_NOSIGNAL), 6);
  char bytes[16] = {};
  while (::recv(tcp.here.fd(), bytes, sizeof bytes, MSG_PEEK) != 6) {
  }
  Witness witness;
  ASSERT_TRUE(witness.begin());
  ::shutdown(service, SHUT_RDWR);
  ::close(service);
  thread_.join();
  witness.wait_until_lost();
  ASSERT_EQ(::send(tcp.there.fd(), "after", 5, MSG_NOSIGNAL), 5);
  std::string come;
  while (come.size() < 11) {
    const ssize_t got = ::recv(tcp.here.fd(), bytes, sizeof bytes, 0);
    ASSERT_GT(got, 0);
    come.append(bytes, static_cast<std::size_t>(got));
  }
  EXPECT_EQ(come, "beforeafter");
  const Pair other = tcp_pair();
  const net::kernel::Joining joining = loader->join(0, other.here.fd());
  EXPECT_FALSE(joining.status.ok());
  EXPECT_TRUE(joining.known);
}

}  // namespace
}  // namespace lapwing::launch::tests
