// The program's own code (net/kernel/area.h), compiled for this process, beside an Inbox, in any order, with packets cut anywhere: what the kernel
// does with packets is played here. So it is tried where no program may be loaded, and with cuts that a kernel seldom makes.
#pragma once

#include <cstddef>
#include <cstring>

namespace lapwing::net::kernel {
struct PlayedPacket {
  const std::byte* bytes;
  std::size_t length;
  int cuts_left;  // so many times it may be cut
};
}  // namespace lapwing::net::kernel
#define LAPWING_PACKET PlayedPacket*
#include "net/kernel/area.h"

namespace lapwing::net::kernel {
static inline int load(PlayedPacket* packet, Half offset, void* to, Half bytes) {
  std::memcpy(to, packet->bytes + offset, bytes);
  return 0;
}

// What packets are made of here cannot be overwritten, but the answer need not be written there to be looked at.
static inline int make_writable(PlayedPacket*, Half) {
  return 0;
}

}  // namespace lapwing::net::kernel
#include "net/kernel/overlap.h"

namespace lapwing::net::kernel {
static inline int cut_front(PlayedPacket* packet, Half bytes) {
  if (bytes > kMostCutAtOnce || (bytes != 0 && packet->cuts_left-- == 0)) return -1;
  packet->bytes += bytes;
  packet->length -= bytes;
  return 0;
}

// The zone, of which the tests use the end of the first block and the beginning of the second.
static ZoneBlock played_zone[2];

static inline ZoneBlock* zone_block(Half index) {
  return index < 2 ? &played_zone[index] : nullptr;
}
}  // namespace lapwing::net::kernel

#include <sys/socket.h>

#include <memory>
#include <random>
#include <vector>

#include "net/kernel/zone.h"
#include "net/tcp/inbox.h"
#include "net/tcp/lending_sink_for_tests.h"

// Each test program file has the program's code, its zone and this for itself.
namespace lapwing::net::tcp::tests {
namespace {

class PlayedZone final : public MessageMemory {
 public:
  PlayedZone() { space_.take(kernel::kZoneBlock - 8 * kernel::kMostFrame, 1); }
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override { return kernel::played_zone[0].bytes + space_.take(bytes, alignment); }
  void free(void* block) noexcept override { space_.give_back(static_cast<std::size_t>(static_cast<unsigned char*>(block) - kernel::played_zone[0].bytes)); }

 private:
  kernel::FreeSpace space_{2 * kernel::kZoneBlock};
};

class InboxPastProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ours_ = Socket(ends[0]);
    kernels_ = Socket(ends[1]);
    const int bytes = 1 << 20;
    ::setsockopt(kernels_.fd(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    area_->zone = reinterpret_cast<kernel::Word>(kernel::played_zone);
    inbox_.receive_past(intake_);
    intake_.open();
  }

  // A frame is sent.
  virtual void put(std::span<const std::byte> frame) { stream_.insert(stream_.end(), frame.begin(), frame.end()); }
  // So many bytes of the stream arrive as one packet, and so many that have come before in front of them.
  void arrive(std::size_t bytes, std::size_t twice = 0, int cuts = 33) {
    kernel::PlayedPacket packet{stream_.data() + arrived_ - twice, bytes + twice, cuts};
    if (see(packet, static_cast<kernel::Half>(first_sequence_ + arrived_ - twice)) == kernel::kPassedOn) {
      ASSERT_EQ(::send(kernels_.fd(), packet.bytes, packet.length, MSG_DONTWAIT), static_cast<ssize_t>(packet.length));
      in_socket_ += packet.length;
    }
    arrived_ += bytes;
  }
  int see(kernel::PlayedPacket& packet, kernel::Half sequence) {
    const auto length = static_cast<kernel::Half>(packet.length);
    const kernel::Half twice = kernel::follow(area_.get(), sequence, length);
    if (twice == 0) return kernel::judge(area_.get(), &packet, length);
    area_->twice = twice;
    while (twice < length && kernel::cut_some(area_.get(), &packet)) {}
    kernel::pass_on_new(area_.get(), static_cast<kernel::Half>(packet.length));
    return kernel::kPassedOn;
  }
  void append_request(std::uint64_t bytes) {
    wire::FrameHeader header = request(appended_[kLent]++, bytes);
    header.number(static_cast<std::uint32_t>(frames_++), 0);
    put(std::as_bytes(std::span(header.words)));
  }
  void append_urgent(std::size_t payload) {
    std::vector<std::byte> frame = bytes_of(frames_++, kLent, appended_[kLent]++, payload);
    wire::FrameHeader header;
    std::memcpy(header.words, frame.data(), sizeof header.words);
    header.set_flags(wire::kFlagAcknowledge);
    std::memcpy(frame.data(), header.words, sizeof header.words);
    put(frame);
  }
  // A synchronous message, and its trailer.
  void append_trailed(std::size_t payload) {
    std::vector<std::byte> frame = bytes_of(frames_++, kLent, appended_[kLent], payload);
    wire::FrameHeader header;
    std::memcpy(header.words, frame.data(), sizeof header.words);
    header.set_flags(wire::kFlagTrailer);
    header.set_own(4, 1000 + static_cast<std::uint64_t>(appended_[kLent]++));
    std::memcpy(frame.data(), header.words, sizeof header.words);
    put(frame);
    ends_.push_back(stream_.size());
    stream_.insert(stream_.end(), wire::kTrailerBytes, std::byte{0});
    ends_.push_back(stream_.size());
  }
  wire::MessageHeader last_answer() {
    wire::FrameHeader answer;
    std::memcpy(answer.words, area_->answer, sizeof answer.words);
    wire::MessageHeader header;
    EXPECT_TRUE(wire::is_sound(answer) && wire::decode(answer, header).ok());
    return header;
  }
  void append(int tag, std::size_t payload) {
    const std::vector<std::byte> frame = bytes_of(frames_++, tag, appended_[tag]++, payload);
    put(frame);
  }
  std::size_t to_come() const { return stream_.size() - arrived_; }
  void arrive_some(std::size_t most, std::size_t twice = 0) {
    std::size_t bytes = std::min(to_come(), most);
    if (const auto end = std::upper_bound(ends_.begin(), ends_.end(), arrived_); keeps_apart_ && end != ends_.end()) bytes = std::min(bytes, *end - arrived_);
    if (bytes > 0 && in_socket_ < 100'000) arrive(bytes, std::min({arrived_, twice, std::size_t{60'000}}));
  }
  Inbox::Result receive(std::size_t scratch = 1 << 16) {
    const Inbox::Result result = inbox_.receive(ours_.fd(), {scratch_.data(), scratch}, calls_);
    if (!intake_.has_passed()) in_socket_ = 0;
    return result;
  }
  void post(int count, std::size_t capacity = 1 << 16, MessageMemory* memory = nullptr) {
    for (int i = 0; i < count; ++i) sink_.post(&intake_.queue(), capacity, false, memory);
  }
  void expect_copies(std::uint64_t once, std::uint64_t twice) {
    EXPECT_EQ(copies_.once, once);
    EXPECT_EQ(copies_.twice, twice);
  }
  void expect_all_well() {
    EXPECT_TRUE(sink_.in_order);
    EXPECT_TRUE(sink_.intact);
    EXPECT_TRUE(inbox_.violation().ok()) << inbox_.violation().text();
  }

  std::unique_ptr<kernel::ConnectionArea> area_ = std::make_unique<kernel::ConnectionArea>();
  kernel::Intake intake_{*area_};
  PlayedZone zone_;
  LendingSink sink_;
  Channel channel_;
  Sinks sinks_{sink_};
  CopyCounters copies_;
  Inbox inbox_{sinks_, channel_, {0}, copies_};
  Socket ours_, kernels_;
  engine::SystemCalls calls_;
  std::vector<std::byte> stream_, scratch_ = std::vector<std::byte>(1 << 16);
  std::size_t arrived_ = 0, in_socket_ = 0;
  std::uint32_t first_sequence_ = 0xffff'f000;  // which wraps around
  std::uint64_t frames_ = 0;
  int appended_[3] = {0, 0, 0};
  std::vector<std::size_t> ends_;  // of packets, where a trailer begins and ends in the stream
  bool keeps_apart_ = true;
};

}  // namespace
}  // namespace lapwing::net::tcp::tests
