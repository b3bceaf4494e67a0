// What every transport must do with messages, run over each of them: order, sizes, walks, half-received frames, truncation,
// bursts, pulls.
#include <algorithm>
#include <deque>

#include "net/conformance_for_tests.h"

namespace lapwing::net {
namespace {

TEST_P(Conformance, SaysWhomItReachesAndHow) {
  EXPECT_STREQ(sender().transport->name(), GetParam().kind.name);
  EXPECT_TRUE(sender().transport->reaches(receiver_rank()));
  EXPECT_FALSE(sender().transport->reaches({2}));
  const Capabilities capabilities = sender().capabilities(receiver_rank());
  EXPECT_GT(capabilities.eager_limit, 0u);
  EXPECT_LE(capabilities.eager_limit, wire::kMaxPayloadBytes);
  EXPECT_GT(capabilities.data_chunk, 0u);
  EXPECT_LE(capabilities.data_chunk, wire::kMaxPayloadBytes);
  EXPECT_TRUE(sender().transport->flushed());
}

TEST_P(Conformance, EveryWordOfAProtocolsHeaderArrives) {
  TestOp op;
  for (std::size_t i = 0; i < wire::FrameHeader::kOwnWords; ++i) op.header.set_own(i, 0xfedcba9876543210 + i);
  op.carry(make_bytes(100, 3));
  post(op);
  pump_until_received(1);
  const wire::FrameHeader& header = receiver().sink.received[0].header;
  EXPECT_EQ(receiver().sink.received[0].from, sender().config.self);
  EXPECT_TRUE(header.is(wire::Protocol::kMessages));
  EXPECT_EQ(header.payload_bytes(), 100u);
  for (std::size_t i = 0; i < wire::FrameHeader::kOwnWords; ++i) EXPECT_EQ(header.own(i), 0xfedcba9876543210 + i);
}

// And nothing of it is sent twice, or taken for lost.
TEST_P(Conformance, WhatIsSentBeforeThePeerKnowsThisRankArrives) {
  if (!GetParam().needs_segment()) GTEST_SKIP() << "only ranks that look for each other's endpoints may be early";
  engine::EngineOptions options;
  options.event_thread = false;
  options.spin_budget = 0;
  TestOp op;
  op.carry(make_bytes(100, 3));
  open(options, &op);
  pump_until_received(1);
  EXPECT_EQ(receiver().sink.received[0].bytes, op.bytes);
  EXPECT_FALSE(receiver().transport->loses_packets(sender().config.self));
  EXPECT_EQ(receiver().transport->packets_resent(sender().config.self), 0u);
}

TEST_P(Conformance, EverySizeArrivesWhole) {
  for (const std::uint64_t size :
       {0u,    1u,     7u,     8u,     63u,    64u,    65u,    127u,   128u,     1000u,    4032u,
        4096u, 16319u, 16320u, 16384u, 65471u, 65472u, 65473u, 65536u, 200'000u, 1u << 20, (3u << 20) + 13}) {
    TestOp op;
    op.carry(make_bytes(size, size));
    post(op);
    pump([&] { return receiver().sink.received.size() == 1 && op.completions == 1; });
    EXPECT_FALSE(op.failed) << op.why;
    EXPECT_EQ(receiver().sink.received[0].bytes, op.bytes) << size;
    receiver().sink.received.clear();
    pump([&] {
      sender().transport->ask_for_flush();
      return sender().transport->flushed();
    });
  }
}

TEST_P(Conformance, OrderIsKept) {
  constexpr int kMessages = 2000;
  std::deque<TestOp> ops(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    set_tag(ops[i], i);
    ops[i].carry(make_bytes(i % 11 == 0 ? 30'000 : i % 200, i));
    post(ops[i]);
    if (i % 64 == 0) receiver().turn();
  }
  pump_until_received(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_EQ(tag_of(receiver().sink.received[i].header), i);
    ASSERT_EQ(receiver().sink.received[i].bytes, ops[i].bytes);
  }
}

// Its memory is the sender's again at once, and it stands in its place among the frames that are posted.
TEST_P(Conformance, WhatIsSentAtOnceIsACopyInItsPlace) {
  get_acquainted();
  constexpr int kMessages = 500;
  std::deque<TestOp> ops(kMessages);
  Bytes reused(sender().capabilities(receiver_rank()).at_once);
  int at_once = 0;
  for (int i = 0; i < kMessages; ++i) {
    const std::size_t bytes = i % 11 == 0 ? reused.size() : i % 200;
    set_tag(ops[i], i);
    ops[i].carry(make_bytes(bytes, i));
    std::copy_n(ops[i].data, bytes, reused.data());
    if (i % 3 != 0 && sender().send_now(receiver_rank(), ops[i].header, reused.data()))
      ++at_once;
    else
      post(ops[i]);
    std::fill(reused.begin(), reused.end(), std::byte{0xff});
    if (i % 64 == 0) receiver().turn();
  }
  EXPECT_GT(at_once, 0);
  pump_until_received(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_EQ(tag_of(receiver().sink.received[i].header), i);
    ASSERT_EQ(receiver().sink.received[i].bytes, ops[i].bytes);
  }
}

TEST_P(Conformance, WalksAreGatheredAndScattered) {
  for (const std::uint64_t size : {0u, 1u, 500u, 70'000u, 1'000'000u}) {
    for (const bool prefers_copy : {false, true}) {
      const Bytes content = make_bytes(size, size + 1);
      ScatteredWalk source(content, prefers_copy), target(size, prefers_copy);
      receiver().sink.choose = [&](PeerId, const wire::FrameHeader& header) {
        Landing landing;
        landing.walk = &target;
        landing.accepted = header.payload_bytes();
        return landing;
      };
      TestOp op;
      op.carry(source);
      post(op);
      pump([&] { return !receiver().sink.received.empty() && op.completions == 1; });
      EXPECT_EQ(source.remaining(), 0u);
      EXPECT_EQ(target.remaining(), 0u);
      EXPECT_EQ(target.content(), content) << size;
      receiver().sink.received.clear();
    }
  }
}

TEST_P(Conformance, AWalkMeetsABuffer) {
  const Bytes content = make_bytes(123'457, 9);
  ScatteredWalk source(content, false), target(content.size(), false);
  TestOp from_walk, to_walk;
  from_walk.carry(source);
  post(from_walk);
  pump_until_received(1);
  EXPECT_EQ(receiver().sink.received[0].bytes, content);
  receiver().sink.choose = [&](PeerId, const wire::FrameHeader& header) {
    Landing landing;
    landing.walk = &target;
    landing.accepted = header.payload_bytes();
    return landing;
  };
  to_walk.carry(content);
  post(to_walk);
  pump_until_received(2);
  EXPECT_EQ(target.content(), content);
}

TEST_P(Conformance, WhatALandingDoesNotAcceptIsDropped) {
  for (const std::uint64_t size : {100u, 100'000u}) {
    for (const std::uint64_t accepted : {std::uint64_t{0}, std::uint64_t{10}, size - 1}) {
      for (const bool into_walk : {false, true}) {
        const Bytes content = make_bytes(size, 5);
        Bytes buffer(accepted + 1, std::byte{0xaa});
        ScatteredWalk walk(accepted, false), source(content, false);
        receiver().sink.choose = [&](PeerId, const wire::FrameHeader&) {
          Landing landing;
          if (into_walk) landing.walk = &walk;
          if (!into_walk) landing.base = buffer.data();
          landing.accepted = accepted;
          return landing;
        };
        TestOp truncated, next;
        if (into_walk) truncated.carry(source);
        if (!into_walk) truncated.carry(content);
        post(truncated);
        pump_until_received(1);
        const Bytes kept(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(accepted));
        if (into_walk) {
          EXPECT_EQ(walk.content(), kept);
        } else {
          EXPECT_EQ(Bytes(buffer.begin(), buffer.end() - 1), kept);
          EXPECT_EQ(buffer.back(), std::byte{0xaa});
        }
        receiver().sink.choose = nullptr;
        next.carry(make_bytes(77, 6));
        post(next);
        pump_until_received(2);
        EXPECT_EQ(receiver().sink.received[1].bytes, next.bytes);
        receiver().sink.received.clear();
      }
    }
  }
}

TEST_P(Conformance, AFrameWithoutLandingIsDropped) {
  receiver().sink.choose = [](PeerId, const wire::FrameHeader&) { return Landing(); };
  ScatteredWalk source(make_bytes(50'000, 2), false);
  TestOp dropped, dropped_walk, next;
  dropped.carry(make_bytes(300'000, 1));
  dropped_walk.carry(source);
  post(dropped);
  post(dropped_walk);
  pump_until_received(2);
  receiver().sink.choose = nullptr;
  next.carry(make_bytes(77, 6));
  post(next);
  pump_until_received(3);
  EXPECT_EQ(receiver().sink.received[2].bytes, next.bytes);
}

TEST_P(Conformance, ABurstIsKeptUntilTheReceiverLooks) {
  constexpr int kMessages = 10'000;
  std::deque<TestOp> ops(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    set_tag(ops[i], i);
    ops[i].carry(make_bytes(100, i));
    post(ops[i]);
  }
  pump_until_received(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_EQ(ops[i].completions, 1);
    ASSERT_FALSE(ops[i].failed);
    ASSERT_EQ(receiver().sink.received[i].bytes, ops[i].bytes);
  }
  pump([&] {
    sender().transport->ask_for_flush();
    return sender().transport->flushed();
  });
}

TEST_P(Conformance, AFrameThatIsTakenMayBePostedAgainWithoutEnd) {
  constexpr int kMessages = 20'000;
  TestOp op;
  int posted = 1;
  op.carry(make_bytes(16, 1));
  op.then = [&](TestOp& done) {
    for (; posted != kMessages; ++done.completions) {
      set_tag(done, posted++);
      if (!sender().transport->post(receiver_rank(), done)) return;
    }
  };
  post(op);
  pump_until_received(kMessages);
  for (int i = 0; i < kMessages; ++i) ASSERT_EQ(tag_of(receiver().sink.received[i].header), i);
  EXPECT_EQ(op.completions, kMessages);
}

TEST_P(Conformance, AFrameArrivesInParts) {
  if (GetParam().loops_back()) GTEST_SKIP() << "self delivers whole frames";
  get_acquainted();
  TestOp op;
  op.carry(make_bytes(48 << 20, 4));  // more than any kernel buffer or ring
  post(op);
  for (int i = 0; i < 1000 || receiver().sink.headers == 0; ++i) receiver().turn();
  EXPECT_EQ(receiver().sink.headers, 1);
  EXPECT_TRUE(receiver().sink.received.empty());
  EXPECT_FALSE(sender().transport->flushed());
  EXPECT_EQ(op.completions, 0);
  pump([&] { return !receiver().sink.received.empty() && op.completions == 1; });
  EXPECT_TRUE(receiver().sink.received[0].bytes == op.bytes);
  EXPECT_EQ(receiver().sink.headers, 1);
}

// A peer is met from the beginning, or each side's sink hears when it is.
TEST_P(Conformance, SinksHearOfPeersThatAreMetLater) {
  if (GetParam().loops_back()) GTEST_SKIP() << "no other rank";
  if (sender().transport->is_met(receiver_rank())) GTEST_SKIP() << "met from the beginning";
  get_acquainted();
  pump([&] { return sender().sink.met > 0 && receiver().sink.met > 0; });
  EXPECT_TRUE(sender().transport->is_met(receiver_rank()));
  EXPECT_TRUE(receiver().transport->is_met(sender().config.self));
}

// It may be the word that the peer is given up.
TEST_P(Conformance, AShortFrameLeavesBeforeItsPeerIsGivenUp) {
  if (GetParam().loops_back()) GTEST_SKIP() << "no other rank";
  get_acquainted();
  TestOp op;
  op.carry(make_bytes(64, 3));
  post(op);
  {
    const engine::Visit visit(sender().engine);
    sender().transport->give_up(receiver_rank(), Status::error(MPI_ERR_PROC_ABORTED, "given up"));
  }
  pump([&] { return receiver().sink.received.size() == 1; });
  EXPECT_TRUE(receiver().sink.received[0].bytes == op.bytes);
  EXPECT_EQ(sender().sink.lost, 1);
}

TEST_P(Conformance, APullCopiesOnce) {
  for (const bool scattered : {false, true}) {
    const Bytes content = make_bytes(777'777, 8);
    ScatteredWalk target(content.size(), true);
    Bytes contiguous(content.size());
    TestPull op;
    op.address = reinterpret_cast<std::uintptr_t>(content.data());
    op.bytes = content.size();
    op.data = scattered ? nullptr : contiguous.data();
    op.walk = scattered ? &target : nullptr;
    if (!pull(op)) GTEST_SKIP() << "cannot pull here";
    EXPECT_TRUE((scattered ? target.content() : contiguous) == content);
    EXPECT_LE(op.ends, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, Conformance, testing::ValuesIn(all_cases()), name_of_case);

}  // namespace
}  // namespace lapwing::net
