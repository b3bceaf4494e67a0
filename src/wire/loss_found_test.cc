#include "wire/loss_found.h"

#include <gtest/gtest.h>

#include "wire/hang_report.h"

namespace lapwing::wire {
namespace {

TEST(LossFound, ComesBackAsItWas) {
  LossFound found;
  ASSERT_TRUE(LossFound::decode(LossFound{7, "rank 1 lost its connection to rank 7 (10.0.0.7:1): 100 % = gone"}.encode(), found).ok());
  EXPECT_EQ(found.rank, 7);
  EXPECT_EQ(found.why, "rank 1 lost its connection to rank 7 (10.0.0.7:1): 100 % = gone");
}

TEST(LossFound, IsCutOffAndHarmlessToATerminal) {
  LossFound found;
  ASSERT_TRUE(LossFound::decode(LossFound{0, "\x1b[2J\n\xff" + std::string(2 * LossFound::kMaxText, ' ')}.encode(), found).ok());
  EXPECT_EQ(found.why, "?[2J??" + std::string(LossFound::kMaxText - 6, ' '));
}

TEST(LossFound, IsToldFromTheAnswerToAQuestion) {
  LossFound found;
  HangReport report;
  EXPECT_FALSE(LossFound::decode(HangReport().encode(), found).ok());
  EXPECT_FALSE(HangReport::decode(LossFound{1, "gone"}.encode(), report).ok());
}

TEST(LossFound, WhatBreaksTheFormIsNotTaken) {
  LossFound found{5, "as it was"};
  for (const char* packet : {"", "\n", "cmd=lost rank=1 why=gone", "cmd=lost rank=-1 why=gone\n", "cmd=lost rank=x why=gone\n", "cmd=lost why=gone\n",
                             "cmd=lost rank=99999999999 why=gone\n", "cmd=lost rank=1\n", "cmd=found rank=1 why=gone\n",
                             "cmd=lost rank=1 why=gone\ncmd=lost rank=2 why=gone\n"})
    EXPECT_FALSE(LossFound::decode(packet, found).ok()) << packet;
  EXPECT_FALSE(LossFound::decode("cmd=lost rank=1 why=" + std::string(LossFound::kMaxText + 1, 'x') + "\n", found).ok());
  EXPECT_EQ(found.rank, 5);
  EXPECT_EQ(found.why, "as it was");
}

}  // namespace
}  // namespace lapwing::wire
