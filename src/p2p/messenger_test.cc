// Whole messages between messengers over the loop network: sizes, modes, truncation, layouts, order.
#include "p2p/messenger.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <numeric>
#include <vector>

#include "datatype/construct.h"
#include "p2p/messages_for_tests.h"

namespace lapwing::p2p {
namespace {

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
  options.pull = parameter.pull;
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
    options.way = {1024, 64 * 1024};
    options.pull = true;
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

void exchange(LoopJob& job, std::size_t bytes, bool posted_first) {
  const Bytes data = pattern(bytes, 5);
  Bytes room(bytes);
  SendRequest send(to(job[0], 1, 1, data));
  ReceiveRequest receive(from(job[1], 0, 1, room));
  if (posted_first) job[1].messenger.start(receive);
  job[0].messenger.start(send);
  job.run();
  if (!posted_first) job[1].messenger.start(receive);
  job.run();
  ASSERT_TRUE(send.done() && receive.done());
  EXPECT_EQ(room, data);
  EXPECT_TRUE(job.violations.empty());
}

TEST(Messenger, AMessageThatCouldGoWholeIsPulledWhereTheTransportSaysSo) {
  LoopJob::Options options;
  options.way = {4096, 4096};
  options.way.pulls_above = 1024;
  options.pull = true;
  LoopJob job(options);
  job.pulls_until_failure = 10;
  exchange(job, 1024, true);
  EXPECT_EQ(job.pulls_until_failure, 10);
  exchange(job, 1025, true);
  exchange(job, 4096, false);
  EXPECT_EQ(job.pulls_until_failure, 8);
  EXPECT_TRUE(job.timed.empty());
}

TEST(Messenger, LongMessagesGoInLongerFrames) {
  LoopJob::Options options;
  options.way = {.eager_limit = 1024, .data_chunk = 4096, .long_chunk = 16384};
  LoopJob job(options);
  const auto frames_of = [&](std::size_t bytes) {
    const std::uint64_t before = job.frames_posted;
    exchange(job, bytes, true);
    return job.frames_posted - before;
  };
  // RTS, which has the first bytes, and CTS; then the rest.
  EXPECT_EQ(frames_of(16384), 2u + 2);
  EXPECT_EQ(frames_of(16385), 2u + 1);
  EXPECT_EQ(frames_of(100'000), 2u + 6);
}

TEST(Messenger, AShortMessageMayWaitForItsReceive) {
  LoopJob job({});
  const Bytes data = pattern(100, 5);
  Bytes room(100);
  SendArguments arguments = to(job[0], 1, 1, data);
  arguments.rendezvous = true;
  SendRequest send(arguments);
  job[0].messenger.start(send);
  job.run();
  EXPECT_FALSE(send.done());
  ReceiveRequest receive(from(job[1], 0, 1, room));
  job[1].messenger.start(receive);
  job.run();
  ASSERT_TRUE(send.done() && receive.done());
  EXPECT_EQ(room, data);
  EXPECT_TRUE(job.violations.empty());
}

// Whether a message has left before its receive is there.
bool leaves_unasked(std::uint64_t bytes, std::uint64_t unasked, bool answers_wait, std::uint64_t by_way = 0) {
  LoopJob::Options options;
  options.way = {.eager_limit = 1024, .data_chunk = 1024, .unasked = by_way, .answers_wait = answers_wait};
  LoopJob job(options);
  const Bytes data = pattern(bytes, 5);
  Bytes room(bytes);
  SendArguments arguments = to(job[0], 1, 1, data);
  arguments.unasked = unasked;
  SendRequest send(arguments);
  job[0].messenger.start(send);
  job.run();
  const bool left = send.has_left();
  EXPECT_EQ(left, send.done());
  ReceiveRequest receive(from(job[1], 0, 1, room));
  job[1].messenger.start(receive);
  job.run();
  EXPECT_TRUE(send.done() && send.has_left() && receive.done());
  EXPECT_EQ(room, data);
  EXPECT_TRUE(job.violations.empty());
  return left;
}

TEST(Messenger, ALongMessageMayLeaveUnaskedWhereTheKernelHoldsIt) {
  EXPECT_TRUE(leaves_unasked(1024, 0, true));
  EXPECT_FALSE(leaves_unasked(1025, 0, true));
  EXPECT_TRUE(leaves_unasked(3000, 3000, true));
  EXPECT_FALSE(leaves_unasked(3001, 3000, true));
  EXPECT_FALSE(leaves_unasked(3000, 3000, false));
  EXPECT_TRUE(leaves_unasked(100, 50, true));
  EXPECT_FALSE(leaves_unasked(20000, 20000, true)) << "more than the first credit pays for";
  EXPECT_TRUE(leaves_unasked(3000, 0, true, 3000));
  EXPECT_FALSE(leaves_unasked(3001, 0, true, 3000));
  EXPECT_FALSE(leaves_unasked(3000, 0, false, 3000));
  EXPECT_TRUE(leaves_unasked(3001, 3001, true, 3000));
}

TEST(Messenger, LongEagerMessagesThatAreExpectedAreTimed) {
  LoopJob::Options options;
  options.way = {4096, 4096};
  options.way.pulls_above = 1024;
  LoopJob job(options);
  job[0].clock.advance(1000);
  job[1].clock.advance(1000);
  exchange(job, 1024, true);
  exchange(job, 1025, true);
  exchange(job, 3000, false);  // when its header comes there is no receive
  exchange(job, 3001, true);
  EXPECT_EQ(job.timed, (std::vector<std::uint64_t>{1025, 3001}));
}

TEST(Messenger, LongMessagesThatWereStoredAreWeighedWhereRanksShareCores) {
  for (const bool oversubscribed : {false, true}) {
    LoopJob::Options options;
    options.way = {.eager_limit = 4096, .data_chunk = 4096, .pulls_above = 1024};
    options.oversubscribed = oversubscribed;
    LoopJob job(options);
    exchange(job, 1024, false);
    exchange(job, 1025, false);
    exchange(job, 3000, true);
    EXPECT_EQ(job.weighed, oversubscribed ? std::vector<std::uint64_t>{1025} : std::vector<std::uint64_t>{});
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
  for (unsigned seed = 1; seed <= 12; ++seed) {
    LoopJob::Options options;
    options.seed = seed;
    options.way = {4096, 5000, seed % 4 < 2};
    options.two_ways = seed % 3 == 0;
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
    if (seed % 2 != 0) job[1].messenger.start(receive);
    job[0].messenger.start(send);
    if (seed % 2 == 0) job.run();
    if (seed % 2 == 0) job[1].messenger.start(receive);
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
          options.pull = pull;
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
    options.two_ways = seed % 4 < 2;
    options.unexpected_limit = seed % 2 == 0 ? 1 << 16 : 16 << 20;
    LoopJob job(options);
    constexpr int kMessages = 300;
    std::deque<Bytes> buffers;
    std::deque<Send> sends;
    std::deque<Receive> receives;
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
  std::deque<Receive> receives;
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

}  // namespace
}  // namespace lapwing::p2p
