#include "wire/frame.h"

#include "wire/inline_frame.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lapwing::wire {
namespace {

FrameHeader sample() {
  FrameHeader header;
  header.describe(Protocol::kMessages, 0x00a00000);
  header.number(0x14131211, 0x18171615);
  for (std::size_t i = 0; i < FrameHeader::kOwnWords; ++i) header.set_own(i, 0x2827262524232221 + i);
  return header;
}

// The bytes of version 3. A failure here means that two versions of Lapwing no longer understand each other: raise
// kVersion or take the change back.
TEST(Frame, BytesArePinned) {
  const FrameHeader header = sample();
  const unsigned char expected[32] = {0x00, 0x00, 0xa0, 0x00, 0x01, 0x00, 0x00, 0x00, 0x11, 0x12, 0x13,
                                      0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26,
                                      0x27, 0x28, 0x22, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28};
  EXPECT_EQ(std::memcmp(header.words, expected, sizeof expected), 0);
  const unsigned char farewell[64] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(std::memcmp(channel_frame(ChannelWord::kGoodbye).words, farewell, sizeof farewell), 0);
  const unsigned char received[64] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  EXPECT_EQ(std::memcmp(channel_frame(ChannelWord::kAcknowledge).words, received, sizeof received), 0);
  EXPECT_EQ(kVersion, 3);
}

TEST(Frame, TellsItsFields) {
  const FrameHeader header = sample();
  EXPECT_EQ(header.payload_bytes(), 0x00a00000u);
  EXPECT_TRUE(header.is(Protocol::kMessages));
  EXPECT_EQ(header.flags(), 0);
  EXPECT_EQ(header.numbers().sequence, 0x14131211u);
  EXPECT_EQ(header.numbers().acknowledgement, 0x18171615u);
  EXPECT_EQ(header.own(5), 0x2827262524232226u);
  EXPECT_TRUE(is_sound(header));
  for (const ChannelWord word : {ChannelWord::kGoodbye, ChannelWord::kAcknowledge}) {
    EXPECT_FALSE(is_sound(channel_frame(word))) << "no sink may see it";
    EXPECT_TRUE(check(channel_frame(word)).ok());
  }
}

TEST(Frame, FlagsStandBesideWhatWasDescribed) {
  FrameHeader header = sample();
  header.set_flags(kFlagAcknowledge);
  EXPECT_EQ(header.flags(), kFlagAcknowledge);
  EXPECT_EQ(header.payload_bytes(), 0x00a00000u);
  EXPECT_TRUE(is_sound(header));
  header.set_flags(0);
  EXPECT_EQ(header.words[0], sample().words[0]);
}

TEST(Frame, ASmallPayloadTravelsInsideItsHeader) {
  for (std::uint64_t length = 0; length <= kInlineBytes; ++length) {
    FrameHeader header = sample();
    header.describe(Protocol::kMessages, length);
    header.words[5] = header.words[6] = header.words[7] = 0;
    ASSERT_TRUE(fits_inline(header));
    std::byte payload[kInlineBytes], line[kHeaderBytes] = {};
    for (std::size_t i = 0; i < kInlineBytes; ++i) payload[i] = static_cast<std::byte>(i + 1);
    encode_inline(header, payload, line);
    ASSERT_TRUE(is_inline(line));
    FrameHeader decoded = sample();
    ASSERT_TRUE(decode_inline(line, decoded));
    decoded.words[1] = header.words[1];  // a stamp lies there
    EXPECT_EQ(std::memcmp(decoded.words, header.words, sizeof decoded.words), 0);
    EXPECT_EQ(std::memcmp(payload, inline_payload(line), length), 0);
  }
}

TEST(Frame, OnlyASmallPayloadBehindThreeEmptyWordsTravelsInside) {
  FrameHeader header;
  header.describe(Protocol::kMessages, kInlineBytes + 1);
  EXPECT_FALSE(fits_inline(header));
  std::byte line[kHeaderBytes] = {};
  store_around_stamp(header, line);
  EXPECT_FALSE(is_inline(line));
  line[5] = std::byte{kFlagInline};
  EXPECT_TRUE(is_inline(line));
  FrameHeader decoded;
  EXPECT_FALSE(decode_inline(line, decoded));  // it claims more than fits
  for (std::size_t word = 5; word < FrameHeader::kWords; ++word) {
    header = FrameHeader();
    header.describe(Protocol::kMessages, 8);
    EXPECT_TRUE(fits_inline(header));
    header.words[word] = 1;
    EXPECT_FALSE(fits_inline(header));
  }
}

TEST(Frame, ATransportsHeaderIsChecked) {
  const auto verdict = [](std::uint64_t first_word) {
    FrameHeader header;
    header.set_word(0, first_word);
    const Status status = check(header);
    EXPECT_EQ(is_sound(header), status.ok());
    return std::string(status.text());
  };
  const std::uint64_t messages = std::uint64_t{1} << 32;
  EXPECT_EQ(verdict(messages), "");
  EXPECT_EQ(verdict(messages | kMaxPayloadBytes), "");
  EXPECT_EQ(verdict(messages | (kMaxPayloadBytes + 1)),
            "a frame announces 67108865 payload bytes; 67108864 is the limit");
  EXPECT_EQ(verdict(std::uint64_t{3} << 32), "there is no protocol 3");
  EXPECT_EQ(verdict(messages | std::uint64_t{kFlagAcknowledge} << 40), "");
  EXPECT_EQ(verdict(messages | std::uint64_t{kFlagTrailer} << 40), "");
  EXPECT_EQ(verdict(messages | std::uint64_t{8} << 40), "a frame has unknown flags 0x08");
  EXPECT_EQ(verdict(std::uint64_t{kFlagTrailer} << 40), "a frame has unknown flags 0x04") << "one of the channel has none";
  EXPECT_EQ(verdict(messages | std::uint64_t{kFlagInline} << 40), "a frame has unknown flags 0x01");
  EXPECT_EQ(verdict(messages | std::uint64_t{1} << 56), "a frame has 0x0100 in the reserved bits");
  EXPECT_EQ(verdict(1), "a frame of the channel itself announces 1 payload bytes, and has none");
  EXPECT_EQ(verdict(0), "a frame of the channel itself says 0, which means nothing");
}

}  // namespace
}  // namespace lapwing::wire
