// What AF_XDP by itself takes, without MPI: two processes on two hosts of a segment play ping-pong with packets of the library's kind, by its socket
// and its program in the kernel (src/net/ether/), both spinning. To see what the library adds: the series is called as that of `latency`.
//
//   raw_ethernet --side answers --interface eth0      on one host, and
//   raw_ethernet --side leads --interface eth0        on the other: it measures and prints
//
// A packet is sent from where it was built once; what comes is looked at, and not copied. The program in the kernel lets only packets with this
// program's tag pass. Nothing is sent again, so a packet that is lost ends the measurement.
extern "C" {
#include "../common.h"
}

#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/processor_list.h"
#include "net/ether/interface.h"
#include "net/ether/packet_socket.h"
#include "net/ether/own_source.h"
#include "wire/little_endian.h"
#include "wire/packet.h"

namespace {

using namespace lapwing;
using net::ether::PacketSocket;

constexpr std::uint64_t kTag = 0x6c61707731;
constexpr std::uint16_t kEtherType = 0x88b5;
constexpr std::size_t kEthernetBytes = 14, kLeastFrame = 60;
constexpr double kPatience = 20, kAgain = 0.01;  // seconds: until the other side counts as gone; between two packets that ask it for an answer
constexpr std::size_t kAgreement = sizeof(long);
constexpr std::size_t kNumberAt = 16;  // in a packet's header (wire/packet.h)

const char* side_name = nullptr;
const char* interface_name = "eth0";
const char* const side_names[] = {"leads", "answers", nullptr};
Sizes sizes;
const Option options[] = {{"--side", "SIDE", "leads or answers", nullptr, &side_name, side_names, nullptr},
                          {"--interface", "NAME", "of this host, on the segment (eth0)", nullptr, &interface_name, nullptr, nullptr},
                          {"--sizes", "LIST", "payloads, of at most 1400 bytes (64,256,1K)", nullptr, nullptr, nullptr, &sizes},
                          {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr}};
const Program program = {"raw_ethernet", "Half a round trip of packets by AF_XDP between two hosts of a segment, without MPI.", options};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "raw_ethernet: %s\n", what);
  std::exit(1);
}
void must(const Status& status) {
  if (!status.ok()) fail(status.text());
}

// One side. A packet's number says what it is: 0 in a ping-pong, otherwise that of an agreement, of which it carries the value.
class Side {
 public:
  Side(const char* interface, bool leads) : leads_(leads) {
    must(net::ether::choose_interface({interface}, interface_));
    source_ = std::make_unique<net::ether::OwnSource>(interface_, net::ether::Endpoint{kTag, kEtherType, {}});
    must(socket_.open(*source_, net::ether::order_queues(net::ether::queue_services(interface_), processors_of(0)), false));
    peer_.fill(0xff);  // all hosts of the segment, until the peer has been heard
  }
  bool leads() const { return leads_; }

  void set(std::size_t bytes) {
    write_packet(kBall, 0, bytes);
    ball_bytes_ = bytes;
  }
  void ping_pong(int times) {
    for (int i = 0; i < times; ++i) {
      if (leads_) send(kBall, ball_bytes_);
      if (!wait(now() + kPatience, [](std::uint32_t number, const std::byte*) { return number == 0; })) fail("a packet was lost");
      if (!leads_) send(kBall, ball_bytes_);
    }
  }
  // The leader's value. It asks until it is answered; who answers goes on at once, and answers again when it has to: while it waits for something
  // else.
  long agree(long value) {
    ++agreement_;
    std::memcpy(socket_.chunk(kAgree) + kEthernetBytes + wire::kPacketHeaderBytes, &value, sizeof value);
    const double end = now() + kPatience;
    for (bool heard = false; !heard;) {
      if (now() > end) fail("the other side does not answer");
      if (leads_) say_agreement();
      heard = wait(now() + kAgain, [&](std::uint32_t number, const std::byte* payload) {
        if (number != agreement_) return false;
        if (!leads_) std::memcpy(&value, payload, sizeof value);
        return true;
      });
    }
    if (!leads_) say_agreement();
    return value;
  }

 private:
  static constexpr PacketSocket::Chunk kBall = 0, kAgree = 1;

  void say_agreement() {
    write_packet(kAgree, agreement_, kAgreement);
    send(kAgree, kAgreement);
  }

  void write_packet(PacketSocket::Chunk chunk, std::uint32_t number, std::size_t bytes) {
    std::byte* frame = socket_.chunk(chunk);
    const std::uint16_t type = htons(kEtherType);
    std::memcpy(frame, peer_.data(), peer_.size());
    std::memcpy(frame + peer_.size(), interface_.mac.data(), interface_.mac.size());
    std::memcpy(frame + 2 * peer_.size(), &type, sizeof type);
    wire::PacketHeader header;
    header.kind = wire::PacketKind::kData;
    header.to = {static_cast<std::uint16_t>(socket_.queue()), 0, kTag};
    header.number = number;
    header.bytes = static_cast<std::uint16_t>(bytes);
    wire::encode(header, frame + kEthernetBytes);
  }

  void send(PacketSocket::Chunk chunk, std::size_t bytes) {
    PacketSocket::Chunk left;
    while (socket_.reclaim(left)) {
    }
    const std::size_t frame = kEthernetBytes + wire::kPacketHeaderBytes + bytes;
    socket_.queue_send(chunk, 0, static_cast<std::uint32_t>(frame < kLeastFrame ? kLeastFrame : frame));
    if (socket_.flush() != 0) fail("the interface takes no packet");
  }

  // Until a packet that is `wanted` has come; false: none has by `end`.
  template <typename Wanted>
  bool wait(double end, Wanted wanted) {
    for (unsigned looks = 1;; ++looks) {
      while (socket_.has_received()) {
        if (take(wanted)) return true;
      }
      if (looks % 1024 == 0 && now() > end) return false;
    }
  }
  template <typename Wanted>
  bool take(Wanted wanted) {
    const std::byte* frame = socket_.received().data();
    const std::byte* packet = frame + kEthernetBytes;
    const auto number = wire::load_little<std::uint32_t>(packet + kNumberAt);
    std::memcpy(peer_.data(), frame + peer_.size(), peer_.size());
    const bool asked_again = !leads_ && number != 0 && number == agreement_;
    const bool found = wanted(number, packet + wire::kPacketHeaderBytes);
    socket_.pop();
    socket_.return_memory();
    if (asked_again && !found) say_agreement();
    return found;
  }

  const bool leads_;
  net::ether::Interface interface_;
  std::unique_ptr<net::ether::SocketSource> source_;
  PacketSocket socket_;
  net::ether::Mac peer_{};
  std::size_t ball_bytes_ = 0;
  std::uint32_t agreement_ = 0;
};

void measure_size(Side& side, std::size_t bytes) {
  if (bytes > 1400) fail("a packet holds at most 1400 bytes of payload");
  side.set(bytes);
  Samples samples = {};
  const Measurement measurement = {[](void* context, int times) { static_cast<Side*>(context)->ping_pong(times); },
                                   &side,
                                   [](void* context, long value) { return static_cast<Side*>(context)->agree(value); },
                                   &side,
                                   side.leads(),
                                   quick ? 0.1 : 0.4,
                                   50e-6,
                                   nullptr};
  measure(&measurement, &samples);
  if (!side.leads()) return;
  scale_samples(&samples, 1e6 / 2);
  report(&program, {"one way", "us", "lower", static_cast<double>(bytes), "message size", "B"}, &samples);
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(&program, argc, argv);
  if (line.stop || side_name == nullptr) {
    std::fputs(line.stop ? line.text : "raw_ethernet: --side must be given\n", line.stop && line.code == 0 ? stdout : stderr);
    return line.stop ? line.code : 2;
  }
  default_sizes(&sizes, "64,256,1K", "64,1K");
  Side side(interface_name, std::strcmp(side_name, "leads") == 0);
  side.agree(0);
  for (int s = 0; s < sizes.count; ++s) measure_size(side, sizes.values[s]);
  return 0;
}
