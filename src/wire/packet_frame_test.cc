#include "wire/packet_frame.h"

#include <gtest/gtest.h>

#include <vector>

namespace lapwing::wire {
namespace {

constexpr std::uint64_t kTag = 0x1122334455667788;
constexpr std::uint32_t kSource = 3;

std::vector<std::byte> packet_of(PacketKind kind, std::uint16_t bytes) {
  PacketHeader header;
  header.kind = kind;
  header.to = {1, kSource, kTag};
  header.bytes = bytes;
  std::vector<std::byte> packet(kPacketHeaderBytes + bytes);
  encode(header, packet.data());
  return packet;
}

std::string verdict(const std::vector<std::byte>& packet, std::uint64_t tag = kTag, std::uint32_t source = kSource) {
  PacketHeader header;
  const Status status = decode_framed(packet.data(), packet.size(), tag, source, header);
  return status.ok() ? "" : status.text();
}

TEST(PacketFrame, BytesOfItsHeader) {
  const FrameHeader header = packet_frame(1500);
  EXPECT_EQ(header.word(0), 1500 | std::uint64_t{2} << 32);
  for (std::size_t word = 1; word < FrameHeader::kWords; ++word) EXPECT_EQ(header.word(word), 0u);
  EXPECT_TRUE(is_sound(header));
  EXPECT_EQ(wrong_packet_frame(header), nullptr);
}

TEST(PacketFrame, HeadersThatBreakARule) {
  for (std::size_t bytes : {std::size_t{0}, kPacketHeaderBytes - 1, kMostFramedPacket + 1}) EXPECT_NE(wrong_packet_frame(packet_frame(bytes)), nullptr) << bytes;
  for (std::size_t bytes : {kPacketHeaderBytes, kMostFramedPacket}) EXPECT_EQ(wrong_packet_frame(packet_frame(bytes)), nullptr) << bytes;
  for (std::size_t word = 0; word < FrameHeader::kOwnWords; ++word) {
    FrameHeader header = packet_frame(100);
    header.set_own(word, 1);
    EXPECT_NE(wrong_packet_frame(header), nullptr) << word;
  }
}

TEST(PacketFrame, OnlyKindsThatTakeADetour) {
  EXPECT_EQ(verdict(packet_of(PacketKind::kAcknowledge, 8)), "");
  EXPECT_EQ(verdict(packet_of(PacketKind::kGoodbye, 0)), "");
  EXPECT_EQ(verdict(packet_of(PacketKind::kData, kPieceBytes + kHeaderBytes)), "");
  for (const PacketKind kind : {PacketKind::kProbe, PacketKind::kPresent, PacketKind::kGone}) EXPECT_NE(verdict(packet_of(kind, kWayBackBytes)), "");
}

TEST(PacketFrame, ExactlyOnePacketOfThisPair) {
  std::vector<std::byte> packet = packet_of(PacketKind::kAcknowledge, 16);
  EXPECT_NE(verdict(packet, kTag + 1), "");
  EXPECT_NE(verdict(packet, kTag, kSource + 1), "");
  const std::vector<std::byte> shorter(packet.begin(), packet.end() - 1);
  EXPECT_NE(verdict(shorter), "");
  packet.push_back(std::byte{0});
  EXPECT_NE(verdict(packet), "");
}

}  // namespace
}  // namespace lapwing::wire
