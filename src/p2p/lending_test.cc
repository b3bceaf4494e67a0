// Receives lent to a carrier that matches where data arrives, through the whole messenger.
#include "p2p/lending.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "p2p/messages_for_tests.h"
#include "p2p/probes.h"

namespace lapwing::p2p {
namespace {

LoopJob::Options with_carrier(unsigned seed = 1, std::uint32_t ranks = 2) {
  LoopJob::Options options;
  options.ranks = ranks;
  options.seed = seed;
  options.way.matches = true;
  return options;
}

// A message of rank 1's and rank 0's receive for it, both started, the receive first.
struct Exchange {
  Bytes data, room;
  ReceiveRequest receive;
  SendRequest send;

  Exchange(LoopJob& job, std::size_t bytes, int tag = 3, SendMode mode = SendMode::kStandard)
      : data(pattern(bytes, 7)),
        room(bytes),
        receive(from(job[0], 1, tag, room)),
        send(to(job[1], 0, tag, data, mode)) {
    job[0].messenger.start(receive);
    job[1].messenger.start(send);
  }
};

TEST(Lending, AMessageLandsInALentReceiveAndIsReceivedWhenItIsCollected) {
  LoopJob job(with_carrier());
  Exchange exchange(job, 100);
  ASSERT_TRUE(job.run_until_done(exchange.receive));
  EXPECT_EQ(job.matched_by_carrier, 1u);
  EXPECT_EQ(exchange.room, exchange.data);
  EXPECT_EQ(exchange.receive.result().source, 1);
  EXPECT_EQ(exchange.receive.result().tag, 3);
  EXPECT_EQ(exchange.receive.result().bytes, 100u);
  EXPECT_EQ(job[0].messenger.counters().messages_received, 1u);
}

TEST(Lending, AMessageTooLongForItsReceiveIsTruncatedInItsTurn) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    LoopJob job(with_carrier(seed));
    const Bytes longer = pattern(100, 1), shorter = pattern(50, 2);
    Bytes first_room(60), second_room(60);
    ReceiveRequest first(from(job[0], 1, 3, first_room)), second(from(job[0], 1, 3, second_room));
    SendRequest a(to(job[1], 0, 3, longer)), b(to(job[1], 0, 3, shorter));
    job[0].messenger.start(first);
    job[0].messenger.start(second);
    job[1].messenger.start(a);
    job[1].messenger.start(b);
    job.run();
    ASSERT_TRUE(first.done() && second.done());
    EXPECT_EQ(first.result().status.error_class(), MPI_ERR_TRUNCATE);
    EXPECT_EQ(second.result().bytes, 50u);
    EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), second_room.begin()));
  }
}

TEST(Lending, RendezvousGoesTheUsualWay) {
  LoopJob job(with_carrier());
  Exchange exchange(job, 100'000);
  job.run();
  ASSERT_TRUE(exchange.receive.done() && exchange.send.done());
  EXPECT_EQ(exchange.room, exchange.data);
  EXPECT_EQ(job.matched_by_carrier, 0u);
}

LoopJob::Options with_answers(unsigned seed = 1) {
  LoopJob::Options options = with_carrier(seed);
  options.carrier_answers = true;
  return options;
}

TEST(Lending, ALongMessageIsAskedForByTheCarrier) {
  for (const SendMode mode : {SendMode::kStandard, SendMode::kSynchronous}) {
    LoopJob job(with_answers());
    Exchange exchange(job, 100'000, 3, mode);
    job.run();
    ASSERT_TRUE(exchange.receive.done() && exchange.send.done());
    EXPECT_EQ(exchange.room, exchange.data);
    EXPECT_EQ(exchange.receive.result().bytes, 100'000u);
    EXPECT_EQ(job.answered_by_carrier, 1u);
    EXPECT_EQ(job.askings_timed, 1u);
    EXPECT_EQ(job[0].messenger.counters().requests_answered, 1u);
  }
}

// What would be truncated, or is for a wildcard, is answered by the messenger.
TEST(Lending, WhatTheCarrierMustNotAskForIsPassedOn) {
  LoopJob job(with_answers());
  const Bytes data = pattern(50'000, 1);
  Bytes short_room(20'000), any_room(50'000);
  ReceiveRequest first(from(job[0], 1, 3, short_room)), any(from(job[0], MPI_ANY_SOURCE, 5, any_room));
  SendRequest a(to(job[1], 0, 3, data)), b(to(job[1], 0, 5, data));
  job[0].messenger.start(first);
  job[0].messenger.start(any);
  job[1].messenger.start(a);
  job[1].messenger.start(b);
  job.run();
  ASSERT_TRUE(first.done() && any.done() && a.done() && b.done());
  EXPECT_EQ(first.result().status.error_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(any_room, data);
  EXPECT_EQ(job.answered_by_carrier, 0u);
}

// Answers that are lost are given again, also where some come in spite of that, and after those that stand for them.
TEST(Lending, AnswersThatAreLostAreGivenAgain) {
  std::uint64_t answered = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    LoopJob job(with_answers(seed));
    std::deque<Exchange> exchanges;
    for (int i = 0; i < 4; ++i) exchanges.emplace_back(job, 30'000, 3 + i % 2, i % 2 == 0 ? SendMode::kSynchronous : SendMode::kStandard);
    for (unsigned steps = job.random() % 40; steps > 0; --steps) job.step();
    job.lose_answers(seed % 2 == 0);
    job.run();
    for (Exchange& exchange : exchanges) {
      ASSERT_TRUE(exchange.send.done() && exchange.receive.done()) << seed;
      EXPECT_EQ(exchange.room, exchange.data);
    }
    EXPECT_TRUE(job.violations.empty());
    answered += job.answered_by_carrier;
  }
  EXPECT_GT(answered, 100u);
}

// A receive has its name while it is lent, and data for one that has not been asked for is refused.
TEST(Lending, DataForAReceiveThatIsOnlyLentIsRefused) {
  LoopJob job(with_answers());
  Bytes room(10'000);
  ReceiveRequest receive(from(job[0], 1, 3, room));
  job[0].messenger.start(receive);
  wire::MessageHeader data;
  data.kind = wire::MessageKind::kData;
  data.receiver_token = std::uint64_t{1} << 32 | 1;
  job.inject(1, 0, data, std::vector<std::byte>(100));
  job.run();
  ASSERT_EQ(job.violations.size(), 1u);
  EXPECT_EQ(job.violations.front(), "its data is for no receive of ours");
}

// Synchronous messages that leave whole, more of them than the carrier is asked for at a time, and one after the other.
TEST(Lending, TheCarrierAcknowledgesMessagesWithATrailer) {
  constexpr int kMessages = 3 * RecentTokens::kMost;
  std::uint64_t answered = 0, not_answered = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    LoopJob job(with_answers(seed));
    std::deque<Exchange> exchanges;
    for (int i = 0; i < kMessages; ++i) exchanges.emplace_back(job, 100, 3 + i % 2, SendMode::kSynchronous);
    job.run();
    for (Exchange& exchange : exchanges) {
      ASSERT_TRUE(exchange.send.done() && exchange.receive.done()) << seed;
      EXPECT_EQ(exchange.room, exchange.data);
    }
    EXPECT_EQ(job[0].messenger.counters().requests_answered, job.answered_by_carrier);
    EXPECT_LE(job.answered_by_carrier, RecentTokens::kMost) << "all are under way at once";
    for (int i = 0; i < kMessages; ++i) {
      Exchange alone(job, 100, 3, SendMode::kSynchronous);
      job.run();
      ASSERT_TRUE(alone.send.done() && alone.receive.done());
    }
    answered += job.answered_by_carrier;
    not_answered += 2 * kMessages - job.answered_by_carrier;
    EXPECT_TRUE(job.violations.empty());
  }
  EXPECT_GT(answered, 20u * kMessages / 2);
  EXPECT_GT(not_answered, 20u * kMessages / 8);
}

TEST(Lending, AcknowledgementsThatAreLostAreGivenAgain) {
  std::uint64_t answered = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    LoopJob job(with_answers(seed));
    std::deque<Exchange> exchanges;
    for (int i = 0; i < 12; ++i) {
      exchanges.emplace_back(job, 100, 3 + i % 2, SendMode::kSynchronous);
      for (unsigned steps = job.random() % 8; steps > 0; --steps) job.step();
    }
    job.lose_answers(seed % 2 == 0);
    job.run();
    for (Exchange& exchange : exchanges) ASSERT_TRUE(exchange.send.done() && exchange.receive.done()) << seed;
    EXPECT_TRUE(job.violations.empty());
    answered += job.answered_by_carrier;
  }
  EXPECT_GT(answered, 200u);
}

// By the carrier, it may be the second one; from a process it may not.
TEST(Lending, AnAcknowledgementOfNothingIsRefusedUnlessItMayBeASecondOne) {
  for (const std::uint8_t flags : {std::uint8_t{0}, wire::kFlagByCarrier, wire::kFlagAgain}) {
    LoopJob job(with_answers());
    wire::MessageHeader ack;
    ack.kind = wire::MessageKind::kAck;
    ack.flags = flags;
    ack.sender_token = 77;
    job.inject(0, 1, ack);
    job.run();
    EXPECT_EQ(job.violations.size(), flags == 0 ? 1u : 0u) << int{flags};
  }
}

TEST(Lending, ASynchronousMessageIsAcknowledged) {
  LoopJob job(with_carrier());
  Exchange exchange(job, 100, 3, SendMode::kSynchronous);
  EXPECT_TRUE(job.run_until_done(exchange.send));
  EXPECT_EQ(job.matched_by_carrier, 1u);
  EXPECT_TRUE(exchange.receive.done());
}

// A cancelled receive is cancelled or has its message, and the next one has it otherwise.
TEST(Lending, ACancelTakesAReceiveBackUnlessItIsClaimed) {
  int cancelled = 0;
  constexpr int kTries = 200;
  for (unsigned seed = 1; seed <= kTries; ++seed) {
    LoopJob job(with_carrier(seed));
    const Bytes data = pattern(100, seed);
    Bytes first_room(100), second_room(100);
    ReceiveRequest first(from(job[0], 1, 3, first_room)), second(from(job[0], 1, 3, second_room));
    SendRequest send(to(job[1], 0, 3, data));
    job[0].messenger.start(first);
    job[0].messenger.start(second);
    job[1].messenger.start(send);
    for (unsigned steps = job.random() % 5; steps > 0; --steps) job.step();
    ASSERT_TRUE(first.cancel().ok());
    job.run();
    ASSERT_TRUE(first.done());
    cancelled += first.result().cancelled;
    EXPECT_EQ(second.done(), first.result().cancelled);
    EXPECT_EQ(first.result().cancelled ? second_room : first_room, data);
    if (!second.done()) job[0].messenger.cancel(second);
  }
  EXPECT_GT(cancelled, 0);
  EXPECT_LT(cancelled, kTries);
}

TEST(Lending, AReceiveBehindAWildcardIsNotLent) {
  LoopJob job(with_carrier());
  const Bytes first_data = pattern(10, 1), second_data = pattern(10, 2);
  Bytes any_room(10), named_room(10);
  ReceiveRequest any(from(job[0], MPI_ANY_SOURCE, MPI_ANY_TAG, any_room)), named(from(job[0], 1, 3, named_room));
  SendRequest a(to(job[1], 0, 3, first_data)), b(to(job[1], 0, 3, second_data));
  job[0].messenger.start(any);
  job[0].messenger.start(named);
  job[1].messenger.start(a);
  job[1].messenger.start(b);
  job.run();
  ASSERT_TRUE(any.done() && named.done());
  EXPECT_EQ(job.matched_by_carrier, 0u);
  EXPECT_EQ(any_room, first_data);
  EXPECT_EQ(named_room, second_data);
}

TEST(Lending, CreditForMessagesThatTheCarrierMatchedComesBack) {
  LoopJob::Options options = with_carrier();
  options.unexpected_limit = 1 << 18;
  LoopJob job(options);
  for (int i = 0; i < 3000; ++i) {
    Exchange exchange(job, 500, i % 5);
    ASSERT_TRUE(job.run_until_done(exchange.receive)) << i;
    ASSERT_TRUE(job.run_until_done(exchange.send)) << i;
  }
  EXPECT_EQ(job.matched_by_carrier, 3000u);
  EXPECT_EQ(job[1].messenger.counters().held_back_sends, 0u);
  EXPECT_TRUE(job.violations.empty());
}

TEST(Lending, ALossEndsReceivesThatAreLentAndLeavesWhatHasLanded) {
  int received = 0, failed = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    LoopJob job(with_carrier(seed));
    const Bytes data = pattern(100, 1);
    Bytes rooms[3] = {Bytes(100), Bytes(100), Bytes(100)};
    std::deque<Receive> receives;
    for (Bytes& room : rooms) job[0].messenger.start(receives.emplace_back(from(job[0], 1, 3, room)));
    SendRequest send(to(job[1], 0, 3, data));
    job[1].messenger.start(send);
    for (unsigned steps = job.random() % 6; steps > 0; --steps) job.step();
    job.lose(1);
    job.run();
    for (Receive& receive : receives) {
      ASSERT_TRUE(receive.done());
      ++(receive.result().status.ok() ? received : failed);
    }
  }
  EXPECT_GT(received, 0);
  EXPECT_GE(failed, 200);
}

TEST(Lending, WhatAPeerMayNotSendEndsItsConnectionThoughTheCarrierTookIt) {
  LoopJob job(with_carrier());
  Bytes room(100);
  ReceiveRequest receive(from(job[0], 1, 3, room));
  job[0].messenger.start(receive);
  wire::MessageHeader header;
  header.kind = wire::MessageKind::kEager;
  header.context = job[0].world->wire_context(comm::Plane::kPointToPoint);
  header.source = 1;
  header.tag = 3;
  header.credit = kMaxUnitsPerFrame;
  for (int i = 0; i < 1 << 18 && job.violations.empty(); ++i) {
    if (receive.done()) job[0].messenger.start(receive);
    job.inject(1, 0, header, std::vector<std::byte>(10));
    job.run();
  }
  ASSERT_EQ(job.violations.size(), 1u);
  EXPECT_FALSE(receive.result().status.ok());
}

// ---- anything, in any order -----------------------------------------------------------------------------------------

constexpr int kTags = 3;

struct Sent {
  int tag;
  Bytes data;
};
struct Posted {
  Bytes room = Bytes(2000);
  int tag = 0;
  std::unique_ptr<Receive> receive;
  int message = -1;  // which it got
};

class AnyOrder {
 public:
  explicit AnyOrder(unsigned seed) : job_(with_carrier(seed)), random_(seed) {}

  void run() {
    for (int i = 0; i < 400; ++i) {
      switch (random_() % 6) {
        case 0:
        case 1:
          send();
          break;
        case 2:
        case 3:
          post(pick_tag());
          break;
        case 4:
          cancel_or_probe();
          break;
        default:
          for (unsigned steps = random_() % 12; steps > 0; --steps) job_.step();
      }
    }
    receive_the_rest();
    check();
  }
  std::uint64_t matched_by_carrier() const { return job_.matched_by_carrier; }

 private:
  int pick_tag() {
    const auto pick = static_cast<int>(random_() % (4 * kTags + 1));
    return pick == 4 * kTags ? MPI_ANY_TAG : pick % kTags;
  }
  // The first bytes of a message are its number.
  void send() {
    constexpr std::size_t kSizes[] = {4, 100, 900, 1500};  // the last by rendezvous
    const auto tag = static_cast<int>(random_() % kTags);
    Sent& message = sent_.emplace_back(Sent{tag, Bytes(kSizes[random_() % 4])});
    for (int byte = 0; byte < 4; ++byte) message.data[byte] = static_cast<std::uint8_t>((sent_.size() - 1) >> (8 * byte));
    const SendMode mode = random_() % 4 == 0 ? SendMode::kSynchronous : SendMode::kStandard;
    job_[1].messenger.start(sends_.emplace_back(to(job_[1], 0, tag, message.data, mode)));
  }
  void post(int tag) {
    Posted& posted = posted_.emplace_back();
    posted.tag = tag;
    const int source = random_() % 5 == 0 ? MPI_ANY_SOURCE : 1;
    if (random_() % 4 == 0) posted.room.resize(60);
    posted.receive = std::make_unique<Receive>(from(job_[0], source, tag, posted.room));
    job_[0].messenger.start(*posted.receive);
  }
  void cancel_or_probe() {
    if (random_() % 2 == 0) {
      Result result;
      const auto tag = static_cast<int>(random_() % kTags);
      if (job_[0].messenger.probe(*job_[0].world, 1, tag, result)) {
        EXPECT_EQ(result.tag, tag);
      }
    } else if (!posted_.empty()) {
      Receive& receive = *posted_[random_() % posted_.size()].receive;
      ASSERT_TRUE(receive.cancel().ok());
    }
  }
  void receive_the_rest() {
    job_.run();
    for (Posted& posted : posted_) ASSERT_TRUE(posted.receive->cancel().ok());
    job_.run();
    for (;;) {
      Result result;
      if (!job_[0].messenger.probe(*job_[0].world, MPI_ANY_SOURCE, MPI_ANY_TAG, result)) break;
      post(MPI_ANY_TAG);
      ASSERT_TRUE(job_.run_until_done(*posted_.back().receive));
    }
    job_.run();
    for (Send& send : sends_) ASSERT_TRUE(send.done());
    EXPECT_TRUE(job_.violations.empty());
    EXPECT_TRUE(job_[0].messenger.quiet() && job_[1].messenger.quiet());
  }

  void check() {
    std::vector<int> receive_of(sent_.size(), -1);
    for (std::size_t r = 0; r < posted_.size(); ++r) {
      Posted& posted = posted_[r];
      ASSERT_TRUE(posted.receive->done());
      if (posted.receive->result().cancelled) continue;
      int number = 0;
      for (int byte = 0; byte < 4; ++byte) number |= posted.room[byte] << (8 * byte);
      ASSERT_LT(static_cast<std::size_t>(number), sent_.size());
      const Sent& message = sent_[number];
      ASSERT_TRUE(posted.tag == MPI_ANY_TAG || posted.tag == message.tag);
      ASSERT_EQ(posted.receive->result().tag, message.tag);
      ASSERT_EQ(posted.receive->result().bytes, std::min(message.data.size(), posted.room.size()));
      ASSERT_EQ(posted.receive->result().status.ok(), message.data.size() <= posted.room.size());
      ASSERT_EQ(receive_of[number], -1) << "received twice";
      receive_of[number] = static_cast<int>(r);
      posted.message = number;
    }
    for (const int r : receive_of) ASSERT_NE(r, -1) << "lost";
    check_order();
  }
  // Of two messages that one receive takes, the earlier had it, or a receive that was posted earlier.
  void check_order() {
    for (std::size_t r = 0; r < posted_.size(); ++r) {
      const Posted& earlier = posted_[r];
      for (std::size_t q = r + 1; q < posted_.size() && earlier.message >= 0; ++q) {
        const int message = posted_[q].message;
        if (message < 0 || message > earlier.message) continue;
        ASSERT_FALSE(earlier.tag == MPI_ANY_TAG || earlier.tag == sent_[message].tag)
            << "message " << earlier.message << " overtook message " << message;
      }
    }
  }

  LoopJob job_;
  std::mt19937 random_;
  std::deque<Sent> sent_;
  std::deque<Send> sends_;
  std::deque<Posted> posted_;
};

TEST(Lending, WhateverHappensNothingIsLostDoubledOrOvertaken) {
  std::uint64_t matched_by_carrier = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    AnyOrder program(seed);
    program.run();
    matched_by_carrier += program.matched_by_carrier();
    if (testing::Test::HasFatalFailure()) FAIL() << "with seed " << seed;
  }
  EXPECT_GT(matched_by_carrier, 200u);
}

}  // namespace
}  // namespace lapwing::p2p
