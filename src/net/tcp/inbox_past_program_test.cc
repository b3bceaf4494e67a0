// An Inbox beside the program in the kernel, which is played (past_program_for_tests.h).
#include "net/tcp/past_program_for_tests.h"

namespace lapwing::net::tcp::tests {
namespace {

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
