#include "net/tcp/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lapwing::net::tcp {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;

// When the kernel gives up an idle connection whose host is cut off from `begin` to `end`, counted from the last that was heard; -1:
// never. As tcp_keepalive_timer() of Linux does it.
std::int64_t given_up(const KernelPatience& kernel, std::int64_t begin, std::int64_t end) {
  int unanswered = 0;
  for (std::int64_t at = kernel.idle;; at += kernel.between) {
    if (unanswered >= kernel.probes) return at;
    if (at < begin || at >= end) return -1;
    ++unanswered;
  }
}

TEST(KernelPatience, AnIdleConnectionSurvivesAShorterBreakAndNoLongOne) {
  for (std::int64_t seconds = 1; seconds <= 900; ++seconds) {
    const KernelPatience kernel = kernel_patience(seconds * kSecond);
    ASSERT_GE(kernel.idle, 1);
    ASSERT_GE(kernel.between, 1);
    ASSERT_LE(kernel.probes, 127);
    // A break of `seconds - 1` that begins at any time, also just before the first probe.
    for (std::int64_t begin = 0; begin <= kernel.idle; ++begin)
      ASSERT_EQ(given_up(kernel, begin, begin + seconds - 1), -1) << seconds << " s, from " << begin;
    // A host that is gone for good is told in time, whatever a second is worth then.
    const std::int64_t told = given_up(kernel, 0, INT64_MAX);
    ASSERT_GE(told, seconds);
    ASSERT_LE(told, seconds + std::max<std::int64_t>(seconds / 2, 2)) << seconds;
  }
}

TEST(KernelPatience, FractionsAndExtremesStayWithinWhatTheKernelTakes) {
  for (const std::int64_t patience :
       {std::int64_t{1}, kSecond / 2, 3 * kSecond / 2, 86400 * kSecond, 9'000'000'000 * kSecond}) {
    const KernelPatience kernel = kernel_patience(patience);
    EXPECT_TRUE(kernel.idle >= 1 && kernel.idle <= 32767) << patience;
    EXPECT_TRUE(kernel.between >= 1 && kernel.between <= 32767) << patience;
    EXPECT_TRUE(kernel.probes >= 2 && kernel.probes <= 127) << patience;
    EXPECT_TRUE(kernel.longest_retry >= 1000 && kernel.longest_retry <= 120'000) << patience;
  }
}

// With bounded pauses the kernel gives up after fewer seconds, 15 tries as it comes: not before this library does.
TEST(KernelPatience, TheKernelDoesNotGiveUpABusyConnectionFirst) {
  for (std::int64_t seconds = 1; seconds <= 600; ++seconds) {
    const KernelPatience kernel = kernel_patience(seconds * kSecond);
    std::int64_t pause = 200, tried = 0;  // ms
    for (int retry = 0; retry < 15; ++retry) {
      tried += pause;
      pause = std::min<std::int64_t>(pause * 2, kernel.longest_retry);
    }
    ASSERT_GE(tried + pause, seconds * 1500) << seconds;
  }
}

// A connection on which something is sent at time 0 and inspected `rounds` times per patience, through a break. Times in ms.
struct Busy {
  static constexpr std::int64_t kPatience = 60'000, kStall = 500;
  static constexpr std::int64_t kRoundTrip = 1;
  std::int64_t idle_before = 0;  // since something was heard last
  std::int64_t longest_retry = 12'000;
  std::int64_t break_begin = 0, break_end = 0;
  std::int64_t between = kPatience / 4;  // inspections

  bool survives() const { return found(Silence::Kind::kGone) < 0; }
  // When an inspection first finds this; -1: none does.
  std::int64_t found(Silence::Kind wanted) const {
    Silence silence;
    std::int64_t next_try = 0, pause = 200, tried = 0, answered = -idle_before;
    bool first = true, retried = false;
    for (std::int64_t now = 0; now < 10 * kPatience; ++now) {
      if (now == next_try) {
        tried = now;
        retried = !first;
        first = false;
        if (now < break_begin || now >= break_end) return -1;
        next_try = now + pause;
        pause = std::min(pause * 2, longest_retry);
      }
      if (now % between != 0 || now == 0) continue;
      Socket::Acknowledgement heard;
      heard.bytes_missing = 1;
      heard.unanswered = retried;
      heard.silent_for = (now - answered) * kMillisecond;
      heard.tried_before = (now - tried) * kMillisecond;
      if (silence.judge(now * kMillisecond, heard, kStall * kMillisecond, kPatience * kMillisecond) == wanted) return now;
    }
    return -1;
  }
};

TEST(Silence, AShorterBreakIsSurvivedHoweverLongTheConnectionWasIdle) {
  for (const std::int64_t idle : {0, 10'000, 1'000'000}) {
    for (std::int64_t length = 100; length < Busy::kPatience; length += 100) {
      ASSERT_TRUE((Busy{.idle_before = idle, .break_end = length}.survives())) << idle << ' ' << length;
      if (length % 1000 != 0) continue;
      ASSERT_TRUE((Busy{.idle_before = idle, .break_end = length, .between = 500}.survives())) << idle << ' ' << length;
    }
  }
}

TEST(Silence, AHostThatHasGoneIsToldWithinHalfAsLongAgain) {
  for (const std::int64_t longest_retry : {12'000, 120'000}) {  // the latter: an older kernel
    const Busy busy{.longest_retry = longest_retry, .break_end = INT64_MAX};
    EXPECT_GE(busy.found(Silence::Kind::kGone), Busy::kPatience);
    EXPECT_LE(busy.found(Silence::Kind::kGone), Busy::kPatience * 3 / 2);
  }
}

// However long the connection was idle before: that nothing came then is no silence.
TEST(Silence, AStallIsFoundSoonAndNotInALossThatTheKernelMends) {
  for (const std::int64_t idle : {0, 10'000, 1'000'000}) {
    const std::int64_t found = Busy{.idle_before = idle, .break_end = INT64_MAX, .between = 500}.found(Silence::Kind::kStall);
    EXPECT_GE(found, 700) << idle;
    EXPECT_LE(found, 1500) << idle;
    // Sent again once or twice, and answered.
    for (std::int64_t length = 1; length < 600; ++length)
      EXPECT_EQ((Busy{.idle_before = idle, .break_end = length, .between = 500}.found(Silence::Kind::kStall)), -1) << idle << ' ' << length;
  }
}

// Its host acknowledges each segment that it drops, as it does for good when the time stamp of one of them was damaged.
TEST(Silence, AConnectionThatTakesNothingHasStalledThoughItsHostAnswers) {
  Silence silence;
  for (int resends = 1; resends <= 4; ++resends) {
    Socket::Acknowledgement heard;
    heard.bytes_missing = 1;
    heard.unanswered = true;
    heard.resends = resends;
    heard.silent_for = kMillisecond;
    const Silence::Kind expected = resends < 4 ? Silence::Kind::kNone : Silence::Kind::kStall;
    EXPECT_EQ(silence.judge(resends * kSecond, heard, kSecond / 2, 60 * kSecond), expected) << resends;
  }
}

// Its host acknowledges the probes of a closed window, one of which is just on its way at each inspection.
TEST(Silence, AStoppedProcessIsWaitedForWithoutAnEnd) {
  Silence silence;
  for (std::int64_t now = 0; now < 1000 * kSecond; now += 15 * kSecond) {
    Socket::Acknowledgement heard;
    heard.bytes_missing = 1;
    heard.unanswered = true;
    heard.silent_for = 10 * kSecond;
    ASSERT_NE(silence.judge(now, heard, kSecond / 2, 60 * kSecond), Silence::Kind::kGone);
  }
}

}  // namespace
}  // namespace lapwing::net::tcp
