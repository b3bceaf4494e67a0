// Whole messages between messengers over the loop network: order, modes, truncation, layouts, cancel, probes, pull, loss.
#include "p2p/messenger.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <numeric>
#include <vector>

#include "datatype/construct.h"
#include "p2p/loop_network_for_tests.h"
#include "p2p/messenger_state.h"

namespace lapwing::p2p {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(seed * 31 + i * 7 + (i >> 8));
  return data;
}

SendArguments to(LoopJob::Rank& rank, int destination, int tag, const Bytes& data,
                 SendMode mode = SendMode::kStandard) {
  SendArguments arguments;
  arguments.buffer = data.data();
  arguments.count = data.size();
  arguments.type = datatype::resolve(MPI_BYTE);
  arguments.destination = destination;
  arguments.tag = tag;
  arguments.communicator = rank.world;
  arguments.mode = mode;
  return arguments;
}

ReceiveArguments from(LoopJob::Rank& rank, int source, int tag, Bytes& data) {
  ReceiveArguments arguments;
  arguments.buffer = data.data();
  arguments.count = data.size();
  arguments.type = datatype::resolve(MPI_BYTE);
  arguments.source = source;
  arguments.tag = tag;
  arguments.communicator = rank.world;
  return arguments;
}

// ---- one message of every size, both orders of arrival, over every kind of way ----------------------------------------

struct Case {
  bool pull;
  bool posted_first;
  SendMode mode;
  unsigned seed;
};

class OneMessage : public testing::TestWithParam<Case> {};

TEST_P(OneMessage, ArrivesWhole) {
  const Case& parameter = GetParam();
  LoopJob::Options options;
  options.seed = parameter.seed;
  options.way.pull = parameter.pull;
  LoopJob job(options);
  for (const std::size_t size : {0u, 1u, 63u, 1024u, 1025u, 5000u, 8192u, 8193u, 300000u}) {
    for (int receiver = 0; receiver < 2; ++receiver) {  // to another rank and to oneself
      const Bytes data = pattern(size, 3);
      Bytes room(size + 16, 0xee);
      SendRequest send(to(job[0], receiver, 9, data, parameter.mode));
      ReceiveRequest receive(from(job[static_cast<std::size_t>(receiver)], 0, 9, room));
      Messenger& there = job[static_cast<std::size_t>(receiver)].messenger;
      if (parameter.posted_first) there.start(receive);
      job[0].messenger.start(send);
      job.run();
      if (parameter.mode == SendMode::kSynchronous) {
        EXPECT_EQ(send.done(), parameter.posted_first) << size;
      }
      if (!parameter.posted_first) there.start(receive);
      job.run();
      ASSERT_TRUE(send.done() && receive.done()) << size;
      EXPECT_TRUE(send.result().status.ok());
      EXPECT_TRUE(receive.result().status.ok());
      EXPECT_EQ(receive.result().bytes, size);
      EXPECT_EQ(receive.result().source, 0);
      EXPECT_EQ(receive.result().tag, 9);
      EXPECT_TRUE(std::equal(data.begin(), data.end(), room.begin())) << size;
      EXPECT_TRUE(std::all_of(room.begin() + static_cast<long>(size), room.end(), [](auto b) { return b == 0xee; }));
      EXPECT_TRUE(job[0].messenger.quiet());
      EXPECT_EQ(there.counters().unexpected_bytes_now, 0u);
    }
  }
  EXPECT_TRUE(job.violations.empty());
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  unsigned seed = 1;
  for (const bool pull : {false, true}) {
    for (const bool posted_first : {false, true}) {
      for (const SendMode mode : {SendMode::kStandard, SendMode::kSynchronous, SendMode::kReady}) {
        for (int repeat = 0; repeat < 4; ++repeat) cases.push_back({pull, posted_first, mode, seed++});
      }
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Ways, OneMessage, testing::ValuesIn(all_cases()));

TEST(Messenger, PullThatFailsFallsBackToData) {
  for (int pieces = 0; pieces < 4; ++pieces) {
    LoopJob::Options options;
    options.way = {1024, 64 * 1024, true};
    LoopJob job(options);
    job.pulls_until_failure = pieces;
    const Bytes data = pattern(400000, 5);
    Bytes room(data.size());
    SendRequest send(to(job[0], 1, 1, data));
    ReceiveRequest receive(from(job[1], 0, 1, room));
    job[1].messenger.start(receive);
    job[0].messenger.start(send);
    job.run();
    ASSERT_TRUE(send.done() && receive.done());
    EXPECT_EQ(room, data);
    EXPECT_TRUE(job.violations.empty());
  }
}

TEST(Messenger, ARequestCanBeStartedAgain) {
  LoopJob job({});
  Bytes data = pattern(9000, 1), room(9000);
  SendRequest send(to(job[0], 1, 1, data));
  ReceiveRequest receive(from(job[1], MPI_ANY_SOURCE, MPI_ANY_TAG, room));
  for (unsigned round = 0; round < 5; ++round) {
    data = pattern(9000, round);
    send.set_arguments(to(job[0], 1, 1, data));
    job[0].messenger.start(send);
    job[1].messenger.start(receive);
    job.run();
    ASSERT_TRUE(send.done() && receive.done());
    EXPECT_EQ(room, data);
    EXPECT_EQ(receive.result().source, 0);
  }
}

TEST(Messenger, NobodyIsAnsweredAtOnce) {
  LoopJob job({});
  Bytes data(4);
  SendRequest send(to(job[0], MPI_PROC_NULL, 1, data));
  ReceiveRequest receive(from(job[0], MPI_PROC_NULL, 1, data));
  job[0].messenger.start(send);
  job[0].messenger.start(receive);
  EXPECT_TRUE(send.done() && receive.done());
  EXPECT_EQ(receive.result().source, MPI_PROC_NULL);
  EXPECT_EQ(receive.result().tag, MPI_ANY_TAG);
  EXPECT_EQ(receive.result().bytes, 0u);
}

TEST(Messenger, ScatteredDataOfEverySize) {
  datatype::Datatype* vector = nullptr;
  ASSERT_TRUE(datatype::make_vector(20000, 3, 5, *datatype::resolve(MPI_BYTE), &vector).ok());
  vector->commit();
  for (unsigned seed = 1; seed <= 6; ++seed) {
    LoopJob::Options options;
    options.seed = seed;
    options.way = {4096, 5000, seed % 2 == 0};
    LoopJob job(options);
    const Bytes data = pattern(100000, seed);
    Bytes room(100000, 0);
    SendArguments send_arguments = to(job[0], 1, 1, data);
    send_arguments.count = 1;
    send_arguments.type = vector;
    ReceiveArguments receive_arguments = from(job[1], 0, 1, room);
    receive_arguments.count = 1;
    receive_arguments.type = vector;
    SendRequest send(send_arguments);
    ReceiveRequest receive(receive_arguments);
    if (seed > 3) job[1].messenger.start(receive);
    job[0].messenger.start(send);
    if (seed <= 3) job.run();
    if (seed <= 3) job[1].messenger.start(receive);
    job.run();
    ASSERT_TRUE(send.done() && receive.done());
    EXPECT_EQ(receive.result().bytes, 60000u);
    for (std::size_t i = 0; i < 100000 - 2; ++i) ASSERT_EQ(room[i], i % 5 < 3 ? data[i] : 0) << i;
  }
  datatype::free(vector);
}

TEST(Messenger, TooLongAMessageIsCutAndReported) {
  for (const bool pull : {false, true}) {
    for (const bool posted_first : {false, true}) {
      for (const std::size_t size : {100u, 1024u, 5000u, 50000u}) {
        for (const std::size_t space : {0u, 1u, 60u, 20000u}) {
          if (space >= size) continue;
          LoopJob::Options options;
          options.seed = static_cast<unsigned>(size + space);
          options.way.pull = pull;
          LoopJob job(options);
          const Bytes data = pattern(size, 2), next = pattern(77, 8);
          Bytes room(space + 8, 0xee), next_room(77);
          SendRequest send(to(job[0], 1, 1, data, SendMode::kSynchronous)), second(to(job[0], 1, 1, next));
          ReceiveArguments arguments = from(job[1], 0, 1, room);
          arguments.count = space;
          ReceiveRequest receive(arguments), after(from(job[1], 0, 1, next_room));
          if (posted_first) job[1].messenger.start(receive);
          job[0].messenger.start(send);
          job[0].messenger.start(second);
          job.run();
          if (!posted_first) job[1].messenger.start(receive);
          job[1].messenger.start(after);
          job.run();
          ASSERT_TRUE(send.done() && receive.done() && second.done() && after.done());
          EXPECT_TRUE(send.result().status.ok());
          EXPECT_EQ(receive.result().status.error_class(), MPI_ERR_TRUNCATE);
          EXPECT_NE(std::string(receive.result().status.text()).find(std::to_string(size)), std::string::npos);
          EXPECT_TRUE(std::equal(room.begin(), room.begin() + static_cast<long>(space), data.begin()));
          EXPECT_TRUE(
              std::all_of(room.begin() + static_cast<long>(space), room.end(), [](auto b) { return b == 0xee; }));
          EXPECT_EQ(next_room, next);
          EXPECT_TRUE(job.violations.empty());
        }
      }
    }
  }
}

// ---- order ------------------------------------------------------------------------------------------------------------

// Everything at random: sizes around all limits, receives with and without wildcards posted before or after. Each receive
// must get the oldest message from its sender that matches and no earlier receive took; message contents carry a number.
TEST(Messenger, KeepsOrderUnderRandomTraffic) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    LoopJob::Options options;
    options.ranks = 3;
    options.seed = seed;
    options.way = {600, 4096, seed % 3 == 0};
    options.unexpected_limit = seed % 2 == 0 ? 1 << 16 : 16 << 20;
    LoopJob job(options);
    constexpr int kMessages = 300;
    std::deque<Bytes> buffers;
    std::deque<SendRequest> sends;
    std::deque<ReceiveRequest> receives;
    int next[3] = {0, 0, 0};
    int sent = 0, posted = 0;
    while (sent < 2 * kMessages || posted < 2 * kMessages) {
      switch (job.random() % 3) {
        case 0:
          if (sent < 2 * kMessages) {
            const std::uint32_t sender = 1 + static_cast<std::uint32_t>(sent++ % 2);
            const std::size_t sizes[] = {4, 64, 500, 700, 3000, 9000, 30000};
            Bytes& data = buffers.emplace_back(pattern(sizes[job.random() % 7], seed));
            std::memcpy(data.data(), &next[sender], 4);
            ++next[sender];
            sends.emplace_back(
                to(job[sender], 0, 5, data, job.random() % 3 ? SendMode::kStandard : SendMode::kSynchronous));
            job[sender].messenger.start(sends.back());
          }
          break;
        case 1:
          if (posted < 2 * kMessages) {
            ++posted;
            Bytes& room = buffers.emplace_back(30000);
            receives.emplace_back(from(job[0], MPI_ANY_SOURCE, job.random() % 2 ? 5 : MPI_ANY_TAG, room));
            job[0].messenger.start(receives.back());
          }
          break;
        default:
          for (int steps = 0; steps < 20 && job.step(); ++steps) {
          }
      }
    }
    job.run();
    int expected[3] = {0, 0, 0};
    for (ReceiveRequest& receive : receives) {
      ASSERT_TRUE(receive.done()) << seed << "\n" << job[0].messenger.describe();
      ASSERT_TRUE(receive.result().status.ok());
      int number;
      std::memcpy(&number, receive.arguments().buffer, 4);
      const int source = receive.result().source;
      ASSERT_EQ(number, expected[source]++) << seed;
    }
    for (SendRequest& send : sends) ASSERT_TRUE(send.done());
    EXPECT_TRUE(job.violations.empty());
    EXPECT_EQ(job[0].messenger.counters().unexpected_bytes_now, 0u);
  }
}

TEST(Messenger, TheOldestPostedReceiveWinsWhateverItsWildcards) {
  LoopJob job({});
  Bytes room[4];
  std::deque<ReceiveRequest> receives;
  const int sources[] = {MPI_ANY_SOURCE, 0, MPI_ANY_SOURCE, 0};
  const int tags[] = {MPI_ANY_TAG, MPI_ANY_TAG, 7, 7};
  const int order[] = {2, 0, 3, 1};
  for (const int shape : order) {
    room[shape].resize(4);
    receives.emplace_back(from(job[1], sources[shape], tags[shape], room[shape]));
    job[1].messenger.start(receives.back());
  }
  Bytes data = pattern(4, 1);
  for (std::size_t i = 0; i < 4; ++i) {
    SendRequest send(to(job[0], 1, 7, data));
    job[0].messenger.start(send);
    job.run();
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(receives[j].done(), j <= i);
  }
}

// ---- credit -----------------------------------------------------------------------------------------------------------

TEST(Messenger, AFloodStaysWithinTheLimitAndLosesNothing) {
  for (const std::uint64_t limit : {std::uint64_t{1} << 18, std::uint64_t{1} << 20}) {
    LoopJob::Options options;
    options.ranks = 3;
    options.unexpected_limit = limit;
    LoopJob job(options);
    constexpr int kMessages = 3000;
    std::deque<Bytes> buffers;
    std::deque<SendRequest> sends;
    for (int i = 0; i < kMessages; ++i) {
      for (const std::uint32_t sender : {1u, 2u}) {
        Bytes& data = buffers.emplace_back(pattern(200 + static_cast<std::size_t>(i) % 700, static_cast<unsigned>(i)));
        sends.emplace_back(to(job[sender], 0, 1, data));
        job[sender].messenger.start(sends.back());
      }
      while (job.random() % 4 != 0 && job.step()) {
      }
    }
    job.run();
    EXPECT_LE(job[0].messenger.counters().unexpected_bytes_peak, limit);
    EXPECT_GT(job[1].messenger.counters().held_back_sends, 0u);
    for (int i = 0; i < kMessages; ++i) {
      for (const int sender : {1, 2}) {
        Bytes room(1000);
        ReceiveRequest receive(from(job[0], sender, 1, room));
        job[0].messenger.start(receive);
        ASSERT_TRUE(job.run_until_done(receive)) << i << "\n" << job[1].messenger.describe();
        const Bytes expected = pattern(200 + static_cast<std::size_t>(i) % 700, static_cast<unsigned>(i));
        ASSERT_EQ(receive.result().bytes, expected.size());
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), room.begin()));
      }
    }
    job.run();
    for (SendRequest& send : sends) ASSERT_TRUE(send.done());
    EXPECT_LE(job[0].messenger.counters().unexpected_bytes_peak, limit);
    EXPECT_TRUE(job.violations.empty());
    EXPECT_TRUE(job[1].messenger.quiet());
  }
}

TEST(Messenger, AReceiveBehindAFullWindowIsServedAllTheSame) {
  LoopJob::Options options;
  options.unexpected_limit = 1 << 16;
  LoopJob job(options);
  const Bytes data = pattern(100, 1), last = pattern(100, 2);
  std::deque<SendRequest> sends;
  for (int i = 0; i < 2000; ++i) {
    sends.emplace_back(to(job[0], 1, 1, data));
    job[0].messenger.start(sends.back());
  }
  SendRequest wanted(to(job[0], 1, 2, last));
  job[0].messenger.start(wanted);
  job.run();
  Bytes room(100);
  ReceiveRequest receive(from(job[1], MPI_ANY_SOURCE, 2, room));
  job[1].messenger.start(receive);
  job.run();
  ASSERT_TRUE(receive.done()) << job[0].messenger.describe();
  EXPECT_EQ(room, last);
  for (int i = 0; i < 2000; ++i) {
    ReceiveRequest other(from(job[1], 0, 1, room));
    job[1].messenger.start(other);
    ASSERT_TRUE(job.run_until_done(other));
  }
  job.run();
  EXPECT_TRUE(job[0].messenger.quiet());
  EXPECT_EQ(job[1].messenger.counters().unexpected_bytes_now, 0u);
}

TEST(Messenger, AFloodOfTheUserDoesNotHoldUpTheLibrary) {
  LoopJob::Options options;
  options.unexpected_limit = 1 << 16;
  LoopJob job(options);
  const Bytes data = pattern(100, 1);
  std::deque<SendRequest> sends;
  for (int i = 0; i < 1000; ++i) {
    sends.emplace_back(to(job[0], 1, 1, data));
    job[0].messenger.start(sends.back());
  }
  job.run();
  const std::uint64_t peak = job[1].messenger.counters().unexpected_bytes_peak;
  SendArguments arguments = to(job[0], 1, 0, data);
  arguments.plane = comm::Plane::kCollective;
  SendRequest barrier(arguments);
  job[0].messenger.start(barrier);
  Bytes room(100);
  ReceiveArguments wanted = from(job[1], 0, 0, room);
  wanted.plane = comm::Plane::kCollective;
  ReceiveRequest receive(wanted);
  job[1].messenger.start(receive);
  job.run();
  EXPECT_TRUE(receive.done() && barrier.done());
  EXPECT_LE(job[1].messenger.counters().unexpected_bytes_peak, peak + 1024);
  for (SendRequest& send : sends) job[0].messenger.cancel(send);
  job.run();
  for (int i = 0; i < 1000; ++i) {
    ReceiveRequest other(from(job[1], 0, 1, room));
    job[1].messenger.start(other);
    job.run();
    if (!other.done()) job[1].messenger.cancel(other);
  }
  for (SendRequest& send : sends) EXPECT_TRUE(send.done());
}

// ---- cancel, probe ------------------------------------------------------------------------------------------------------

TEST(Messenger, CancelledReceiveTakesNoMessage) {
  LoopJob job({});
  Bytes data = pattern(10, 1), room(10, 0), other(10, 0);
  ReceiveRequest first(from(job[1], 0, 1, room)), second(from(job[1], 0, 1, other));
  job[1].messenger.start(first);
  job[1].messenger.start(second);
  job[1].messenger.cancel(first);
  EXPECT_TRUE(first.done() && first.result().cancelled);
  SendRequest send(to(job[0], 1, 1, data));
  job[0].messenger.start(send);
  job.run();
  EXPECT_TRUE(second.done());
  EXPECT_EQ(other, data);
  job[1].messenger.cancel(second);
  EXPECT_FALSE(second.result().cancelled);
}

TEST(Messenger, ASendIsTakenBackOrArrives) {
  int taken = 0, arrived = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    LoopJob::Options options;
    options.seed = seed;
    LoopJob job(options);
    const Bytes data = pattern(seed % 2 ? 5000 : 50, 1);
    Bytes room(5000);
    SendRequest send(to(job[0], 1, 1, data, SendMode::kSynchronous));
    ReceiveRequest receive(from(job[1], 0, 1, room));
    job[0].messenger.start(send);
    for (unsigned i = 0; i < seed / 6; ++i) job.step();
    job[0].messenger.cancel(send);
    for (unsigned i = 0; i < seed % 7; ++i) job.step();
    job[1].messenger.start(receive);
    job.run();
    ASSERT_TRUE(send.done());
    EXPECT_EQ(receive.done(), !send.result().cancelled);
    ++(send.result().cancelled ? taken : arrived);
    job[1].messenger.cancel(receive);
    EXPECT_TRUE(job.violations.empty());
    EXPECT_EQ(job[1].messenger.counters().unexpected_bytes_now, 0u);
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(arrived, 0);
}

TEST(Messenger, ProbeSeesAndMatchedProbeTakes) {
  for (const std::size_t size : {10u, 20000u}) {
    LoopJob job({});
    const Bytes data = pattern(size, 1), second = pattern(size, 2);
    SendRequest send(to(job[0], 1, 4, data)), other(to(job[0], 1, 4, second));
    engine::Waiter waiter(1);
    Messenger::ProbeWatch watch(*job[1].world, MPI_ANY_SOURCE, 4, waiter);
    Result result;
    EXPECT_FALSE(job[1].messenger.probe(*job[1].world, MPI_ANY_SOURCE, 4, result));
    job[1].messenger.watch(watch);
    job[0].messenger.start(send);
    job[0].messenger.start(other);
    EXPECT_FALSE(waiter.ready());
    job.run();
    EXPECT_TRUE(waiter.ready());
    job[1].messenger.unwatch(watch);
    EXPECT_FALSE(job[1].messenger.probe(*job[1].world, 0, 5, result));
    ASSERT_TRUE(job[1].messenger.probe(*job[1].world, MPI_ANY_SOURCE, MPI_ANY_TAG, result));
    EXPECT_EQ(result.source, 0);
    EXPECT_EQ(result.tag, 4);
    EXPECT_EQ(result.bytes, size);
    Message* message = job[1].messenger.matched_probe(*job[1].world, 0, 4, result);
    ASSERT_NE(message, nullptr);
    Bytes room(size), second_room(size);
    ReceiveRequest receive(from(job[1], 0, 4, second_room)), matched(from(job[1], MPI_ANY_SOURCE, MPI_ANY_TAG, room));
    job[1].messenger.start(receive);
    job.run();
    EXPECT_EQ(second_room, second);
    job[1].messenger.start_matched(matched, message);
    job.run();
    ASSERT_TRUE(matched.done() && send.done());
    EXPECT_EQ(room, data);
    EXPECT_EQ(matched.result().source, 0);
    EXPECT_EQ(matched.result().tag, 4);
  }
}

// ---- loss and lies --------------------------------------------------------------------------------------------------

TEST(Messenger, LossOfAPeerEndsWhatNeedsIt) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    LoopJob::Options options;
    options.ranks = 3;
    options.seed = seed;
    options.unexpected_limit = 1 << 16;
    options.way.pull = seed % 2 == 0;
    LoopJob job(options);
    std::deque<Bytes> buffers;
    std::deque<SendRequest> sends, theirs;
    std::deque<ReceiveRequest> receives;
    for (int i = 0; i < 60; ++i) {
      const std::size_t size = i % 3 == 0 ? 20000 : 400;
      sends.emplace_back(
          to(job[0], 1, i, buffers.emplace_back(size), i % 2 ? SendMode::kStandard : SendMode::kSynchronous));
      job[0].messenger.start(sends.back());
      theirs.emplace_back(to(job[1], 0, i % 50, buffers.emplace_back(size)));
      job[1].messenger.start(theirs.back());
      receives.emplace_back(from(job[0], 1, i, buffers.emplace_back(size)));
      if (i % 4 != 0) job[0].messenger.start(receives.back());
      for (unsigned steps = 0; steps < seed % 9 && job.step(); ++steps) {
      }
    }
    Bytes room(400);
    ReceiveRequest anyone(from(job[0], MPI_ANY_SOURCE, 777, room));
    job[0].messenger.start(anyone);
    for (unsigned steps = 0; steps < seed && job.step(); ++steps) {
    }
    job.lose(1);
    job.run();
    for (auto& send : sends) ASSERT_TRUE(send.done()) << seed;
    for (auto& receive : receives) {
      ASSERT_TRUE(receive.done()) << seed;
    }
    EXPECT_FALSE(anyone.done());
    SendRequest late(to(job[0], 1, 1, room));
    job[0].messenger.start(late);
    ASSERT_TRUE(late.done());
    EXPECT_NE(std::string(late.result().status.text()).find("rank 1"), std::string::npos);
    ReceiveRequest later(from(job[0], 1, 4711, room));
    job[0].messenger.start(later);
    ASSERT_TRUE(later.done());
    EXPECT_FALSE(later.result().status.ok());
    SendRequest other(to(job[2], 0, 777, room));
    job[2].messenger.start(other);
    job.run();
    EXPECT_TRUE(anyone.done() && anyone.result().status.ok());
    EXPECT_TRUE(job[0].messenger.quiet());
  }
}

TEST(Messenger, HostileFramesCloseTheConnection) {
  using wire::FrameKind;
  const auto frame = [](FrameKind kind) {
    wire::FrameHeader header;
    header.kind = kind;
    header.context = comm::ContextIds::kWorld;
    return header;
  };
  std::vector<std::pair<wire::FrameHeader, std::size_t>> lies;
  for (const FrameKind kind :
       {FrameKind::kClear, FrameKind::kMatched, FrameKind::kRefused, FrameKind::kRetracted, FrameKind::kData}) {
    for (const std::uint64_t token :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32 | 1, ~std::uint64_t{0}}) {
      wire::FrameHeader header = frame(kind);
      header.sender_token = header.receiver_token = token;
      header.message_bytes = 10;
      lies.emplace_back(header, kind == FrameKind::kData ? 10 : 0);
    }
  }
  wire::FrameHeader negative = frame(FrameKind::kEager);
  negative.tag = -5;
  lies.emplace_back(negative, 0);
  wire::FrameHeader nameless = frame(FrameKind::kRequest);
  nameless.message_bytes = 100;
  lies.emplace_back(nameless, 0);
  wire::FrameHeader pullable = frame(FrameKind::kRequest);
  pullable.sender_token = 5;
  pullable.message_bytes = 100;
  pullable.flags = wire::kFlagPullable;
  lies.emplace_back(pullable, 12);
  wire::FrameHeader huge = frame(FrameKind::kEager);  // more than the first credit
  huge.message_bytes = 100000;
  lies.emplace_back(huge, 100000);
  wire::FrameHeader other = frame(FrameKind::kEager);
  other.source = 0;  // rank 1 says that it is rank 0, to a receive from anyone
  lies.emplace_back(other, 0);

  for (const auto& [header, payload] : lies) {
    LoopJob job({});
    Bytes room(20000), answer(20000);
    ReceiveRequest posted(from(job[0], MPI_ANY_SOURCE, MPI_ANY_TAG, room)), named(from(job[0], 1, 3, room));
    SendRequest eager(to(job[0], 1, 2, answer));
    job[0].messenger.start(posted);
    job[0].messenger.start(named);
    job.inject(1, 0, header, std::vector<std::byte>(payload));
    job.run();
    EXPECT_EQ(job.violations.size(), 1u) << "kind " << static_cast<int>(header.kind);
    EXPECT_TRUE(named.done());
    EXPECT_FALSE(named.result().status.ok());
    EXPECT_FALSE(posted.done());
    job[0].messenger.cancel(posted);
  }
}

// A peer that answers what was asked, but wrongly.
TEST(Messenger, WrongAnswersCloseTheConnection) {
  using wire::FrameKind;
  for (int lie = 0; lie < 4; ++lie) {
    LoopJob job({});
    const Bytes data = pattern(20000, 1), small(10);
    SendRequest rendezvous(to(job[0], 1, 2, data)), eager(to(job[0], 1, 2, small, SendMode::kSynchronous));
    job[0].messenger.start(rendezvous);
    job[0].messenger.start(eager);
    job.run();
    const std::uint64_t generation = std::uint64_t{1} << 32;
    wire::FrameHeader header;
    header.kind = lie == 3 ? FrameKind::kRetracted : FrameKind::kClear;
    header.receiver_token = 1;
    header.sender_token = generation | (lie == 2 ? 2 : 1);
    header.message_bytes = lie == 0 ? 20001 : lie == 1 ? 0 : 10;
    job.inject(1, 0, header);
    job.run();
    EXPECT_EQ(job.violations.size(), 1u) << lie;
    EXPECT_TRUE(rendezvous.done() && eager.done());
    EXPECT_FALSE(rendezvous.result().status.ok());
  }
}

}  // namespace
}  // namespace lapwing::p2p
