// Frames over a network that loses, doubles and reorders: every byte once, in order, and in the time that the link allows.
#include "net/reliable/packet_link.h"

#include <gtest/gtest.h>

#include "net/reliable/simulated_network_for_tests.h"

namespace lapwing::net::reliable {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 8, 200, 287, 288, 289, 352, 353, 700, 5000, 40'000};

TEST(PacketLink, CarriesFramesOfEverySizeBothWays) {
  SimulatedPair pair(LinkKind{});
  for (const std::size_t size : kSizes) {
    pair.post(0, size);
    pair.post(1, size);
  }
  pair.run();
  pair.expect_all_arrived();
  EXPECT_EQ(pair.ranks[0]->link.sender().counters().sent_again, 0u);
}

TEST(PacketLink, CutsFromWalksIntoWalks) {
  SimulatedPair pair(LinkKind{.loss = 0.1, .doubling = 0.05, .reordering = 0.1}, 3);
  pair.ranks[1]->sink.in_walks = true;
  ScatteredWalk walk(make_bytes(90'000, 5), true);
  SimulatedOp op(0, 0);
  op.header.describe(wire::Protocol::kMessages, 90'000);
  op.walk = &walk;
  EXPECT_FALSE(pair.ranks[0]->link.post(op, pair.network.now()));
  pair.run();
  EXPECT_EQ(op.taken, 1);
  ASSERT_EQ(pair.ranks[1]->sink.frames.size(), 1u);
  EXPECT_EQ(pair.ranks[1]->sink.frames[0], make_bytes(90'000, 5));
}

struct Weather {
  LinkKind kind;
  std::uint64_t seeds;
};

TEST(PacketLink, NothingIsLostHoweverBadTheNetwork) {
  const Weather weathers[] = {{{.loss = 0.001}, 4},
                              {{.loss = 0.01}, 4},
                              {{.loss = 0.05}, 4},
                              {{.loss = 0.3, .doubling = 0.3, .reordering = 0.3}, 6},
                              {{.doubling = 0.5}, 2},
                              {{.reordering = 0.5}, 2},
                              {{.loss = 0.02, .queue = 10}, 4}};
  for (const Weather& weather : weathers) {
    for (std::uint64_t seed = 1; seed <= weather.seeds; ++seed) {
      SimulatedPair pair(weather.kind, seed);
      for (int round = 0; round < 6; ++round) {
        for (const std::size_t size : kSizes) {
          pair.post(0, size);
          if (round % 2 == 0) pair.post(1, size / 2);
        }
      }
      pair.run();
      pair.expect_all_arrived();
      for (const auto& rank : pair.ranks) EXPECT_EQ(rank->carrier.free_slots(), 4096u) << "a packet is kept though it has come";
      if (HasFatalFailure()) return;
    }
  }
}

// All that can become of the first packets, of both directions and acknowledgements included: lost, doubled, overtaken by two, or nothing.
TEST(PacketLink, EveryFateOfTheFirstPacketsEndsWell) {
  constexpr int kPackets = 6, kFates = 4;
  constexpr Fate kOf[kFates] = {{1, 0}, {0, 0}, {2, 0}, {1, 30'000}};
  int combinations = 1;
  for (int i = 0; i < kPackets; ++i) combinations *= kFates;
  for (int combination = 0; combination < combinations; ++combination) {
    SimulatedPair pair(LinkKind{});
    pair.network.decide = [&](std::uint64_t count) {
      int rest = combination;
      for (std::uint64_t i = 0; i < count; ++i) rest /= kFates;
      return count < kPackets ? kOf[rest % kFates] : Fate{};
    };
    pair.post(0, 500);
    pair.post(1, 10);
    pair.post(0, 0);
    pair.run();
    pair.expect_all_arrived();
    ASSERT_FALSE(HasFatalFailure()) << "combination " << combination;
  }
}

double goodput(const LinkKind& kind, std::uint64_t seed, std::size_t bytes) {
  SimulatedPair pair(kind, seed);
  const std::int64_t began = pair.network.now();
  pair.post(0, bytes);
  while (pair.ranks[1]->sink.frames.empty() && pair.step()) {
  }
  EXPECT_EQ(pair.ranks[1]->sink.frames.size(), 1u);
  const double packets = static_cast<double>(bytes) / (SimulatedCarrier::kMostBytes - wire::piece_overhead(1));
  return packets * static_cast<double>(kind.per_packet) / static_cast<double>(pair.network.now() - began);
}

TEST(PacketLink, WhatAnotherWayKeepsSendingAgainCountsUntilManyPacketsHaveCome) {
  SimulatedPair pair(LinkKind{});
  PacketLink& link = pair.ranks[0]->link;
  constexpr std::uint64_t kMessage = 100'000;
  link.heed_resent(0, kMessage);
  link.heed_resent(2, kMessage);
  EXPECT_FALSE(link.lossy()) << "once";
  for (int i = 0; i < 10; ++i) link.heed_resent(2, kMessage);
  EXPECT_FALSE(link.lossy());
  link.heed_resent(3, kMessage);
  EXPECT_TRUE(link.lossy()) << "within a megabyte";
  for (int i = 0; i < 200; ++i) pair.post(0, kMessage);
  pair.run();
  EXPECT_FALSE(link.lossy()) << "remembered for some thousand packets";
  for (int i = 0; i < 100; ++i) link.heed_resent(3, kMessage);
  link.heed_resent(4, kMessage);
  EXPECT_FALSE(link.lossy()) << "once in ten megabytes";
  link.heed_resent(1, kMessage);
  EXPECT_TRUE(link.lossy()) << "by another connection";
}

// Two ways, each with its own losses, and a sender that goes from one to the other at any moment: the network carries nothing from then on, until
// it goes back. Each side does so when it likes. Nothing is lost, doubled or reordered.
TEST(PacketLink, AnotherWayLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulatedPair pair(LinkKind{.loss = 0.02, .doubling = 0.02, .reordering = 0.05}, seed);
    SimulatedNetwork detour(LinkKind{.way = 300'000}, seed);
    pair.detour = &detour;
    std::mt19937_64 random(seed);
    bool cut = false;
    pair.network.decide = [&](std::uint64_t) { return cut ? Fate{0, 0} : Fate{random() % 50 == 0 ? 0 : 1, static_cast<std::int64_t>(random() % 5 * 10'000)}; };
    for (int turn = 0; turn < 6; ++turn) {
      for (const std::size_t size : {100, 5000, 60000}) {
        pair.post(0, size);
        pair.post(1, size);
      }
      for (int steps = static_cast<int>(random() % 200); steps > 0; --steps) pair.step();
      cut = turn % 2 == 0;
      for (int steps = static_cast<int>(random() % 100); steps > 0; --steps) pair.step();
      for (const int rank : {static_cast<int>(random() % 2), 0, 1}) {
        pair.divert(rank, cut);
        for (int steps = static_cast<int>(random() % 50); steps > 0; --steps) pair.step();
      }
    }
    cut = false;
    pair.run();
    pair.expect_all_arrived();
    EXPECT_GT(detour.sent(), 10u);
  }
}

TEST(PacketLink, AnotherWayIsTakenAtOnce) {
  SimulatedPair pair(LinkKind{});
  SimulatedNetwork detour(LinkKind{});
  pair.detour = &detour;
  pair.network.decide = [](std::uint64_t) { return Fate{0, 0}; };
  for (int i = 0; i < 10; ++i) pair.post(0, 100);
  while (pair.ranks[0]->link.sender().silent_timeouts() < 8) ASSERT_TRUE(pair.step());
  const std::int64_t turned = pair.network.now();
  for (const int rank : {0, 1}) pair.divert(rank, true);
  pair.run();
  pair.expect_all_arrived();
  EXPECT_LT(pair.network.now() - turned, 100'000'000) << "and not after a time-out that has grown";
}

// A share of the link's rate; the clock is the simulation's, so this is no measurement.
TEST(PacketLink, FillsTheLink) {
  EXPECT_GT(goodput({}, 1, 4 << 20), 0.97);
  EXPECT_GT(goodput({.loss = 0.01}, 2, 4 << 20), 0.9);
  EXPECT_GT(goodput({.way = 1'000'000}, 3, 4 << 20), 0.9);
  EXPECT_GT(goodput({.queue = 40}, 4, 4 << 20), 0.9);
}

TEST(PacketLink, ATailThatIsLostIsSentAgainSoon) {
  SimulatedPair pair(LinkKind{});
  pair.network.decide = [](std::uint64_t count) { return Fate{count == 0 ? 0 : 1, 0}; };
  const std::int64_t began = pair.network.now();
  pair.post(0, 8);
  while (pair.ranks[1]->sink.frames.empty() && pair.step()) {
  }
  EXPECT_LT(pair.network.now() - began, 7'000'000) << "of the first packet there is, when no round trip is known yet";
  pair.run();
  pair.network.decide = nullptr;
  for (int i = 0; i < 20; ++i) {
    pair.post(0, 8);
    pair.run();
  }
  const std::uint64_t sent = pair.network.sent();
  pair.network.decide = [sent](std::uint64_t count) { return Fate{count == sent ? 0 : 1, 0}; };
  const std::int64_t again = pair.network.now();
  pair.post(0, 8);
  while (pair.ranks[1]->sink.frames.size() < 22 && pair.step()) {
  }
  EXPECT_LT(pair.network.now() - again, 3'500'000);
}

TEST(PacketLink, APeerThatSaysNothingIsAskedEverMoreRarely) {
  SimulatedPair pair(LinkKind{});
  pair.network.decide = [](std::uint64_t) { return Fate{0, 0}; };
  pair.post(0, 100);
  const std::int64_t began = pair.network.now();
  while (pair.network.now() - began < 10'000'000'000) ASSERT_TRUE(pair.step());
  EXPECT_GT(pair.network.sent(), 20u);
  EXPECT_LT(pair.network.sent(), 60u);
  EXPECT_GT(pair.ranks[0]->link.sender().silent_timeouts(), 10u);
}

// It has nothing of its own under way by which to notice.
TEST(PacketLink, AReceiverNoticesThatItsAcknowledgementsAreLost) {
  SimulatedPair pair(LinkKind{});
  SimulatedNetwork nowhere(LinkKind{});
  nowhere.decide = [](std::uint64_t) { return Fate{0, 0}; };
  const PacketLink& taker = pair.ranks[1]->link;
  pair.post(0, 5000);
  pair.run();
  EXPECT_FALSE(taker.unheard());
  pair.ranks[1]->carrier.divert(&nowhere);
  pair.post(0, 100);
  for (int steps = 0; !taker.unheard(); ++steps) {
    ASSERT_LT(steps, 1000);
    ASSERT_TRUE(pair.step());
  }
  EXPECT_FALSE(pair.ranks[0]->link.flushed());
  pair.ranks[1]->carrier.divert(nullptr);
  pair.run();
  pair.post(0, 100);
  pair.run();
  EXPECT_FALSE(taker.unheard()) << "what is new has come";
  pair.expect_all_arrived();
}

TEST(PacketLink, AReplyCarriesTheAcknowledgement) {
  SimulatedPair pair(LinkKind{});
  for (int round = 0; round < 50; ++round) {
    const int sender = round % 2;
    pair.post(sender, 8);
    const std::size_t expected = static_cast<std::size_t>(round / 2 + 1);
    while (pair.ranks[static_cast<std::size_t>(1 - sender)]->sink.frames.size() < expected && pair.step()) {
    }
  }
  EXPECT_EQ(pair.network.sent(), 50u) << "no packet but those of the frames";
}

TEST(PacketLink, FewSlotsAreEnough) {
  SimulatedPair pair(LinkKind{.loss = 0.05}, 7, 3);
  for (const std::size_t size : kSizes) pair.post(0, size);
  pair.run();
  pair.expect_all_arrived();
}

TEST(PacketLink, WhatEndsItEndsEveryFrameOnce) {
  SimulatedPair pair(LinkKind{});
  SimulatedOp& big = pair.post(0, 1 << 20);
  SimulatedOp& behind = pair.post(0, 10);
  for (int i = 0; i < 50; ++i) pair.step();
  pair.ranks[0]->link.end(PacketLink::State::kLost, Status::error(MPI_ERR_OTHER, "the test says so"), false);
  EXPECT_EQ(big.taken, 1);
  EXPECT_TRUE(big.failed && behind.failed);
  EXPECT_EQ(pair.ranks[0]->sink.lost, 1);
  EXPECT_EQ(pair.ranks[0]->carrier.free_slots(), 4096u);
  EXPECT_EQ(pair.ranks[0]->link.deadline(pair.network.now()), PacketLink::kNever);
  EXPECT_TRUE(pair.ranks[1]->link.incomplete());
}

TEST(PacketLink, APeerThatBreaksTheRulesIsTold) {
  SimulatedNetwork network{LinkKind{}};
  SimulatedRank rank(network, 0);
  std::byte packet[SimulatedCarrier::kMostBytes] = {};
  wire::PacketHeader header;
  header.kind = wire::PacketKind::kAcknowledge;
  header.acknowledged = 1;
  EXPECT_STREQ(rank.link.take(header, packet, network.now()), "it acknowledges packets that were not sent");
  header.acknowledged = 0;
  header.heard = 5;
  EXPECT_STREQ(rank.link.take(header, packet, network.now()), "it acknowledges packets that were not sent");
  header.heard = 0;
  header.kind = wire::PacketKind::kData;
  header.number = 64;
  header.bytes = wire::kPieceBytes + wire::kHeaderBytes;
  EXPECT_STREQ(rank.link.take(header, packet, network.now()), "it sends more packets than it has credit for");
  header.number = 0;
  EXPECT_STREQ(rank.link.take(header, packet, network.now()), "a frame of no protocol that there is, or too long");
}

}  // namespace
}  // namespace lapwing::net::reliable
