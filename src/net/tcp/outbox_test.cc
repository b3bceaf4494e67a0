// The outbox over a socket that keeps the packets of its system calls apart.
#include "net/tcp/outbox.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <vector>

#include "net/scattered_walk_for_tests.h"
#include "net/tcp/socket.h"

namespace lapwing::net::tcp {
namespace {

struct Op : SendOp {
  explicit Op(std::size_t bytes, bool trailed = false) : payload(bytes, std::byte{7}) {
    header.describe(wire::Protocol::kMessages, bytes);
    data = payload.data();
    trailer = trailed;
    on_taken = [](SendOp&, const Status&) noexcept {};
  }
  std::vector<std::byte> payload;
};

class OutboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    ours_ = Socket(ends[0]);
    theirs_ = Socket(ends[1]);
  }
  void begin(std::uint64_t peer_expects, bool keeps) { ASSERT_TRUE(queue_.begin(peer_expects, keeps).ok()); }
  void flush() { ASSERT_EQ(outbox_.flush(ours_.fd(), calls_), Outbox::Result::kDrained); }
  // Their lengths.
  std::vector<ssize_t> packets() {
    std::vector<ssize_t> lengths;
    std::vector<std::byte> bytes(1 << 17);
    for (ssize_t length; (length = ::recv(theirs_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0;) lengths.push_back(length);
    return lengths;
  }

  Socket ours_, theirs_;
  engine::SystemCalls calls_;
  Channel channel_;
  SpareMemory memory_{1 << 20};
  SendQueue queue_{channel_, memory_};
  Outbox outbox_{queue_};
};

TEST_F(OutboxTest, ATrailerLeavesByItself) {
  Op first(100), trailed(1000, true), empty(0, true), last(50);
  begin(0, false);
  for (Op* op : {&first, &trailed, &empty, &last}) queue_.push(*op);
  flush();
  EXPECT_EQ(packets(), (std::vector<ssize_t>{64 + 100 + 64 + 1000, 64, 64, 64, 64 + 50}));
}

TEST_F(OutboxTest, AScatteredPayloadMayHaveOne) {
  begin(0, false);
  for (const bool copied : {false, true}) {
    ScatteredWalk walk(make_bytes(3000, 1), copied);
    Op trailed(0, true), last(50);
    trailed.header.describe(wire::Protocol::kMessages, 3000);
    trailed.walk = &walk;
    queue_.push(trailed);
    queue_.push(last);
    flush();
    EXPECT_EQ(packets(), (std::vector<ssize_t>{64 + 3000, 64, 64 + 50})) << copied;
  }
}

// A connection that takes the place of one that broke is sent it again, with the same flag.
TEST_F(OutboxTest, WhatIsSentAgainHasItsTrailerAgain) {
  Op trailed(1000, true);
  begin(0, true);
  queue_.push(trailed);
  flush();
  const std::vector<ssize_t> once{64 + 1000, 64};
  EXPECT_EQ(packets(), once);
  channel_.down();
  begin(0, true);
  flush();
  EXPECT_EQ(packets(), once);
}

}  // namespace
}  // namespace lapwing::net::tcp
