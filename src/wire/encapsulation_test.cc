#include "wire/encapsulation.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace lapwing::wire::tests {
namespace {

constexpr MacAddress kPeer{2, 0, 0, 0, 0, 2}, kOwn{2, 0, 0, 0, 0, 1};
constexpr UdpAddress kPeerUdp{0xc0000207, 27185}, kOwnUdp{0xc0000101, 27182};
constexpr std::uint16_t kType = 0x88b5;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> made;
  for (const int value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

// A frame around a packet of so many bytes, each 7.
std::vector<std::byte> frame_of(const Encapsulation& headers, std::size_t count) {
  std::vector<std::byte> frame(headers.bytes() + count, std::byte{7});
  headers.write(frame.data() + headers.bytes(), count);
  return frame;
}

// By the receiver's rule of RFC 791, word by word: the sum of a right header is all ones.
std::uint32_t sum_of_ip_header(const std::vector<std::byte>& frame) {
  std::uint32_t sum = 0;
  for (std::size_t at = 14; at < 34; at += 2) {
    sum += std::to_integer<unsigned>(frame[at]) << 8 | std::to_integer<unsigned>(frame[at + 1]);
    if (sum > 0xffff) sum -= 0xffff;
  }
  return sum;
}

TEST(Encapsulation, HasTheseBytes) {
  EXPECT_EQ(frame_of(Encapsulation::raw(kPeer, kOwn, kType), 2), bytes({2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5, 7, 7}));
  EXPECT_EQ(frame_of(Encapsulation::udp(kPeer, kOwn, kPeerUdp, kOwnUdp), 2),
            bytes({2,    0,    0,    0, 0,    2,    2,    0,    0, 0,  0,    1,    0x08, 0x00,                                  // Ethernet
                   0x45, 0,    0,    30, 0,   0,    0x40, 0,    64, 17, 0xb7, 0xc6, 192,  0,    1, 1, 192, 0, 2, 7,              // IPv4
                   0x6a, 0x2e, 0x6a, 0x31, 0, 10,   0,    0,    7,  7}));                                                       // UDP
}

TEST(Encapsulation, KnowsWhereDatagramsGo) {
  EXPECT_EQ(Encapsulation::udp(kPeer, kOwn, kPeerUdp, kOwnUdp).to(), kPeerUdp);
  EXPECT_EQ(Encapsulation::raw(kPeer, kOwn, kType).to(), UdpAddress());
}

TEST(Encapsulation, ChecksumsAreRightForEveryLength) {
  for (const UdpAddress& to : {kPeerUdp, UdpAddress{0xffffffff, 1}, UdpAddress{0x0a000001, 65535}}) {
    const Encapsulation headers = Encapsulation::udp(kPeer, kOwn, to, {0xfffffffe, 2});
    for (std::size_t count = 0; count < 2000; ++count) ASSERT_EQ(sum_of_ip_header(frame_of(headers, count)), 0xffffu) << count;
  }
}

TEST(Encapsulation, WhatWentInComesOut) {
  for (const Encapsulation& headers : {Encapsulation::raw(kPeer, kOwn, kType), Encapsulation::udp(kPeer, kOwn, kPeerUdp, kOwnUdp)}) {
    const std::vector<std::byte> frame = frame_of(headers, 50);
    const Decapsulated found = decapsulate(frame, kType);
    EXPECT_EQ(found.framing, headers.framing());
    EXPECT_EQ(found.packet.data(), frame.data() + headers.bytes());
    EXPECT_EQ(found.packet.size(), 50u);
  }
}

// What a NIC adds to short frames is none of a datagram.
TEST(Encapsulation, ADatagramEndsWhereItSays) {
  std::vector<std::byte> frame = frame_of(Encapsulation::udp(kPeer, kOwn, kPeerUdp, kOwnUdp), 5);
  frame.resize(60);
  EXPECT_EQ(decapsulate(frame, kType).packet.size(), 5u);
}

TEST(Encapsulation, OtherFramesHoldNoPacket) {
  const std::vector<std::byte> right = frame_of(Encapsulation::udp(kPeer, kOwn, kPeerUdp, kOwnUdp), 5);
  struct {
    std::size_t at;
    int value;
  } const wrong[] = {{12, 0x86}, {14, 0x46}, {14, 0x65}, {20, 0x60}, {21, 1}, {23, 6}, {17, 99}, {39, 200}, {39, 7}};
  for (const auto& change : wrong) {
    std::vector<std::byte> frame = right;
    frame[change.at] = static_cast<std::byte>(change.value);
    EXPECT_TRUE(decapsulate(frame, kType).packet.empty()) << change.at;
  }
  for (std::size_t size = 0; size < right.size(); ++size) EXPECT_TRUE(decapsulate(std::span(right).first(size), kType).packet.empty()) << size;
}

TEST(Encapsulation, AddressesAreTexts) {
  UdpAddress address;
  EXPECT_EQ(text_of(kPeerUdp), "192.0.2.7:27185");
  ASSERT_TRUE(parse_udp_address("192.0.2.7:27185", address));
  EXPECT_EQ(address, kPeerUdp);
  for (const char* text : {"", "192.0.2.7", "192.0.2:1", "192.0.2.7:0", "192.0.2.256:1", "192.0.2.7:65536", "192.0.2.7:1x",
                           "192.0.2.7.1:1", "-1.0.2.7:1", "1.2.3.4: 5"}) {
    EXPECT_FALSE(parse_udp_address(text, address)) << text;
    EXPECT_EQ(address, kPeerUdp);
  }
  ASSERT_TRUE(parse_udp_address("-", address));
  EXPECT_EQ(address, UdpAddress());
  EXPECT_EQ(text_of(address), "-");
}

}  // namespace
}  // namespace lapwing::wire::tests
