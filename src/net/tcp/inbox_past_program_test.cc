// The program's own code (net/kernel/area.h), compiled for this process, beside an Inbox, in any order, with packets cut anywhere: what the kernel
// does with packets is played here. So it is tried where no program may be loaded, and with cuts that a kernel seldom makes.
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
    const auto* begin = reinterpret_cast<const std::byte*>(header.words);
    stream_.insert(stream_.end(), begin, begin + sizeof header.words);
  }
  void append_urgent(std::size_t payload) {
    std::vector<std::byte> frame = bytes_of(frames_++, kLent, appended_[kLent]++, payload);
    wire::FrameHeader header;
    std::memcpy(header.words, frame.data(), sizeof header.words);
    header.set_flags(wire::kFlagAcknowledge);
    std::memcpy(frame.data(), header.words, sizeof header.words);
    stream_.insert(stream_.end(), frame.begin(), frame.end());
  }
  // A synchronous message, and its trailer.
  void append_trailed(std::size_t payload) {
    std::vector<std::byte> frame = bytes_of(frames_++, kLent, appended_[kLent], payload);
    wire::FrameHeader header;
    std::memcpy(header.words, frame.data(), sizeof header.words);
    header.set_flags(wire::kFlagTrailer);
    header.set_own(4, 1000 + static_cast<std::uint64_t>(appended_[kLent]++));
    std::memcpy(frame.data(), header.words, sizeof header.words);
    stream_.insert(stream_.end(), frame.begin(), frame.end());
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
    stream_.insert(stream_.end(), frame.begin(), frame.end());
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

TEST_F(InboxPastProgram, FramesOfOnePacketAreTakenTogether) {
  post(5);
  for (int i = 0; i < 5; ++i) append(kLent, 100);
  arrive(to_come());
  EXPECT_EQ(receive(), Inbox::Result::kDrained);
  EXPECT_EQ(sink_.landed, 5);
  expect_copies(0, 5 * 100);
  expect_all_well();
}

// A request becomes its answer only where the process computes, and its packet holds nothing else.
TEST_F(InboxPastProgram, ARequestIsAnswered) {
  sink_.token = 5;
  for (const bool computes : {false, true}) {
    for (const bool alone : {false, true}) {
      sink_.post(&intake_.queue(), 100'000, true);
      append_request(100'000);
      const std::size_t length = to_come();
      if (!alone) append(kNeverLent, 10);
      intake_.answer(true);
      if (computes) {
        ASSERT_TRUE(intake_.close_to_attended());
      }
      const int before = sink_.landed;
      arrive(to_come());
      receive();
      intake_.open();
      EXPECT_EQ(sink_.landed - before, computes && alone);
      EXPECT_EQ(length, wire::kHeaderBytes);
    }
  }
  const wire::MessageHeader header = last_answer();
  EXPECT_EQ(header.kind, wire::MessageKind::kCts);
  EXPECT_EQ(header.flags, wire::kFlagByCarrier);
  EXPECT_EQ(header.message_bytes, 100'000u);
  EXPECT_EQ(header.sender_token, 1003u);
  EXPECT_EQ(header.receiver_token, 5u);
  expect_all_well();
}

// A trailer becomes the acknowledgement where the process computes, and its packet holds nothing else. Else the process acknowledges, and hears of it
// unless it polls.
TEST_F(InboxPastProgram, ATrailerBecomesAnAcknowledgement) {
  enum { kAlone, kJoined, kCut, kForbidden };
  for (const bool computes : {false, true}) {
    for (const int how : {kAlone, kJoined, kCut, kForbidden}) {
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{1 << 16}}) {
        SCOPED_TRACE(testing::Message() << computes << " " << how << " " << bytes);
        sink_.post(&intake_.queue(), 1 << 16, true, bytes == 100 ? &zone_ : nullptr);
        append_trailed(bytes);
        intake_.answer(how != kForbidden);
        if (computes) {
          ASSERT_TRUE(intake_.close_to_attended());
        }
        const int landed = sink_.landed, acknowledged = sink_.acknowledged;
        if (how != kJoined) arrive(to_come() - wire::kTrailerBytes);
        if (how == kCut) arrive(10);
        arrive(to_come());
        EXPECT_EQ(intake_.has_passed(), how == kCut || how == kJoined || (computes && how == kForbidden));
        receive();
        intake_.open();
        EXPECT_EQ(sink_.landed - landed, how == kAlone || (how == kForbidden && !computes));
        EXPECT_EQ(sink_.acknowledged - acknowledged, computes && how == kAlone);
      }
    }
  }
  const wire::MessageHeader header = last_answer();
  EXPECT_EQ(header.kind, wire::MessageKind::kAck);
  EXPECT_EQ(header.flags, wire::kFlagByCarrier);
  EXPECT_EQ(header.sender_token, 1014u);
  EXPECT_EQ(sink_.received(), 24);
  expect_all_well();
}

// By a receiver whose kernel sees nothing of them.
TEST_F(InboxPastProgram, TrailersAreDropped) {
  for (const std::size_t cut : {std::size_t{1}, std::size_t{50}, std::size_t{70'000}}) {
    for (const std::size_t bytes : {0, 10, 5000}) append_trailed(bytes), append(kNeverLent, 10);
    for (std::size_t at = arrived_; at < stream_.size(); at += cut)
      ASSERT_TRUE(inbox_.parse(stream_.data() + at, std::min(cut, stream_.size() - at))) << inbox_.violation().text();
    arrived_ = stream_.size();
  }
  EXPECT_FALSE(inbox_.within_frame());
  EXPECT_EQ(sink_.passed, 18);
  expect_all_well();
}

TEST_F(InboxPastProgram, TheFrontOfAPacketIsNotReadAgain) {
  post(2);
  append(kLent, 100);
  append(kPassedOn, 50);
  append(kLent, 70);
  arrive(to_come());
  EXPECT_EQ(receive(), Inbox::Result::kDrained);
  EXPECT_EQ(sink_.landed, 1);
  EXPECT_EQ(sink_.passed, 2);
  expect_all_well();
}

// With a scratch buffer that takes less than has been taken of the packet.
TEST_F(InboxPastProgram, NorWithSeveralReads) {
  post(3);
  for (int i = 0; i < 3; ++i) append(kLent, 400);
  append(kPassedOn, 50);
  arrive(to_come());
  for (int i = 0; i < 100 && intake_.has_passed(); ++i) receive(128);
  EXPECT_EQ(sink_.landed, 3);
  EXPECT_EQ(sink_.passed, 1);
  expect_all_well();
}

// What matches no receive lands, too, and is matched here. What comes behind it gets no receive before that, though it would match one.
TEST_F(InboxPastProgram, WhatMatchesNoReceiveComesThroughTheRing) {
  post(2);
  append(kLent, 10);
  append(kNeverLent, kernel::kMostUnmatched);
  append(kLent, 20);
  while (to_come() > 0) arrive(std::min<std::size_t>(to_come(), 10'000));
  EXPECT_EQ(in_socket_, 0u);
  EXPECT_EQ(receive(), Inbox::Result::kDrained);
  EXPECT_EQ(sink_.landed, 1);
  EXPECT_EQ(sink_.passed, 2);
  post(1);
  append(kLent, 30);
  arrive(to_come());
  receive();
  EXPECT_EQ(sink_.landed, 2);
  expect_all_well();
}

// Only where a thread polls, where it is short, and without what asks for an acknowledgement.
TEST_F(InboxPastProgram, WhatMatchesNoReceiveIsPassedOnWhereItWakes) {
  for (const bool rests : {false, true}) {
    ASSERT_TRUE(rests ? intake_.open_at_rest(false) : intake_.close_to_attended());
    append(kNeverLent, 10);
    arrive(to_come());
    EXPECT_TRUE(intake_.has_passed());
    receive();
  }
  intake_.open();
  append_trailed(10);
  arrive(wire::kHeaderBytes + 10);
  EXPECT_TRUE(intake_.has_passed());
  arrive(to_come());
  receive();
  append(kNeverLent, kernel::kMostUnmatched + 1);
  arrive(to_come());
  EXPECT_TRUE(intake_.has_passed());
  receive();
  EXPECT_EQ(sink_.passed, 4);
  expect_all_well();
}

// A sender that would be told soon is told soon where a thread polls, and wakes one elsewhere.
TEST_F(InboxPastProgram, WhatIsUrgentIsTakenWhereAThreadPolls) {
  enum { kPolls, kComputes, kRests };
  for (const int what : {kPolls, kComputes, kRests}) {
    sink_.post(&intake_.queue(), 100, true);
    const bool ready = what == kPolls || (what == kComputes ? intake_.close_to_attended() : intake_.open_at_rest(false));
    ASSERT_TRUE(ready);
    append_urgent(100);
    arrive(to_come());
    EXPECT_EQ(intake_.has_arrivals(), what == kPolls);
    receive();
    intake_.open();
  }
  EXPECT_EQ(sink_.landed, 1);
  EXPECT_EQ(sink_.passed, 2);
  expect_all_well();
}

// As many as there are places are kept, of those that the program has begun, too.
TEST_F(InboxPastProgram, WhatMatchesNoReceiveFillsNoMoreThanThePlaces) {
  for (int i = 0; i < kernel::kPlaces + 1; ++i) append(kNeverLent, 10), arrive(to_come());
  EXPECT_EQ(in_socket_, wire::kHeaderBytes + 10u);
  receive();
  EXPECT_EQ(sink_.passed, kernel::kPlaces + 1);
  append(kNeverLent, 5000);
  arrive(1000);
  EXPECT_EQ(in_socket_, 0u);
  intake_.close();
  arrive(to_come());
  receive();
  EXPECT_EQ(sink_.passed, kernel::kPlaces + 2);
  expect_all_well();
}

TEST_F(InboxPastProgram, ARingThatIsFullPassesOn) {
  constexpr int kFrames = 40;  // of 64 KiB: more than fit
  post(kFrames);
  for (int i = 0; i < kFrames; ++i) append(kLent, 1 << 16);
  std::size_t before = 0;
  while (to_come() > 0 && in_socket_ == 0) arrive(std::min<std::size_t>(to_come(), 1 << 16)), ++before;
  EXPECT_GT(in_socket_, 0u);
  while (to_come() > 0 || intake_.has_passed()) {
    receive();
    arrive_some(1 << 16);
  }
  receive();
  EXPECT_GE(sink_.landed, static_cast<int>(kernel::kRingBytes / kernel::kMostFrame));
  EXPECT_EQ(sink_.received(), kFrames);
  expect_all_well();
}

// Of memory in the zone only the headers need the ring, so that more finds room than it could hold.
TEST_F(InboxPastProgram, WhatBelongsInTheZoneIsPutThere) {
  constexpr int kFrames = kernel::kPlacesLookedAt;
  static_assert(kFrames * kernel::kMostFrame > kernel::kRingBytes);
  post(kFrames, 1 << 16, &zone_);
  for (int i = 0; i < kFrames; ++i) append(kLent, 1 << 16);
  while (to_come() > 0) arrive(std::min<std::size_t>(to_come(), 30'000));
  EXPECT_EQ(in_socket_, 0u);
  receive();
  EXPECT_EQ(sink_.landed, kFrames);
  expect_copies((kFrames - 2) << 16, 2 << 16);  // two begin in the last 128 KiB of a block
  expect_all_well();
}

// The process goes on where the program stopped, in the middle of a payload that is in place so far.
TEST_F(InboxPastProgram, WhatIsHalfInPlaceIsGoneOnWith) {
  post(2, 1 << 16, &zone_);
  append(kLent, 50'000);
  append(kLent, 40'000);
  arrive(20'000);
  EXPECT_TRUE(intake_.close());
  arrive(10'000);
  EXPECT_EQ(receive(), Inbox::Result::kDrained);
  arrive(to_come());
  receive();
  EXPECT_EQ(sink_.passed, 2);
  EXPECT_GE(copies_.once, 20'000 - wire::kHeaderBytes);
  expect_copies(copies_.once, 50'000 + 40'000 - copies_.once);
  expect_all_well();
}

// Past the program: a short one comes with its header, and of a long one the rest is read to its place.
TEST_F(InboxPastProgram, CopiesOfWhatIsReadAreCounted) {
  append(kPassedOn, 100);
  arrive(to_come());
  receive();
  expect_copies(0, 100);
  append(kPassedOn, 60'000);
  arrive(wire::kHeaderBytes + 10'000);
  receive();
  arrive(to_come());
  receive();
  expect_copies(50'000, 100 + 10'000);
  expect_all_well();
}

// What is new of their packet is passed on, and the frame after it may be taken again. Before, and with a frame half taken.
TEST_F(InboxPastProgram, BytesThatComeTwiceAreCutOff) {
  post(4);
  append(kLent, 30'000);
  append(kLent, 30'000);
  append(kLent, 100);
  arrive(30'064);
  arrive(10'000);
  arrive(to_come() - 164, 9999);
  EXPECT_EQ(receive(), Inbox::Result::kDrained);
  EXPECT_EQ(sink_.landed, 1);
  EXPECT_EQ(sink_.passed, 1);
  arrive(to_come());
  EXPECT_EQ(receive(), Inbox::Result::kDrained);
  EXPECT_EQ(sink_.landed, 2);
  EXPECT_EQ(intake_.cut(), 1u);
  expect_all_well();
}

// The packet cannot be cut, or holds nothing new.
TEST_F(InboxPastProgram, BytesThatCannotBeCutOffEndTheConnection) {
  post(2);
  append(kPassedOn, 10'000);
  append(kPassedOn, 100);
  arrive(10'064);
  receive();
  for (const bool new_bytes : {true, false}) {
    area_->torn = 0;
    arrive(new_bytes ? 100 : 0, new_bytes ? 9000 : 10, 2);
    EXPECT_EQ(receive(), Inbox::Result::kTorn);
    EXPECT_TRUE(inbox_.violation().ok()) << "another connection may go on";
  }
}

// They would complete a long frame, whose payload is read straight to where the sink wants it.
TEST_F(InboxPastProgram, BytesThatComeTwiceCompleteNoFrame) {
  append(kPassedOn, 60'000);
  arrive(to_come() - 30'000);
  EXPECT_EQ(receive(), Inbox::Result::kDrained);
  arrive(0, 30'000);
  EXPECT_EQ(receive(), Inbox::Result::kTorn);
  EXPECT_EQ(sink_.received(), 0);
  inbox_.leave_program();
  inbox_.interrupt();
  EXPECT_NE(inbox_.half_received(), nullptr) << "it comes again";
}

// The program knows nothing of what was read before the connection joined.
TEST_F(InboxPastProgram, WhatWasReadBeforeJoiningIsNotReadAgain) {
  append(kNeverLent, 1000);
  append(kNeverLent, 500);
  append(kLent, 100);
  const std::size_t before = wire::kHeaderBytes + 1000;
  for (const std::size_t twice : {std::size_t{0}, std::size_t{1}, before}) {
    SCOPED_TRACE(twice);
    kernel::Intake fresh(*(area_ = std::make_unique<kernel::ConnectionArea>()));
    fresh.joined_after(before);
    fresh.open();
    arrived_ = before;
    kernel::PlayedPacket packet{stream_.data() + before - twice, stream_.size() - before + twice, 0};
    EXPECT_EQ(see(packet, static_cast<kernel::Half>(first_sequence_ + before - twice)), kernel::kPassedOn);
    EXPECT_TRUE(fresh.place(fresh.sequence(), stream_.size()));
    EXPECT_EQ(fresh.skip(twice / 2) + fresh.skip(packet.length - twice / 2), twice);
  }
}

TEST_F(InboxPastProgram, NothingIsTakenBeforeThePlaceIsKnown) {
  post(2);
  intake_.joined_after(0);
  for (const bool first : {true, false}) {
    append(kLent, 100);
    arrive(to_come());
    EXPECT_EQ(intake_.has_arrivals(), !first);
    EXPECT_EQ(intake_.has_passed(), first);
    if (first) {
      EXPECT_TRUE(intake_.place(intake_.sequence(), arrived_));
    }
    EXPECT_EQ(receive(), Inbox::Result::kDrained);
  }
  EXPECT_EQ(sink_.received(), 2);
  expect_all_well();
}

// More bytes than had been read, or fewer than came. One byte may be the end of the stream.
TEST_F(InboxPastProgram, APlaceThatCannotBeIsRefused) {
  append(kNeverLent, 100);
  for (const int wrong : {-2, -1, static_cast<int>(to_come())}) {
    kernel::Intake fresh(*(area_ = std::make_unique<kernel::ConnectionArea>()));
    fresh.joined_after(50);
    kernel::PlayedPacket packet{stream_.data(), stream_.size(), 0};
    see(packet, first_sequence_);
    EXPECT_EQ(fresh.place(fresh.sequence(), static_cast<std::uint64_t>(static_cast<int>(stream_.size()) + 50 - wrong)), wrong == -1);
  }
}

// A frame that the program has half: taken over when the connection is given up, so that no receive stays claimed.
TEST_F(InboxPastProgram, WhatIsHalfTakenIsGivenBackAtTheEnd) {
  post(2);
  append(kLent, 100);
  append(kLent, 5000);
  arrive(to_come() - 1);
  inbox_.leave_program();
  EXPECT_EQ(sink_.landed, 1);
  EXPECT_NE(inbox_.half_received(), nullptr);
  EXPECT_TRUE(sink_.all_taken_back());
  expect_all_well();
}

TEST_F(InboxPastProgram, AnyOrderOfAll) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned most) { return random() % most; };
    const unsigned cut = seed % 3 == 0 ? 300 : 70'000;
    keeps_apart_ = seed % 5 != 0;
    for (int i = 0; i < 1500; ++i) {
      switch (below(10)) {
        case 0: case 1:
          if (below(4) == 0)
            append_trailed(below(8) == 0 ? below(65'537) : below(400));
          else
            below(16) == 0 ? append_urgent(below(400)) : append(below(8) == 0 ? (below(2) == 0 ? kNeverLent : kPassedOn) : kLent, below(8) == 0 ? below(65'537) : below(400));
          break;
        case 2: case 3: case 4:
          if (sink_.waiting() < 30) sink_.post(&intake_.queue(), below(20) == 0 ? 100 : 1 << 16, below(2) == 0, below(2) == 0 ? &zone_ : nullptr);
          break;
        case 5:
          arrive_some(1 + below(cut), below(10) == 0 ? below(cut) : 0);
          break;
        case 6: case 7:
          receive();
          break;
        case 8:
          if (below(2) == 0 ? intake_.close() : intake_.close_to_attended())
            for (unsigned packets = 1 + below(4); packets > 0; --packets) arrive_some(1 + below(cut));
          intake_.answer(below(3) != 0);
          break;
        case 9:
          intake_.open();
          break;
      }
    }
    intake_.open();
    while (to_come() > 0 || intake_.has_passed() || intake_.has_arrivals()) {
      arrive_some(1 + below(cut));
      receive();
    }
    ASSERT_TRUE(sink_.in_order && sink_.intact && inbox_.violation().ok()) << seed << ": " << inbox_.violation().text();
  }
  for (const int tag : {kPassedOn, kLent, kNeverLent}) EXPECT_EQ(sink_.next[tag], appended_[tag]);
  EXPECT_GT(sink_.landed, 400);
  EXPECT_GT(sink_.acknowledged, 10);
  EXPECT_GT(sink_.passed, 500);
}

}  // namespace
}  // namespace lapwing::net::tcp::tests
