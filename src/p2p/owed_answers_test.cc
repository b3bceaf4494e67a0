// A CTS that waits for the own RTS, over the loop network.
#include "p2p/owed_answers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>

#include "p2p/messages_for_tests.h"

namespace lapwing::p2p {
namespace {

constexpr std::size_t kLong = 50'000;

LoopJob::Options options(std::uint32_t ranks, bool answers_wait) {
  LoopJob::Options options;
  options.ranks = ranks;
  options.way.answers_wait = answers_wait;
  return options;
}

// Rank 1 has the RTS of a long message from each of the others.
struct Announced {
  explicit Announced(std::uint32_t ranks, bool answers_wait = true) : job(options(ranks, answers_wait)) {
    sends.emplace_back(to(job[0], 1, 9, data));
    if (ranks > 2) sends.emplace_back(to(job[2], 1, 9, data));
    const std::size_t from_ranks[] = {0, 2};
    for (std::size_t i = 0; i < sends.size(); ++i) job[from_ranks[i]].messenger.start(sends[i]);
    job.run();
    posted = job.frames_posted;
  }
  std::uint64_t new_frames() const { return job.frames_posted - posted; }

  Bytes data = pattern(kLong, 3);
  std::deque<Send> sends;
  LoopJob job;
  std::uint64_t posted = 0;
};

TEST(OwedAnswers, LeaveBehindTheNextRtsToThePeer) {
  Announced announced(2);
  LoopJob& job = announced.job;
  Bytes room(kLong), back_room(kLong);
  const Bytes back = pattern(kLong, 4);
  ReceiveRequest receive(from(job[1], 0, 9, room)), back_receive(from(job[0], 1, 9, back_room));
  SendRequest back_send(to(job[1], 0, 9, back));
  job[0].messenger.start(back_receive);
  job[1].messenger.start(receive);
  EXPECT_EQ(announced.new_frames(), 0u);
  EXPECT_TRUE(job[1].engine.turn_wanted()) << "should the application compute now, the event thread does it";
  job[1].messenger.start(back_send);
  EXPECT_EQ(announced.new_frames(), 2u);
  job.run();
  EXPECT_TRUE(receive.done() && back_receive.done() && back_send.done() && announced.sends[0].done());
  EXPECT_EQ(room, announced.data);
  EXPECT_EQ(back_room, back);
}

TEST(OwedAnswers, LeaveWithTheNextTurn) {
  Announced announced(2);
  Bytes room(kLong);
  ReceiveRequest receive(from(announced.job[1], 0, 9, room));
  announced.job[1].messenger.start(receive);
  EXPECT_EQ(announced.new_frames(), 0u);
  EXPECT_TRUE(announced.job[1].engine.turn());
  EXPECT_EQ(announced.new_frames(), 1u);
  EXPECT_FALSE(announced.job[1].engine.turn());
  announced.job.run();
  EXPECT_TRUE(receive.done());
  EXPECT_EQ(room, announced.data);
}

TEST(OwedAnswers, DoNotLeaveBehindAnRtsToAnotherPeer) {
  Announced announced(3);
  LoopJob& job = announced.job;
  Bytes rooms[] = {Bytes(kLong), Bytes(kLong)}, back_room(kLong);
  ReceiveRequest first(from(job[1], 0, 9, rooms[0])), second(from(job[1], 2, 9, rooms[1])), back_receive(from(job[2], 1, 9, back_room));
  SendRequest back_send(to(job[1], 2, 9, announced.data));
  job[1].messenger.start(first);
  job[1].messenger.start(second);
  EXPECT_EQ(announced.new_frames(), 0u);
  job[1].messenger.start(back_send);
  EXPECT_EQ(announced.new_frames(), 2u) << "the RTS, and the CTS to the same peer";
  job[1].engine.turn();
  EXPECT_EQ(announced.new_frames(), 3u);
  job[2].messenger.start(back_receive);
  job.run();
  EXPECT_TRUE(first.done() && second.done() && back_send.done() && back_receive.done());
}

TEST(OwedAnswers, AreNotOwedByOneThatHasAnnouncedItsOwn) {
  Announced announced(2);
  LoopJob& job = announced.job;
  Bytes room(kLong), back_room(kLong);
  ReceiveRequest receive(from(job[1], 0, 9, room)), back_receive(from(job[0], 1, 9, back_room));
  SendRequest back_send(to(job[1], 0, 9, announced.data));
  job[1].messenger.start(back_send);
  EXPECT_EQ(announced.new_frames(), 1u);
  job[1].messenger.start(receive);
  EXPECT_EQ(announced.new_frames(), 2u);
  job[0].messenger.start(back_receive);
  job.run();
  EXPECT_TRUE(receive.done() && back_receive.done() && back_send.done());
}

TEST(OwedAnswers, AreNotOwedWhereAnswersDoNotWait) {
  Announced announced(2, false);
  Bytes room(kLong);
  ReceiveRequest receive(from(announced.job[1], 0, 9, room));
  announced.job[1].messenger.start(receive);
  EXPECT_EQ(announced.new_frames(), 1u);
  announced.job.run();
  EXPECT_TRUE(receive.done());
}

// What a schedule waits for is asked for at once.
TEST(OwedAnswers, AreNotOwedToCollectives) {
  LoopJob job(options(2, true));
  const Bytes data = pattern(kLong, 3);
  Bytes room(kLong);
  SendArguments sent = to(job[0], 1, 9, data);
  ReceiveArguments received = from(job[1], 0, 9, room);
  sent.plane = received.plane = comm::Plane::kCollective;
  SendRequest send(sent);
  ReceiveRequest receive(received);
  job[0].messenger.start(send);
  job.run();
  const std::uint64_t posted = job.frames_posted;
  job[1].messenger.start(receive);
  EXPECT_EQ(job.frames_posted, posted + 1);
  job.run();
  EXPECT_TRUE(send.done() && receive.done());
}

TEST(OwedAnswers, AreForgottenWhenThePeerIsLost) {
  Announced announced(2);
  Bytes room(kLong);
  ReceiveRequest receive(from(announced.job[1], 0, 9, room));
  announced.job[1].messenger.start(receive);
  announced.job.lose(0);
  announced.job.run();
  EXPECT_TRUE(receive.done());
  EXPECT_FALSE(receive.result().status.ok());
}

}  // namespace
}  // namespace lapwing::p2p
