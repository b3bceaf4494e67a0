#include "wire/packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace lapwing::wire {
namespace {

PacketHeader sample(PacketKind kind, std::uint16_t bytes) {
  PacketHeader header;
  header.kind = kind;
  header.to = {0x1234, 0x56789abc, 0x1122334455667788};
  header.number = 0x01020304;
  header.acknowledged = 0x05060708;
  header.credit = 0x090a0b0c;
  header.bytes = bytes;
  header.transmission = 0x51525354;
  header.heard = 0x55565758;
  return header;
}

std::string hex(const std::byte* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(bytes[i]));
    text += digits;
  }
  return text;
}

TEST(Packet, EveryByteThatIsChangedIsFoundByTheCheck) {
  std::byte packet[kPacketHeaderBytes + 16 + kPacketCheckBytes] = {};
  PacketHeader header = sample(PacketKind::kAcknowledge, 16);
  encode(header, packet);
  ASSERT_EQ(add_check(packet), kPacketCheckBytes);
  EXPECT_TRUE(check_holds(header, packet, sizeof packet));
  EXPECT_FALSE(check_holds(header, packet, sizeof packet - 1));
  for (std::byte& byte : packet) {
    byte ^= std::byte{0x10};
    EXPECT_FALSE(check_holds(header, packet, sizeof packet)) << &byte - packet;
    byte ^= std::byte{0x10};
  }
}

TEST(Packet, WhatKernelsAnswerHasNoCheck) {
  for (const PacketKind kind : {PacketKind::kProbe, PacketKind::kPresent, PacketKind::kGone}) {
    std::byte packet[kPacketHeaderBytes + kWayBackBytes] = {};
    encode(sample(kind, kWayBackBytes), packet);
    EXPECT_EQ(add_check(packet), 0u);
    EXPECT_TRUE(check_holds(sample(kind, kWayBackBytes), packet, sizeof packet));
  }
}

// The bytes are an agreement between builds: docs/wire-format.md.
TEST(Packet, EveryByteIsWhereTheFormatSaysItIs) {
  std::byte out[kPacketHeaderBytes + kWayBackBytes] = {};
  PacketHeader header = sample(PacketKind::kData, 0x0d0e);
  header.flags = kPacketAsks;
  encode(header, out);
  encode_piece(0x21222324, 0x25262728, out);
  EXPECT_EQ(hex(out, kPacketHeaderBytes + kPieceBytes),
            "01013412bc9a7856"
            "8877665544332211"
            "0403020108070605"
            "0c0b0a090e0d0100"
            "5453525158575655"
            "2423222128272625");
  encode(sample(PacketKind::kProbe, kWayBackBytes), out);
  encode_way_back({0x3132, 0x33343536, 0x4142434445464748}, out);
  EXPECT_EQ(hex(out, kPacketHeaderBytes + kWayBackBytes),
            "01033412bc9a7856"
            "8877665544332211"
            "0403020108070605"
            "0c0b0a0910000000"
            "5453525158575655"
            "3231000036353433"
            "4847464544434241");
  EXPECT_EQ(way_back_of(out).endpoint, 0x3132);
  EXPECT_EQ(way_back_of(out).source, 0x33343536u);
  EXPECT_EQ(way_back_of(out).tag, 0x4142434445464748u);
}

TEST(Packet, ComesBackAsItWas) {
  std::vector<std::byte> out(200);
  PacketHeader header = sample(PacketKind::kData, kPieceBytes + kHeaderBytes + 10), back;
  encode(header, out.data());
  encode_piece(7, 0, out.data());
  ASSERT_TRUE(decode(out.data(), out.size(), back).ok());
  EXPECT_EQ(back.to.tag, header.to.tag);
  EXPECT_EQ(back.number, header.number);
  EXPECT_EQ(back.acknowledged, header.acknowledged);
  EXPECT_EQ(back.credit, header.credit);
  EXPECT_EQ(back.transmission, header.transmission);
  EXPECT_EQ(back.heard, header.heard);
  const Piece first = piece_of(back, out.data());
  EXPECT_EQ(first.frame, 7u);
  EXPECT_EQ(first.header, out.data() + kPacketHeaderBytes + kPieceBytes);
  EXPECT_EQ(first.payload_bytes, 10u);
  encode_piece(7, 5, out.data());
  const Piece later = piece_of(back, out.data());
  EXPECT_EQ(later.header, nullptr);
  EXPECT_EQ(later.payload, out.data() + kPacketHeaderBytes + kPieceBytes);
  EXPECT_EQ(later.payload_bytes, kHeaderBytes + 10);
}

struct Broken {
  std::size_t at;
  std::uint8_t value;
  const char* rule;
};

TEST(Packet, EveryRuleIsChecked) {
  const Broken cases[] = {{0, 2, "another version"},
                          {1, 0, "no kind"},
                          {1, 7, "no kind"},
                          {28, 200, "more bytes than came"},
                          {30, 2, "flags"},
                          {31, 1, "flags"},
                          {28, 7, "without frame and offset"},
                          {28, 71, "without its header"},
                          {1, 2, "no length"},
                          {1, 3, "way back"},
                          {1, 6, "says more"}};
  std::byte good[kPacketHeaderBytes + 90] = {};
  encode(sample(PacketKind::kData, 74), good);
  PacketHeader header;
  ASSERT_TRUE(decode(good, sizeof good, header).ok());
  EXPECT_FALSE(decode(good, kPacketHeaderBytes - 1, header).ok());
  for (const Broken& broken : cases) {
    std::byte bytes[sizeof good];
    std::copy(std::begin(good), std::end(good), bytes);
    bytes[broken.at] = static_cast<std::byte>(broken.value);
    const Status status = decode(bytes, sizeof bytes, header);
    EXPECT_NE(std::strstr(status.text(), broken.rule), nullptr) << status.text() << ", not: " << broken.rule;
  }
}

}  // namespace
}  // namespace lapwing::wire
