// A bad cable: passes Ethernet frames between two network devices, and harms some of them when it is told to.
//
//   relay SEED DEVICE DEVICE
//
// It reads commands from its standard input, one a line. Each is about the next frames in both directions together; COUNT is a number of them, or a
// share, such as 0.5%: then each frame is harmed by that chance until it is calm. (While a sender waits for longer and longer, numbers that are
// ordered by the clock become all that it sends, and shares do not.)
//
//   drop COUNT         so many frames are lost
//   duplicate COUNT    so many pass twice
//   reorder COUNT      so many are overtaken by up to 8 frames behind them, or pass after kLongestAside
//   corrupt COUNT      in so many TCP segments with data one byte of the data, or in every fourth of the header, is changed, and the checksum with it, so that
//                      TCP delivers the wrong byte, or takes it for another segment; and so in packets of Lapwing's with data (src/wire/packet.h)
//   forge COUNT        behind so many packets of Lapwing's with data comes one that an attacker would send: an older packet once more, or one that says
//                      that the sender has finished, has given up, or is not there (any more)
//   delay MS COUNT     so many frames are held for MS milliseconds, and those behind them wait for their turn
//   calm               harms no more frames; those that are held pass in their time
//   report FILE        writes how many frames passed, and how many were harmed in which way
//
// The devices must send frames as they are on a wire (offloads.py). The seed decides which byte is changed, and what overtakes a frame.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Frame = std::span<std::uint8_t>;

constexpr std::size_t kMostFrameBytes = 65536 + ETH_HLEN;  // a longer one than the MTU is noticed, not cut off
constexpr std::size_t kMostWireBytes = 9216;               // jumbo frames; what segmentation offload makes is longer
constexpr int kSocketBytes = 32 << 20;                     // for what arrives while this program does not run
constexpr int kFramesInARow = 256;                         // of one direction, before the other has its turn
constexpr int kMostOvertaking = 8;
constexpr auto kLongestAside = std::chrono::milliseconds(20);

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "relay: %s (%s)\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

// ---- TCP segments -------------------------------------------------------------------------------------------------------

// Where in a frame the header of TCP or of a packet and its data begin, and where the data ends; no data: the frame holds none.
struct Segment {
  std::size_t header = 0, data = 0, end = 0;
  bool tcp = true;
  std::size_t bytes() const { return end - data; }
};

std::uint16_t load16(Frame frame, std::size_t at) {
  return static_cast<std::uint16_t>(frame[at] << 8 | frame[at + 1]);
}

// The header from the number on: what is before it a program in the kernel checks. `at`: where the packet begins.
Segment find_packet(Frame frame, std::size_t at) {
  constexpr std::size_t kNumber = 16, kBytes = 28, kPacketBytes = 40;
  constexpr std::uint8_t kData = 1;
  if (frame.size() < at + kPacketBytes || frame[at + 1] != kData) return {};
  const std::size_t bytes = frame[at + kBytes] | std::size_t{frame[at + kBytes + 1]} << 8u;
  return {at + kNumber, at + kPacketBytes, std::min(frame.size(), at + kPacketBytes + bytes), false};
}

// Of IPv6 headers only TCP's own may follow.
Segment find_segment(Frame frame) {
  constexpr std::uint16_t kPackets = 0x88b5, kPort = 27182;  // LAPWING_ETHER_TYPE, LAPWING_ETHER_PORT of hosts with one receive queue
  constexpr std::size_t kIpv4Bytes = 20, kIpv6Bytes = 40, kTcpBytes = 20, kUdpBytes = 8, kIp = ETH_HLEN, kUdp = kIp + kIpv4Bytes;
  if (frame.size() < kIp + kIpv4Bytes + kTcpBytes) return {};
  Segment found;
  const std::uint16_t type = load16(frame, 12);
  if (type == kPackets) return find_packet(frame, ETH_HLEN);
  if (type == ETHERTYPE_IP && frame[kIp + 9] == IPPROTO_UDP && load16(frame, kUdp + 2) == kPort) return find_packet(frame, kUdp + kUdpBytes);
  if (type == ETHERTYPE_IP && frame[kIp + 9] == IPPROTO_TCP) {
    found.header = kIp + std::size_t{4} * (frame[kIp] & 15u);
    found.end = kIp + load16(frame, kIp + 2);
  } else if (type == ETHERTYPE_IPV6 && frame[kIp + 6] == IPPROTO_TCP) {
    found.header = kIp + kIpv6Bytes;
    found.end = found.header + load16(frame, kIp + 4);
  }
  if (found.header == 0 || found.end > frame.size() || found.header + kTcpBytes > found.end) return {};
  found.data = found.header + std::size_t{4} * (frame[found.header + 12] >> 4u);
  return found.data < found.end ? found : Segment();
}

// Changes one byte, and the checksum as RFC 1624 has it: HC' = ~(~HC + ~m + m').
void change_byte(Frame frame, const Segment& segment, std::size_t at, std::uint8_t flipped) {
  if (!segment.tcp) {
    frame[at] ^= flipped;
    return;
  }
  constexpr std::size_t kChecksum = 16;  // within TCP's header
  const std::size_t word = at - (at - segment.header) % 2;
  const auto byte_at = [&](std::size_t i) { return i < segment.end ? frame[i] : std::uint8_t{0}; };
  const auto value = [&] { return static_cast<std::uint32_t>(byte_at(word) << 8 | byte_at(word + 1)); };
  const std::uint32_t before = value();
  frame[at] ^= flipped;
  std::uint32_t sum = (~load16(frame, segment.header + kChecksum) & 0xffffu) + (~before & 0xffffu) + value();
  sum = (sum & 0xffffu) + (sum >> 16u);
  sum = (sum & 0xffffu) + (sum >> 16u);
  frame[segment.header + kChecksum] = static_cast<std::uint8_t>(~sum >> 8u);
  frame[segment.header + kChecksum + 1] = static_cast<std::uint8_t>(~sum);
}

// ---- what is to happen --------------------------------------------------------------------------------------------------

enum Harm { kDrop, kDuplicate, kReorder, kCorrupt, kForge, kDelay, kHarms, kNone = kHarms };
constexpr std::array<const char*, kHarms> kNames = {"drop", "duplicate", "reorder", "corrupt", "forge", "delay"};

class Orders {
 public:
  explicit Orders(std::uint64_t seed) : random_(seed) {}

  // False: this is no command.
  bool take(const std::string& line) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "report") return report(words);
    if (name == "calm") {
      due_.fill(0);
      shares_.fill(0);
      return true;
    }
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) return false;
    int milliseconds = 0;
    double count = 0;
    if (name == "delay") words >> milliseconds;
    words >> count;
    if (!words || milliseconds < 0 || count < 0) return false;
    if (name == "delay") delay_ = std::chrono::milliseconds(milliseconds);
    const auto harm = static_cast<std::size_t>(found - kNames.begin());
    if (words.peek() == '%')
      shares_[harm] = count / 100;
    else
      due_[harm] += static_cast<int>(count);
    return true;
  }

  // What happens to this frame: the first that is due, or that chance has for it.
  Harm next(const Segment& segment) {
    ++passed_;
    for (std::size_t harm = 0; harm < kHarms; ++harm) {
      if ((harm == kCorrupt && segment.bytes() == 0) || (harm == kForge && segment.tcp) || !comes(harm)) continue;
      ++done_[harm];
      return static_cast<Harm>(harm);
    }
    return kNone;
  }
  std::chrono::milliseconds delay() const { return delay_; }
  std::size_t below(std::size_t limit) { return random_() % limit; }

 private:
  bool report(std::istringstream& words) {
    std::string name;
    words >> name;
    std::FILE* const file = std::fopen(name.c_str(), "w");
    if (file == nullptr) return false;
    std::fprintf(file, "passed %llu", static_cast<unsigned long long>(passed_));
    for (std::size_t harm = 0; harm < kHarms; ++harm) std::fprintf(file, " %s %d", kNames[harm], done_[harm]);
    std::fprintf(file, "\n");
    return std::fclose(file) == 0;
  }

  bool comes(std::size_t harm) {
    if (due_[harm] != 0) return due_[harm]-- != 0;
    return shares_[harm] > 0 && std::bernoulli_distribution(shares_[harm])(random_);
  }

  std::mt19937_64 random_;
  std::array<int, kHarms> due_{}, done_{};
  std::array<double, kHarms> shares_{};
  std::chrono::milliseconds delay_{};
  std::uint64_t passed_ = 0;
};

// ---- one direction ------------------------------------------------------------------------------------------------------

class Direction {
 public:
  Direction(int from, int to, Orders& orders) : from_(from), to_(to), orders_(orders) {}

  int from() const { return from_; }

  void pass_what_is_there() {
    for (int i = 0; i < kFramesInARow; ++i) {
      const ssize_t bytes = ::recv(from_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (bytes < 0) return;  // nothing more; or the device is down, which is only another way to lose frames
      const auto length = static_cast<std::size_t>(bytes);
      if (length > kMostWireBytes) fail("a frame of " + std::to_string(length) + " bytes: are offloads off (offloads.py)?");
      treat(Frame(buffer_).first(length));
    }
  }

  void pass_what_is_due(Clock::time_point now) {
    for (; !held_.empty() && held_.front().until <= now; held_.pop_front()) send(held_.front().frame);
    pass_aside([now](const Held& held) { return held.until <= now; });
  }
  Clock::time_point next_due() const {
    Clock::time_point due = held_.empty() ? Clock::time_point::max() : held_.front().until;
    for (const Held& held : aside_) due = std::min(due, held.until);
    return due;
  }

 private:
  struct Held {
    Held(Clock::time_point when, Frame bytes, int frames = 0) : until(when), frame(bytes.begin(), bytes.end()), overtaken_by(frames) {}
    Clock::time_point until;
    std::vector<std::uint8_t> frame;
    int overtaken_by;  // so many still, if its time is not over before
  };

  void treat(Frame frame) {
    const Segment segment = find_segment(frame);
    const Harm harm = orders_.next(segment);
    const Clock::time_point now = Clock::now();
    switch (harm) {
      case kDrop:
        return;
      case kReorder:
        aside_.emplace_back(now + kLongestAside, frame, 1 + static_cast<int>(orders_.below(kMostOvertaking)));
        return;
      case kDelay:
        held_.emplace_back(std::max(now + orders_.delay(), latest()), frame);
        return;
      case kCorrupt:
        change_byte(frame, segment, place_in(segment), static_cast<std::uint8_t>(1 + orders_.below(255)));
        break;
      case kForge:
        pass(frame);
        return forge(frame, segment);
      case kDuplicate:
      case kNone:
        break;
    }
    for (int copies = harm == kDuplicate ? 2 : 1; copies > 0; --copies) pass(frame);
  }

  // What is made up has the sender's names and numbers, which anybody can read.
  void forge(Frame frame, const Segment& segment) {
    constexpr std::size_t kNumber = 16, kKind = 1, kBytes = 28, kFlags = 30, kRecordEach = 50;
    constexpr std::uint8_t kGone = 5, kGoodbye = 6, kBroken = 2, kWayBackBytes = 16;
    if (forged_++ % kRecordEach == 0) recorded_.emplace_back(frame.begin(), frame.end());
    const std::size_t trick = orders_.below(4), at = segment.header - kNumber;
    if (trick == 0) return pass(recorded_[orders_.below(recorded_.size())]);
    const bool gone = trick == 1;
    frame[at + kKind] = gone ? kGone : kGoodbye;
    frame[at + kBytes] = gone ? kWayBackBytes : 0;
    frame[at + kBytes + 1] = 0;
    frame[at + kFlags] = trick == 2 ? kBroken : 0;
    pass(frame);
  }

  std::size_t place_in(const Segment& segment) {
    if (orders_.below(4) == 0) return segment.header + orders_.below(segment.data - segment.header);
    return segment.data + orders_.below(segment.bytes());
  }

  // In its turn.
  void pass(Frame frame) {
    if (!held_.empty()) return static_cast<void>(held_.emplace_back(latest(), frame));
    send(frame);
    if (aside_.empty()) return;
    for (Held& held : aside_) --held.overtaken_by;
    pass_aside([](const Held& held) { return held.overtaken_by <= 0; });
  }
  Clock::time_point latest() const { return held_.empty() ? Clock::time_point::min() : held_.back().until; }

  template <typename Due>
  void pass_aside(Due due) {
    std::erase_if(aside_, [&](const Held& held) {
      if (!due(held)) return false;
      send(held.frame);
      return true;
    });
  }

  // What a device does not take is lost, as on a wire.
  void send(std::span<const std::uint8_t> frame) { static_cast<void>(::send(to_, frame.data(), frame.size(), 0)); }

  const int from_, to_;
  Orders& orders_;
  std::array<std::uint8_t, kMostFrameBytes> buffer_;
  std::deque<Held> held_;   // in their order, behind one that is delayed
  std::vector<Held> aside_;  // to be overtaken
  std::vector<std::vector<std::uint8_t>> recorded_;  // some of those behind which others were forged
  std::size_t forged_ = 0;
};

// ---- the whole ----------------------------------------------------------------------------------------------------------

int open_device(const char* name) {
  const int fd = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("no packet socket");
  const int yes = 1;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(name));
  packet_mreq all{};
  all.mr_ifindex = address.sll_ifindex;
  all.mr_type = PACKET_MR_PROMISC;
  if (::setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBytes, sizeof kSocketBytes) != 0 ||
      ::setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) != 0 ||
      ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail(std::string("device ") + name);
  return fd;
}

// False: there will be none any more.
bool take_commands(Orders& orders, std::string& text) {
  char bytes[4096];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count <= 0) return false;
  text.append(bytes, static_cast<std::size_t>(count));
  for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
    const std::string line = text.substr(0, end);
    if (!orders.take(line)) std::fprintf(stderr, "relay: no such command: %s\n", line.c_str());
  }
  return true;
}

int milliseconds_until(Clock::time_point due) {
  if (due == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: relay SEED DEVICE DEVICE\n");
    return 2;
  }
  Orders orders(std::strtoull(argv[1], nullptr, 10));
  const int left = open_device(argv[2]), right = open_device(argv[3]);
  std::array<Direction, 2> directions = {Direction(left, right, orders), Direction(right, left, orders)};
  std::string commands;
  for (;;) {
    pollfd ready[] = {{left, POLLIN, 0}, {right, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    const int wait = milliseconds_until(std::min(directions[0].next_due(), directions[1].next_due()));
    if (::poll(ready, 3, wait) < 0 && errno != EINTR) fail("poll");
    if (ready[2].revents != 0 && !take_commands(orders, commands)) return 0;
    for (Direction& direction : directions) {
      direction.pass_what_is_there();
      direction.pass_what_is_due(Clock::now());
    }
  }
}
