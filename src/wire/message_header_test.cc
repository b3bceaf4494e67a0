#include "wire/message_header.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace lapwing::wire {
namespace {

MessageHeader sample() {
  MessageHeader header;
  header.kind = MessageKind::kRts;
  header.flags = kFlagPullable;
  header.credit = 0x24232221;
  header.context = 0x3837363534333231;
  header.source = -2;
  header.tag = 0x44434241;
  header.message_bytes = 0x4847464544434241;
  header.sender_token = 0x5857565554535251;
  header.receiver_token = 0x6867666564636261;
  header.payload_bytes = 8;
  return header;
}

// The bytes of version 3: see frame_test.cc.
TEST(MessageHeader, BytesArePinned) {
  const unsigned char expected[64] = {0x08, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                      0x00, 0x00, 0x00, 0x02, 0x01, 0x00, 0x00, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32,
                                      0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0xfe, 0xff, 0xff, 0xff, 0x41, 0x42, 0x43,
                                      0x44, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x51, 0x52, 0x53, 0x54,
                                      0x55, 0x56, 0x57, 0x58, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68};
  const FrameHeader frame = pack(sample());
  EXPECT_EQ(std::memcmp(frame.words, expected, sizeof expected), 0);
  const MessageKind kinds[] = {MessageKind::kEager,  MessageKind::kRts,    MessageKind::kCts,
                               MessageKind::kData,   MessageKind::kAck,    MessageKind::kFin,
                               MessageKind::kCredit, MessageKind::kCancel, MessageKind::kCancelAck, MessageKind::kLost};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(static_cast<int>(kinds[i]), i + 1);
}

TEST(MessageHeader, ALossNamesItsProcess) {
  MessageHeader lost, read;
  lost.kind = MessageKind::kLost;
  lost.context = as_context({0xfedcba98, 3});
  ASSERT_TRUE(decode(pack(lost), read).ok());
  EXPECT_EQ(lost_process(read), (JobRank{0xfedcba98, 3}));
}

TEST(MessageHeader, ComesBackAsItWas) {
  MessageHeader header;
  ASSERT_TRUE(decode(pack(sample()), header).ok());
  EXPECT_EQ(header.source, -2);
  EXPECT_EQ(header.credit, sample().credit);
  const FrameHeader again = pack(header), before = pack(sample());
  EXPECT_EQ(std::memcmp(again.words, before.words, sizeof again.words), 0);
}

TEST(MessageHeader, DataNamesItsOffsetAndEagerNoLength) {
  MessageHeader data;
  data.kind = MessageKind::kData;
  data.offset = 1234567890123;
  data.context = 5;
  EXPECT_EQ(unpack(pack(data)).offset, data.offset);
  EXPECT_EQ(unpack(pack(data)).context, 0u);

  MessageHeader eager;
  eager.kind = MessageKind::kEager;
  eager.payload_bytes = 77;
  EXPECT_EQ(unpack(pack(eager)).message_bytes, 77u);
  EXPECT_TRUE(is_plain_eager(pack(eager)));
  EXPECT_FALSE(is_plain_eager(pack(data)));
}

TEST(MessageHeader, CreditIsWrittenLast) {
  FrameHeader frame = pack(sample());
  set_credit(frame, 0x80000007);
  MessageHeader header = unpack(frame);
  EXPECT_EQ(header.credit, 0x80000007u);
  header.credit = sample().credit;
  const FrameHeader again = pack(header), before = pack(sample());
  EXPECT_EQ(std::memcmp(again.words, before.words, sizeof again.words), 0);
}

std::string verdict(const FrameHeader& frame) {
  MessageHeader decoded;
  return decode(frame, decoded).text();
}
std::string verdict(const MessageHeader& header) {
  return verdict(pack(header));
}

TEST(MessageHeader, KindFlagsAndReservedBitsAreChecked) {
  MessageHeader header;
  EXPECT_EQ(verdict(header), "there is no kind 0 of message frames");
  header.kind = static_cast<MessageKind>(11);
  EXPECT_EQ(verdict(header), "there is no kind 11 of message frames");
  header.kind = MessageKind::kCredit;
  EXPECT_EQ(verdict(header), "");
  header.flags = 1;
  EXPECT_EQ(verdict(header), "a message frame of kind 7 has unknown flags 0x01");
  header.kind = MessageKind::kCancelAck;
  EXPECT_EQ(verdict(header), "");
  FrameHeader frame = pack(header);
  frame.set_own(0, frame.own(0) | 0x01000000);
  EXPECT_EQ(verdict(frame), "a message frame of kind 9 has 0x0100 in the reserved bits");
}

TEST(MessageHeader, LengthsAreChecked) {
  MessageHeader header;
  header.payload_bytes = 1;
  header.kind = MessageKind::kAck;
  EXPECT_EQ(verdict(header), "a message frame of kind 5 announces 1 payload bytes, but that kind has none");

  header.kind = MessageKind::kEager;
  FrameHeader frame = pack(header);
  EXPECT_EQ(verdict(frame), "");
  frame.set_own(3, 1);
  EXPECT_EQ(verdict(frame), "an eager frame says that its message has 1 bytes: the payload is all of it");
  EXPECT_FALSE(is_plain_eager(frame));

  header.kind = MessageKind::kRts;
  header.message_bytes = 100;
  header.payload_bytes = 100;
  EXPECT_EQ(verdict(header), "");
  header.payload_bytes = 101;
  EXPECT_EQ(verdict(header), "an RTS carries 101 bytes for a message of 100 bytes");
  header.flags = kFlagPullable;
  header.payload_bytes = 108;
  EXPECT_EQ(verdict(header), "");
  header.payload_bytes = 7;
  EXPECT_EQ(verdict(header), "an RTS carries 7 bytes for a message of 100 bytes");
}

}  // namespace
}  // namespace lapwing::wire
