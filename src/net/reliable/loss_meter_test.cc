#include "net/reliable/loss_meter.h"

#include <gtest/gtest.h>

#include "net/reliable/packet_receiver.h"

namespace lapwing::net::reliable {
namespace {

TEST(LossMeter, RemembersALossForAWhile) {
  LossMeter meter;
  for (int i = 0; i < 1000; ++i) meter.arrived();
  EXPECT_FALSE(meter.lossy());
  meter.lost(1);
  EXPECT_TRUE(meter.lossy());
  int packets = 0;
  for (; meter.lossy(); ++packets) meter.arrived();
  EXPECT_GT(packets, 4500);
  EXPECT_LT(packets, 5500);
}

TEST(LossMeter, OneLossInAHundredIsNeverForgotten) {
  LossMeter meter;
  for (int i = 0; i < 100000; ++i) {
    if (i % 100 == 0)
      meter.lost(1);
    else
      meter.arrived();
    ASSERT_TRUE(meter.lossy());
  }
}

TEST(LossMeter, AReceiverCountsTransmissionsThatDoNotCome) {
  PacketReceiver sound, lossy, reordering;
  for (std::uint32_t number = 0; number < 60; ++number) {
    sound.arrive(number, number + 1, false);
    if (number != 30) lossy.arrive(number, number + 1, false);
    reordering.arrive(number ^ 1u, (number ^ 1u) + 1, false);
  }
  sound.arrive(59, 60, false);  // doubled by the network
  EXPECT_FALSE(sound.loss().lossy());
  EXPECT_TRUE(lossy.loss().lossy());
  EXPECT_FALSE(reordering.loss().lossy());
}

// What is sent again because its acknowledgement is late, and comes twice, is not lost.
TEST(LossMeter, WhatWasSentTwiceAndComesTwiceIsNotLost) {
  PacketReceiver receiver;
  receiver.arrive(0, 1, false);
  receiver.arrive(0, 2, false);
  receiver.arrive(1, 3, false);
  EXPECT_FALSE(receiver.loss().lossy());
}

}  // namespace
}  // namespace lapwing::net::reliable
