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
  for (std::uint32_t round = 0; round < 5; ++round) {
    wire::FrameHeader header;
    ours.stamp(header);
    EXPECT_EQ(header.sequence(), round);
    EXPECT_EQ(header.acknowledgement(), round);
    ASSERT_TRUE(theirs.accept(header).ok());
    theirs.receive();
    theirs.stamp(header);
    EXPECT_EQ(header.acknowledgement(), round + 1);
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

}  // namespace
}  // namespace lapwing::net
