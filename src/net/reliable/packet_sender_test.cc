#include "net/reliable/packet_sender.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace lapwing::net::reliable {
namespace {

using Slot = PacketSender::Slot;

constexpr std::int64_t kMillisecond = 1'000'000;

class PacketSenderTest : public testing::Test {
 protected:
  void send(std::int64_t now) {
    PacketSender::Turn turn{};
    ASSERT_TRUE(sender_.next(now, turn));
    sender_.sent(turn.number, now);
  }
  const char* acknowledge(std::uint32_t before, std::uint32_t heard, std::uint64_t map, std::int64_t now) {
    const std::array words{map};
    return sender_.acknowledge(before, heard, words, now, freed_);
  }

  PacketSender sender_;
  std::vector<Slot> freed_;
};

// All that was to be asked about has come: there is no packet left to ask with.
TEST_F(PacketSenderTest, AQuestionEndsWithWhatItIsAbout) {
  sender_.allow(8);
  for (Slot slot = 0; slot < 2; ++slot) sender_.add(slot);
  send(0);
  send(kMillisecond);
  EXPECT_EQ(acknowledge(0, 2, 1, 2 * kMillisecond), nullptr);  // the second has come, and the first has not
  EXPECT_EQ(acknowledge(1, 2, 0, 3 * kMillisecond), nullptr);
  sender_.ask_now(4 * kMillisecond);
  EXPECT_EQ(acknowledge(2, 2, 0, 5 * kMillisecond), nullptr);
  PacketSender::Turn turn{};
  EXPECT_TRUE(sender_.empty());
  EXPECT_FALSE(sender_.next(6 * kMillisecond, turn));
  EXPECT_EQ(freed_.size(), 2u);
}

// Its answer is in the batch that was begun before it was sent.
TEST_F(PacketSenderTest, AnAnswerThatIsOlderThanItsPacketTellsNoTime) {
  sender_.allow(8);
  sender_.add(0);
  send(2 * kMillisecond);
  const std::int64_t before = sender_.round_trip().shortest();
  EXPECT_EQ(acknowledge(1, 1, 0, kMillisecond), nullptr);
  EXPECT_EQ(sender_.round_trip().shortest(), before);
}

}  // namespace
}  // namespace lapwing::net::reliable
