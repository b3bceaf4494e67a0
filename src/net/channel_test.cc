#include "net/channel.h"

#include <gtest/gtest.h>

namespace lapwing::net {
namespace {

wire::FrameHeader numbered(std::uint32_t sequence, std::uint32_t acknowledgement) {
  wire::FrameHeader header;
  header.number(sequence, acknowledgement);
  return header;
}

TEST(Channel, NumbersFramesAndAcknowledgesWhatCameWhole) {
  Channel ours, theirs;
  ASSERT_TRUE(ours.up(0).ok() && theirs.up(0).ok());
  for (std::uint32_t round = 0; round < 5; ++round) {
    wire::FrameHeader header;
    ours.stamp(header);
    EXPECT_EQ(header.numbers().sequence, round);
    EXPECT_EQ(header.numbers().acknowledgement, round);
    ASSERT_TRUE(theirs.accept(header).ok());
    theirs.receive();
    theirs.stamp(header);
    EXPECT_EQ(header.numbers().acknowledgement, round + 1);
    ASSERT_TRUE(ours.accept(header).ok());
    EXPECT_EQ(ours.acknowledged(), round + 1);
    ours.receive();
  }
}

TEST(Channel, AGapBreaksTheRules) {
  Channel channel;
  EXPECT_STREQ(channel.accept(numbered(1, 0)).text(), "frame 1 arrived where frame 0 was due");
  ASSERT_TRUE(channel.accept(numbered(0, 0)).ok());
  channel.receive();
  EXPECT_STREQ(channel.accept(numbered(0, 0)).text(), "frame 0 arrived where frame 1 was due");
}

TEST(Channel, OnlyWhatWasSentCanBeAcknowledgedAndOnlyOnce) {
  Channel channel;
  wire::FrameHeader out;
  channel.stamp(out);
  channel.stamp(out);
  EXPECT_STREQ(channel.accept(numbered(0, 3)).text(), "it acknowledges 1 frames more than it was sent");
  ASSERT_TRUE(channel.accept(numbered(0, 2)).ok());
  channel.receive();
  EXPECT_FALSE(channel.accept(numbered(1, 1)).ok()) << "it takes an acknowledgement back";
}

TEST(Channel, OwesAnAcknowledgementOfWhatCameWholeUntilAFrameCarriesIt) {
  Channel channel;
  ASSERT_TRUE(channel.up(0).ok());
  wire::FrameHeader asks = numbered(0, 0);
  asks.set_flags(wire::kFlagAcknowledge);
  ASSERT_TRUE(channel.accept(asks).ok());
  EXPECT_FALSE(channel.owes_acknowledgement()) << "it has not come whole";
  wire::FrameHeader out;
  channel.stamp(out);
  channel.receive();
  EXPECT_TRUE(channel.owes_acknowledgement()) << "what left did not say so yet";
  channel.stamp(out);
  EXPECT_EQ(out.numbers().acknowledgement, 1u);
  EXPECT_FALSE(channel.owes_acknowledgement());
  ASSERT_TRUE(channel.accept(numbered(1, 0)).ok());
  channel.receive();
  EXPECT_FALSE(channel.owes_acknowledgement()) << "nothing was asked";
}

// The header of the next frame that asks comes with the end of the one before.
TEST(Channel, WhatIsOwedIsOwedThoughMoreIsAsked) {
  Channel channel;
  ASSERT_TRUE(channel.up(0).ok());
  for (std::uint32_t i = 0; i < 2; ++i) {
    wire::FrameHeader asks = numbered(i, 0);
    asks.set_flags(wire::kFlagAcknowledge);
    ASSERT_TRUE(channel.accept(asks).ok());
    EXPECT_EQ(channel.owes_acknowledgement(), i == 1) << "the frame before it";
    if (i == 0) channel.receive();
  }
  wire::FrameHeader out;
  channel.stamp(out);
  EXPECT_EQ(out.numbers().acknowledgement, 1u);
  EXPECT_FALSE(channel.owes_acknowledgement());
  channel.receive();
  EXPECT_TRUE(channel.owes_acknowledgement());
}

TEST(Channel, AHandshakeTellsWhatHasCome) {
  Channel channel;
  ASSERT_TRUE(channel.up(0).ok());
  wire::FrameHeader asks = numbered(0, 0);
  asks.set_flags(wire::kFlagAcknowledge);
  ASSERT_TRUE(channel.accept(asks).ok());
  channel.receive();
  channel.down();
  ASSERT_TRUE(channel.up(0).ok());
  EXPECT_FALSE(channel.owes_acknowledgement());
}

TEST(Channel, GoesOnWhereThePeerExpects) {
  Channel channel;
  EXPECT_EQ(channel.state(), Channel::State::kFresh);
  EXPECT_STREQ(channel.up(1).text(), "it expects frame 1 next, and this rank can send those from 0 to 0 again");
  ASSERT_TRUE(channel.up(0).ok());
  wire::FrameHeader header;
  for (int i = 0; i < 5; ++i) channel.stamp(header);
  ASSERT_TRUE(channel.accept(numbered(0, 2)).ok());
  channel.down();
  EXPECT_EQ(channel.state(), Channel::State::kDown);
  EXPECT_FALSE(channel.up(1).ok()) << "that one need not be kept any more";
  ASSERT_TRUE(channel.up(3).ok());
  EXPECT_EQ(channel.acknowledged(), 3u);
  channel.stamp(header);
  EXPECT_EQ(header.numbers().sequence, 3u);
  EXPECT_EQ(header.numbers().acknowledgement, 0u) << "the frame that had not come whole has not come";
  EXPECT_EQ(channel.sent(), 5u);
  EXPECT_STREQ(channel.accept(numbered(0, 5)).text(), "it acknowledges 1 frames more than it was sent")
      << "over this link";
  channel.end();
  channel.down();
  EXPECT_EQ(channel.state(), Channel::State::kOver);
}

}  // namespace
}  // namespace lapwing::net
