// Packets of which a part has come before, past a program in the kernel (net/kernel/overlap.h). Where TCP sends something again a kernel makes them
// now and then; here they are made by hand and sent past the peer's socket. Skipped where this process may not do so.
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>

#include <optional>

#include "net/tcp/kernel_receive_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

// One's complement, as RFC 1071 has it.
std::uint16_t checksum(const std::vector<std::byte>& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

template <typename Value>
void append(std::vector<std::byte>& bytes, const Value& value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

class TcpOverlapTest : public TcpKernelTest {
 protected:
  void SetUp() override {
    TcpKernelTest::SetUp();
    if (IsSkipped()) return;
    raw_ = Socket(::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP));
    if (raw_.fd() < 0) GTEST_SKIP() << "this process may not make packets";
  }
  // The sequence number that follows in one direction, which a socket that is being repaired tells.
  static std::uint32_t next_of(const Socket& socket, int queue) {
    const int on = 1, off_without_probe = -1;
    std::uint32_t sequence = 0;
    socklen_t length = sizeof sequence;
    const bool told = ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) == 0 &&
                      ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof queue) == 0 &&
                      ::getsockopt(socket.fd(), IPPROTO_TCP, TCP_QUEUE_SEQ, &sequence, &length) == 0 &&
                      ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_REPAIR, &off_without_probe, sizeof off_without_probe) == 0;
    EXPECT_TRUE(told) << std::strerror(errno);
    return sequence;
  }
  // As if the peer's kernel had sent it: the first `twice` bytes once more, and the others, which the peer's socket sends later.
  void send_past(const Socket& peer, const std::vector<std::byte>& bytes, std::uint32_t twice) {
    constexpr int kReceiveQueue = 1, kSendQueue = 2;  // linux/tcp.h
    sockaddr_in from{}, to{};
    socklen_t length = sizeof from;
    ::getsockname(peer.fd(), reinterpret_cast<sockaddr*>(&from), &length);
    ::getpeername(peer.fd(), reinterpret_cast<sockaddr*>(&to), &length);
    tcphdr header{};
    header.source = from.sin_port;
    header.dest = to.sin_port;
    header.seq = htonl(next_of(peer, kSendQueue) - twice);
    header.ack_seq = htonl(next_of(peer, kReceiveQueue));
    header.doff = sizeof header / 4;
    header.ack = header.psh = 1;
    header.window = htons(1000);
    const auto tcp_bytes = static_cast<std::uint16_t>(sizeof header + bytes.size());
    std::vector<std::byte> summed;
    append(summed, from.sin_addr);
    append(summed, to.sin_addr);
    append(summed, htons(IPPROTO_TCP));
    append(summed, htons(tcp_bytes));
    append(summed, header);
    summed.insert(summed.end(), bytes.begin(), bytes.end());
    header.check = htons(checksum(summed));
    std::vector<std::byte> packet;
    append(packet, header);
    packet.insert(packet.end(), bytes.begin(), bytes.end());
    to.sin_port = 0;
    EXPECT_EQ(::sendto(raw_.fd(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to), static_cast<ssize_t>(packet.size()))
        << std::strerror(errno);
  }
  // Messages 0 and 1 and so on, of which the odd ones come first with the end of the one before.
  void exchange(std::uint32_t twice, std::size_t payload) {
    Socket peer = join_past_program();
    constexpr int kMessages = 20;
    std::vector<std::byte> before;
    for (int number = 0; number < kMessages; ++number) {
      post_receives(1);
      turn_high();
      const std::vector<std::byte> bytes = bytes_of(static_cast<std::uint64_t>(number + 1), kLent, number, payload);
      if (number % 2 == 1) {
        std::vector<std::byte> both(before.end() - twice, before.end());
        both.insert(both.end(), bytes.begin(), bytes.end());
        send_past(peer, both, twice);
        pump([&] { return sink_.received() == number + 2; });
      }
      send_bytes(peer, bytes.data(), bytes.size());
      pump([&] { return sink_.received() == number + 2; });
      before = bytes;
    }
    EXPECT_EQ(sink_.landed, kMessages / 2) << "and the program goes on taking";
    EXPECT_EQ(sink_.passed, 1 + kMessages / 2);
    expect_all_well();
  }

  Socket raw_;
};

TEST_F(TcpOverlapTest, WhatIsNewIsPassedOn) {
  exchange(10, 5000);
}

// More than the kernel cuts at once.
TEST_F(TcpOverlapTest, SoItIsBehindManyBytes) {
  exchange(30'000, 30'000);
}

// The program has not seen what was read before the connection joined, so it does not know what of the first packet is new.
TEST_F(TcpOverlapTest, BehindBytesFromBeforeJoiningToo) {
  for (const std::uint32_t twice : {1u, 20u}) {  // of the handshake
    SCOPED_TRACE(twice);
    const int before = sink_.received(), taken = sink_.landed;
    Socket peer = join_unheard();
    const std::vector<std::byte> first = bytes_of(0, kNeverLent, sink_.next[kNeverLent], 500);
    std::vector<std::byte> both(twice, std::byte{0xd7});
    both.insert(both.end(), first.begin(), first.end());
    send_past(peer, both, twice);
    pump([&] { return sink_.received() == before + 1; });
    send_bytes(peer, first.data(), first.size());
    post_receives(1);
    turn_high();
    const std::vector<std::byte> second = bytes_of(1, kLent, sink_.next[kLent], 500);
    send_bytes(peer, second.data(), second.size());
    pump([&] { return sink_.landed == taken + 1; });
    expect_all_well();
    if (twice == 1) open(Choice::kOff);
  }
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
