#include "wire/frame.h"

#include "wire/inline_frame.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace lapwing::wire {
namespace {

FrameHeader sample() {
  FrameHeader header;
  header.kind = FrameKind::kEager;
  header.credit = 0x04030201;
  header.sequence = 0x1817161514131211;
  header.payload_bytes = 0x00a00000;
  header.context = 0x3837363534333231;
  header.source = -2;
  header.tag = 0x44434241;
  header.message_bytes = 0x00a00000;
  header.sender_token = 0x5857565554535251;
  header.receiver_token = 0x6867666564636261;
  return header;
}

// The bytes of version 1. A failure here means that two versions of Lapwing no longer understand each other: raise
// kVersion or take the change back.
TEST(Frame, BytesArePinned) {
  std::byte bytes[kHeaderBytes];
  encode(sample(), bytes);
  const unsigned char expected[kHeaderBytes] = {
      0x01, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
      0x00, 0x00, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
      0xfe, 0xff, 0xff, 0xff, 0x41, 0x42, 0x43, 0x44, 0x00, 0x00, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68};
  EXPECT_EQ(std::memcmp(bytes, expected, sizeof expected), 0);
  EXPECT_EQ(kVersion, 1);
  EXPECT_EQ(static_cast<int>(FrameKind::kEager), 1);
  EXPECT_EQ(static_cast<int>(FrameKind::kGoodbye), 9);
}

TEST(Frame, ComesBackAsItWas) {
  std::byte bytes[kHeaderBytes], again[kHeaderBytes];
  encode(sample(), bytes);
  FrameHeader header;
  ASSERT_TRUE(decode(bytes, header).ok());
  EXPECT_EQ(header.source, -2);
  encode(header, again);
  EXPECT_EQ(std::memcmp(bytes, again, sizeof bytes), 0);
}

TEST(Frame, ASmallPayloadTravelsInsideItsHeader) {
  for (std::uint64_t length = 0; length <= kInlineBytes; ++length) {
    FrameHeader header = sample();
    header.payload_bytes = header.message_bytes = length;
    header.sender_token = header.receiver_token = 0;
    ASSERT_TRUE(fits_inline(header));
    std::byte payload[kInlineBytes], line[kHeaderBytes] = {};
    for (std::size_t i = 0; i < kInlineBytes; ++i) payload[i] = static_cast<std::byte>(i + 1);
    encode_inline(header, payload, line);
    ASSERT_TRUE(is_inline(line));
    FrameHeader decoded;
    ASSERT_TRUE(decode_inline(line, decoded));
    EXPECT_EQ(decoded.payload_bytes, length);
    EXPECT_EQ(decoded.message_bytes, length);
    EXPECT_EQ(decoded.tag, header.tag);
    EXPECT_EQ(decoded.sender_token + decoded.receiver_token, 0u);
    EXPECT_EQ(std::memcmp(payload, inline_payload(line), length), 0);
  }
}

TEST(Frame, OnlySmallMessagesWithoutAnswerTravelInside) {
  FrameHeader header = sample();
  header.sender_token = 0;
  header.payload_bytes = header.message_bytes = kInlineBytes + 1;
  EXPECT_FALSE(fits_inline(header));
  std::byte line[kHeaderBytes] = {};
  encode(header, line);
  EXPECT_FALSE(is_inline(line));
  line[2] = std::byte{1};
  EXPECT_TRUE(is_inline(line));
  FrameHeader decoded;
  EXPECT_FALSE(decode_inline(line, decoded));  // it claims more than fits
  header.payload_bytes = header.message_bytes = 8;
  header.sender_token = 5;
  EXPECT_FALSE(fits_inline(header));
}

// What decode() says of `header` as bytes.
std::string verdict(const FrameHeader& header) {
  std::byte bytes[kHeaderBytes];
  encode(header, bytes);
  FrameHeader decoded;
  return decode(bytes, decoded).text();
}

TEST(Frame, ChecksKindFlagsAndReservedBits) {
  FrameHeader header;
  header.kind = static_cast<FrameKind>(0);
  EXPECT_EQ(verdict(header), "there is no frame kind 0");
  header.kind = static_cast<FrameKind>(10);
  EXPECT_EQ(verdict(header), "there is no frame kind 10");
  header.kind = FrameKind::kCredit;
  EXPECT_EQ(verdict(header), "");
  header.flags = 1;
  EXPECT_EQ(verdict(header), "a frame of kind 6 has unknown flags 0x01");
  header.kind = FrameKind::kCancelAck;
  EXPECT_EQ(verdict(header), "");

  std::byte bytes[kHeaderBytes];
  encode(header, bytes);
  bytes[3] = std::byte{1};
  EXPECT_STREQ(decode(bytes, header).text(), "a frame of kind 8 has 0x0100 in the reserved bits");
}

TEST(Frame, ChecksLengths) {
  FrameHeader header;
  header.kind = FrameKind::kData;
  header.payload_bytes = kMaxPayloadBytes;
  EXPECT_EQ(verdict(header), "");
  header.payload_bytes += 1;
  EXPECT_EQ(verdict(header), "a frame of kind 4 announces 67108865 payload bytes; 67108864 is the limit");

  header.payload_bytes = 1;
  header.kind = FrameKind::kAck;
  EXPECT_EQ(verdict(header), "a frame of kind 5 announces 1 payload bytes, but that kind has none");

  header.kind = FrameKind::kEager;
  EXPECT_EQ(verdict(header), "an eager frame carries 1 bytes of a message of 0 bytes");

  header.kind = FrameKind::kRts;
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
