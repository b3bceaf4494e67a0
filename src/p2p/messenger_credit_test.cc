// Floods of messages that no receive has asked for, and messages that are not simply received: cancel, probe.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "p2p/messages_for_tests.h"

namespace lapwing::p2p {
namespace {

// ---- credit -----------------------------------------------------------------------------------------------------------

TEST(Messenger, AFloodStaysWithinTheLimitAndLosesNothing) {
  for (const std::uint64_t limit : {std::uint64_t{1} << 18, std::uint64_t{1} << 20}) {
    LoopJob::Options options;
    options.ranks = 3;
    options.unexpected_limit = limit;
    LoopJob job(options);
    constexpr int kMessages = 3000;
    std::deque<Bytes> buffers;
    std::deque<Send> sends;
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
  std::deque<Send> sends;
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

// Whatever is left over when a window is divided into messages: the one that is asked for comes.
TEST(Messenger, MessagesComeInAnyOrderWithAnyLimit) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t bound) { return random() % bound; };
    LoopJob::Options options;
    options.seed = seed;
    options.unexpected_limit = (16 << 10) + below(48 << 10);
    LoopJob job(options);
    constexpr std::size_t kMessages = 120;
    const std::size_t most = seed % 3 == 0 ? 2 : 1500;
    std::deque<Bytes> data;
    std::deque<Send> sends;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < kMessages; ++i) {
      data.push_back(pattern(below(most), static_cast<unsigned>(i)));
      sends.emplace_back(to(job[0], 1, static_cast<int>(i), data.back()));
      job[0].messenger.start(sends.back());
      order.push_back(i);
    }
    std::shuffle(order.begin(), order.end(), random);
    if (seed % 2 == 0) job.run();
    for (const std::size_t i : order) {
      Bytes room(data[i].size());
      ReceiveRequest receive(from(job[1], below(2) == 0 ? 0 : MPI_ANY_SOURCE, static_cast<int>(i), room));
      job[1].messenger.start(receive);
      ASSERT_TRUE(job.run_until_done(receive)) << "limit " << options.unexpected_limit << ", message " << i << "\n"
                                               << job[0].messenger.describe();
      ASSERT_EQ(room, data[i]);
    }
    job.run();
    EXPECT_TRUE(job.violations.empty());
    EXPECT_TRUE(job[0].messenger.quiet());
    EXPECT_EQ(job[1].messenger.counters().unexpected_bytes_now, 0u);
  }
}

// A receiver has asked for something else. The sender waits for each of its sends, and finds that one does not end.
TEST(Messenger, AReceiveThatWaitsDoesNotLetASenderFlood) {
  for (const std::size_t bytes : {0u, 1u, 100u, 700u}) {
    LoopJob::Options options;
    options.unexpected_limit = 1 << 16;
    LoopJob job(options);
    Bytes room(100);
    ReceiveRequest control(from(job[1], 0, 2, room));
    job[1].messenger.start(control);
    const Bytes data = pattern(bytes, 1), last = pattern(100, 2);
    std::deque<Send> sends;
    constexpr std::size_t kMost = 2000;
    while (sends.size() < kMost && (sends.empty() || sends.back().done())) {
      sends.emplace_back(to(job[0], 1, 1, data));
      job[0].messenger.start(sends.back());
      job.run();
    }
    EXPECT_LT(sends.size(), kMost) << bytes;
    EXPECT_LE(job[1].messenger.counters().unexpected_bytes_peak, options.unexpected_limit);
    SendRequest wanted(to(job[0], 1, 2, last));
    job[0].messenger.start(wanted);
    job.run();
    EXPECT_TRUE(control.done()) << job[0].messenger.describe();
    EXPECT_EQ(room, last);
    for (std::size_t i = 0; i < sends.size(); ++i) {
      Bytes other_room(bytes);
      ReceiveRequest other(from(job[1], 0, 1, other_room));
      job[1].messenger.start(other);
      ASSERT_TRUE(job.run_until_done(other));
    }
    job.run();
    EXPECT_TRUE(job[0].messenger.quiet());
  }
}

TEST(Messenger, AFloodOfTheUserDoesNotHoldUpTheLibrary) {
  LoopJob::Options options;
  options.unexpected_limit = 1 << 16;
  LoopJob job(options);
  const Bytes data = pattern(100, 1);
  std::deque<Send> sends;
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
    ProbeWatch watch(*job[1].world, MPI_ANY_SOURCE, 4, waiter);
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
    UnexpectedMessage* message = job[1].messenger.matched_probe(*job[1].world, 0, 4, result);
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

}  // namespace
}  // namespace lapwing::p2p
