#include "net/kernel/trial.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <vector>

#include "net/kernel/intake.h"
#include "wire/message_header.h"

namespace lapwing::net::kernel {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kContext = 4;
constexpr std::int32_t kLent = 1, kNotLent = 2, kUnusual = 3;  // tags; the last of requests, which the program passes on
constexpr std::size_t kPayload = 3000;           // more than a packet takes on most networks

Status differs(const char* how) {
  return Status::error(MPI_ERR_OTHER, "this kernel is not one that receive in the kernel works with: %s", how);
}

// ---- a connection of this process to itself -------------------------------------------------------------------------

struct Pair {
  Descriptor here, there;
};

Status connect_pair(Pair& pair) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  pair.there = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool connected = ::bind(listener.fd(), generic, length) == 0 && ::listen(listener.fd(), 1) == 0 &&
                         ::getsockname(listener.fd(), generic, &length) == 0 &&
                         ::connect(pair.there.fd(), generic, length) == 0;
  if (connected) pair.here = Descriptor(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connected || pair.here.fd() < 0)
    return Status::error(MPI_ERR_OTHER, "receive in the kernel cannot be tried out, for 127.0.0.1 does not answer: %s", std::strerror(errno));
  const int one = 1;
  ::setsockopt(pair.there.fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return {};
}

// Until `done`, or for longer than the kernel takes on any machine that goes on at all.
template <typename Done>
bool comes(Done done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (!done()) {
    if (std::chrono::steady_clock::now() > limit) return false;
  }
  return true;
}

// ---- frames ---------------------------------------------------------------------------------------------------------

std::byte pattern(std::int32_t tag, std::size_t at) {
  return static_cast<std::byte>(static_cast<std::size_t>(tag) * 91 + at * 7);
}

Bytes frame(std::int32_t tag) {
  wire::MessageHeader header;
  header.kind = tag == kUnusual ? wire::MessageKind::kRts : wire::MessageKind::kEager;
  header.context = kContext;
  header.tag = tag;
  header.payload_bytes = kPayload;
  const wire::FrameHeader words = wire::pack(header);
  Bytes bytes(wire::kHeaderBytes + kPayload);
  std::memcpy(bytes.data(), words.words, wire::kHeaderBytes);
  for (std::size_t i = 0; i < kPayload; ++i) bytes[wire::kHeaderBytes + i] = pattern(tag, i);
  return bytes;
}

// ---- the trial ------------------------------------------------------------------------------------------------------

class Trial {
 public:
  explicit Trial(Program& program) : program_(program), intake_(program.area(0)) {}

  Status run() {
    LAPWING_TRY(connect_pair(pair_));
    LAPWING_TRY(join_with_unread());
    intake_.open();
    LAPWING_TRY(take_one());
    LAPWING_TRY(take_in_pieces());
    LAPWING_TRY(take_in_place());
    LAPWING_TRY(take_unmatched());
    LAPWING_TRY(pass_one());
    LAPWING_TRY(take_and_pass());
    return take_one();
  }

 private:
  void send(std::span<const std::byte> bytes) const {
    [[maybe_unused]] const ssize_t sent = ::send(pair_.there.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void lend(std::byte* base = nullptr) { intake_.queue().lend({kContext, kLent}, kPayload, {base, nullptr}); }

  Status join_with_unread() {
    const Bytes bytes = frame(kUnusual);
    send(bytes);
    LAPWING_TRY(program_.join(0, pair_.here.fd()).status);
    return arrives_by_socket(bytes) ? Status() : differs("what has come before a connection joins is lost");
  }
  Status take_one() {
    lend();
    send(frame(kLent));
    return arrives_by_program() ? Status() : differs("a frame does not reach the program");
  }
  Status take_in_pieces() {
    lend();
    const Bytes bytes = frame(kLent);
    send(std::span(bytes).first(1000));
    send(std::span(bytes).subspan(1000));
    return arrives_by_program() ? Status() : differs("a frame in two packets does not reach the program whole");
  }
  Status take_in_place() {
    MessageMemory& zone = *program_.zone();
    auto* const base = static_cast<std::byte*>(zone.allocate(kPayload, 64));
    lend(base);
    send(frame(kLent));
    const bool right = arrives_by_program(base);
    zone.free(base);
    return right ? Status() : differs("a payload does not come to the memory that it belongs in");
  }
  Status take_unmatched() {
    send(frame(kNotLent));
    const bool right = comes([&] { return intake_.has_arrivals(); }) && intake_.take().position == kUnmatched;
    if (right) intake_.release(intake_.take());
    return right ? Status() : differs("a frame without a receive does not come to the ring");
  }
  Status pass_one() {
    const Bytes bytes = frame(kUnusual);
    send(bytes);
    return arrives_by_socket(bytes) ? Status() : differs("what the program passes on does not come");
  }
  // In one packet, or in several.
  Status take_and_pass() {
    lend();
    const Bytes taken = frame(kLent), passed = frame(kUnusual);
    Bytes both = taken;
    both.insert(both.end(), passed.begin(), passed.end());
    send(both);
    if (!arrives_by_program()) return differs("a frame with another behind it does not reach the program");
    return arrives_by_socket(passed) ? Status() : differs("what comes behind a frame that is taken does not come");
  }

  // `base`: where its payload must be; null: anywhere.
  bool arrives_by_program(const std::byte* base = nullptr) {
    if (!comes([&] { return intake_.has_arrivals(); }) || intake_.torn()) return false;
    const Intake::Frame arrived = intake_.take();
    const Bytes expected = frame(kLent);
    const bool right = (base == nullptr || arrived.payload == base) &&
                       std::equal(expected.begin() + wire::kHeaderBytes, expected.end(), arrived.payload);
    intake_.queue().land(arrived.position, arrived.header);
    intake_.release(arrived);
    intake_.queue().collect([](const LentRoom&, const wire::FrameHeader&) {});
    return right;
  }
  bool arrives_by_socket(const Bytes& expected) {
    Bytes come;
    const bool all = comes([&] { return read_some(come) && come.size() >= expected.size(); });
    if (!all || intake_.torn() || intake_.has_passed() || come != expected) return false;
    intake_.read_all();
    return true;
  }
  bool read_some(Bytes& come) {
    std::array<std::byte, 4 * kPayload> bytes;
    const ssize_t got = ::recv(pair_.here.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got <= 0) return false;
    const std::size_t skipped = intake_.skip(static_cast<std::size_t>(got));
    come.insert(come.end(), bytes.begin() + static_cast<std::ptrdiff_t>(skipped), bytes.begin() + got);
    return true;
  }

  Program& program_;
  Pair pair_;
  Intake intake_;
};

}  // namespace

Status try_out(Program& program) {
  Status tried;
  {
    Trial trial(program);
    tried = trial.run();
  }
  program.forget(0);
  return tried;
}

}  // namespace lapwing::net::kernel
