// What the conformance suite cannot see: one real ShmTransport among ranks played by the test, which writes into the shared
// memory whatever it likes; and whole ranks in processes of their own.
#include "net/shm/shm_transport_for_tests.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <numeric>
#include <thread>

#include "base/memory_order.h"
#include "base/settings.h"
#include "wire/inline_frame.h"

namespace lapwing::net {
namespace {

TEST_F(ShmTransportTest, DoesNotPullFromAProcessThatIsNotTheOneMeant) {
  open(2, 1);
  PullOp op;
  // The word at the probe's address is not the value in the card.
  EXPECT_EQ(transport_->pull({0}, op), PullOp::End::kRefused);
}

TEST_F(ShmTransportTest, FindsSendersInEveryWordOfTheBitmap) {
  open(70, 1);
  for (const std::uint32_t rank : {0u, 63u, 64u, 69u}) {
    auto writer = writer_of(rank);
    send_from(rank, writer);
    EXPECT_TRUE(transport_->poll());
    EXPECT_EQ(sink_.last_peer.index, rank);
  }
  EXPECT_EQ(sink_.frames, 4);
}

// The peer does not sleep: its doorbell is left alone.
TEST_F(ShmTransportTest, FramesBetweenRanksThatPollTakeNoSystemCall) {
  open(2, 1);
  auto writer = writer_of(0);
  const std::uint64_t before = engine_.system_calls().total();
  for (int round = 1; round <= 20; ++round) {
    send_from(0, writer);
    EXPECT_TRUE(transport_->poll());
    EXPECT_EQ(sink_.frames, round);
    wire::FrameHeader header;
    header.describe(wire::Protocol::kMessages, 8);
    EXPECT_TRUE(transport_->send_now({0}, header, payload_.data(), Delivery::kAtOnce));
  }
  EXPECT_EQ(engine_.system_calls().total(), before);
  EXPECT_EQ(rings(0), 0u);
}

TEST_F(ShmTransportTest, BitsOfRanksThatDoNotExistMeanNothing) {
  open(3, 1);
  segment_.pending(me_)[0].store(~std::uint64_t{0});
  transport_->poll();
  EXPECT_TRUE(transport_->arm());
  transport_->disarm();
  EXPECT_EQ(sink_.frames + sink_.lost, 0);
}

TEST_F(ShmTransportTest, TheLineOfAFrameThatFollowsAnotherWithoutAnAnswerIsClaimed) {
  open(2, 1);
  auto writer = writer_of(0);
  const auto stamp_of_next = [&] {
    wire::FrameHeader header;
    header.describe(wire::Protocol::kMessages, 0);
    std::byte* line = writer.begin(wire::kHeaderBytes);
    wire::encode_inline(header, nullptr, line);
    writer.wipe_next();
    writer.publish_head();
    set_pending(0);
    EXPECT_TRUE(transport_->poll());
    return shm::stamp_of(line).load();
  };
  EXPECT_NE(stamp_of_next(), 0u);
  EXPECT_EQ(stamp_of_next(), 0u);
  EXPECT_EQ(stamp_of_next(), 0u);
  CountedOp op;
  post(op);
  EXPECT_NE(stamp_of_next(), 0u) << "answered";
}

TEST_F(ShmTransportTest, AMalformedFrameLosesItsSender) {
  open(3, 1);
  auto writer = writer_of(2);
  std::memset(writer.begin(wire::kHeaderBytes), 0xff, wire::kHeaderBytes);
  writer.wipe_next();
  writer.publish_head();
  set_pending(2);
  transport_->poll();
  EXPECT_EQ(sink_.lost, 1);
  EXPECT_EQ(sink_.last_peer.index, 2u);
  EXPECT_NE(sink_.lost_text.find("rank 2"), std::string::npos) << sink_.lost_text;
  auto healthy = writer_of(0);
  send_from(0, healthy);
  EXPECT_TRUE(transport_->poll());
  EXPECT_EQ(sink_.frames, 1);
}

TEST_F(ShmTransportTest, AFrameThatClaimsMoreThanItsHeaderHoldsLosesItsSender) {
  open(2, 1);
  auto writer = writer_of(0);
  wire::FrameHeader header;
  header.describe(wire::Protocol::kMessages, 0);
  std::byte* line = writer.begin(wire::kHeaderBytes);
  wire::encode_inline(header, nullptr, line);
  line[0] = std::byte{25};  // the length
  writer.wipe_next();
  writer.publish_head();
  set_pending(0);
  transport_->poll();
  EXPECT_EQ(sink_.frames, 0);
  EXPECT_EQ(sink_.lost, 1);
  EXPECT_NE(sink_.lost_text.find("malformed"), std::string::npos) << sink_.lost_text;
}

TEST_F(ShmTransportTest, AnImpossibleWritePositionLosesItsSenderInTheMiddleOfAFrame) {
  open(2, 1);
  auto writer = writer_of(0);
  wire::FrameHeader header;
  header.describe(wire::Protocol::kMessages, 0);
  header.describe(wire::Protocol::kMessages, 1 << 20);
  wire::store_around_stamp(header, writer.begin(shm::Layout::record_bytes(1 << 20)));
  writer.wipe_next();
  writer.publish_head();
  set_pending(0);
  transport_->poll();
  EXPECT_EQ(sink_.headers, 1);
  segment_.ring_header(0, 1).tail.store(std::uint64_t{1} << 40);
  EXPECT_FALSE(transport_->arm());  // there is something to do: to report it
  transport_->disarm();
  transport_->poll();
  transport_->poll();
  EXPECT_EQ(sink_.lost, 1);
  EXPECT_TRUE(sink_.lost_within_frame);
}

TEST_F(ShmTransportTest, AnImpossibleReadPositionLosesItsReceiver) {
  open(2, 1);
  segment_.ring_header(1, 0).head.store(std::uint64_t{1} << 40);
  CountedOp op, next;
  op.carry(payload_);
  post(op);                  // does not fit: looks at the read position
  EXPECT_EQ(sink_.lost, 0);  // never from within post
  EXPECT_FALSE(transport_->arm());
  transport_->disarm();
  transport_->poll();
  EXPECT_EQ(sink_.lost, 1);
  EXPECT_EQ(op.failed, 1);
  EXPECT_TRUE(transport_->flushed());
  post(next);
  EXPECT_EQ(next.failed, 0) << "never from within post";
  engine_.turn();
  EXPECT_EQ(next.failed, 1);
}

TEST_F(ShmTransportTest, ASleeperIsRungOnce) {
  open(2, 1);
  segment_.control(0).sleeping.store(1);
  std::deque<CountedOp> ops(3);
  for (CountedOp& op : ops) post(op);
  EXPECT_EQ(segment_.control(0).sleeping.load(), 0u);
  EXPECT_EQ(rings(0), 1u);
  EXPECT_EQ(segment_.pending(0)[0].load(), 2u);  // rank 1 has something for rank 0
}

TEST_F(ShmTransportTest, WhatCanWaitRingsNobodyButAWaiterUntilTheRingIsHalfFull) {
  open(2, 1);
  const auto send = [this](Delivery delivery) {
    wire::FrameHeader header;
    header.describe(wire::Protocol::kMessages, 0);
    return transport_->send_now({0}, header, nullptr, delivery);
  };
  auto& sleeping = segment_.control(0).sleeping;
  sleeping.store(shm::kListener);
  EXPECT_TRUE(send(Delivery::kWhenAsked));
  EXPECT_EQ(sleeping.load(), shm::kListener);
  EXPECT_EQ(rings(0), 0u);
  EXPECT_TRUE(pending(1, 0)) << "a rank that looks finds it";
  EXPECT_TRUE(send(Delivery::kAtOnce));
  EXPECT_EQ(sleeping.load(), shm::kNoThread);
  EXPECT_EQ(rings(0), 1u);
  sleeping.store(shm::kWaiter);
  EXPECT_TRUE(send(Delivery::kWhenAsked));
  EXPECT_EQ(rings(0), 1u);
  sleeping.store(shm::kListener);
  int more = 0;
  while (sleeping.load() == shm::kListener && send(Delivery::kWhenAsked)) ++more;
  EXPECT_EQ(rings(0), 1u);
  EXPECT_EQ(more, 4096 / 64 / 2 - 3);
}

// A rank that ends may have taken a sleeper's flag and not written to its doorbell any more.
TEST_F(ShmTransportTest, TheEndOfARankRingsAllOthersWhateverTheirFlagsSay) {
  int of_child[2];
  ASSERT_EQ(pipe(of_child), 0);
  const pid_t child = fork();
  if (child == 0) {
    const shm::ProcessName name = shm::ProcessName::of_this_process();
    if (write(of_child[1], &name, sizeof name) != sizeof name) _exit(1);
    for (;;) pause();
  }
  ASSERT_EQ(read(of_child[0], &watched_, sizeof watched_), static_cast<ssize_t>(sizeof watched_));
  close(of_child[0]);
  close(of_child[1]);
  open(4, 1);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  while (segment_.ends().load() == 0) {
    engine::EventPort::Batch batch;
    engine_.port().collect(batch, -1);
    engine_.port().deliver(batch);
  }
  EXPECT_EQ(segment_.control(0).sleeping.load(), shm::kNoThread);
  EXPECT_EQ(rings(0), 1u);
  EXPECT_EQ(rings(3), 1u);
}

TEST_F(ShmTransportTest, NobodyIsRungWhoDoesNotSleep) {
  open(2, 1);
  CountedOp op;
  post(op);
  EXPECT_EQ(op.sent, 1);
  EXPECT_EQ(rings(0), 0u);
}

TEST_F(ShmTransportTest, DoesNotFallAsleepOverWork) {
  open(2, 1);
  EXPECT_TRUE(transport_->arm());
  EXPECT_EQ(segment_.control(1).sleeping.load(), shm::kListener);
  transport_->disarm();
  EXPECT_EQ(segment_.control(1).sleeping.load(), 0u);
  auto writer = writer_of(0);
  send_from(0, writer);
  EXPECT_FALSE(transport_->arm());  // found by the bitmap
  transport_->disarm();
  transport_->poll();
  send_from(0, writer);
  EXPECT_FALSE(transport_->arm());  // found in a ring that is looked at
  transport_->disarm();
}

TEST_F(ShmTransportTest, ASleepingFlagTakenAwayIsPutBack) {
  open(2, 1);
  ASSERT_TRUE(transport_->arm());
  segment_.control(1).sleeping.store(0);  // a sender rings; another thread of ours handles it and does not arm again
  transport_->poll();
  EXPECT_EQ(segment_.control(1).sleeping.load(), shm::kListener);
  transport_->disarm();
}

TEST_F(ShmTransportTest, ARingWithoutTrafficCoolsDownAndHeatsUpAgain) {
  open(2, 1);
  auto writer = writer_of(0);
  send_from(0, writer);
  while (pending(0)) transport_->poll();
  EXPECT_EQ(sink_.frames, 1);
  send_from(0, writer);
  EXPECT_TRUE(transport_->poll());
  EXPECT_EQ(sink_.frames, 2);
}

TEST_F(ShmTransportTest, OutputThatWaitsForRoomAsksToBeWoken) {
  open(2, 1);
  CountedOp op;
  op.carry(payload_);
  post(op);
  EXPECT_EQ(op.sent, 0);
  EXPECT_FALSE(transport_->flushed());
  ASSERT_TRUE(transport_->arm());
  EXPECT_EQ(segment_.ring_header(1, 0).wants_space.load(), 1u);
  auto reader = reader_of(0);
  while (op.sent == 0) {
    ASSERT_TRUE(reader.advance(reader.available()));
    ASSERT_TRUE(transport_->poll());
  }
  EXPECT_TRUE(transport_->flushed());
  EXPECT_EQ(segment_.ring_header(1, 0).wants_space.load(), 0u);
  transport_->disarm();
}

TEST_F(ShmTransportTest, OutputQueuedWhileAsleepAsksToBeWokenToo) {
  open(2, 1);
  ASSERT_TRUE(transport_->arm());  // the event thread sleeps, and then the application sends
  CountedOp op;
  op.carry(payload_);
  post(op);
  EXPECT_EQ(segment_.ring_header(1, 0).wants_space.load(), 1u);
  transport_->disarm();
  transport_->close();
  EXPECT_EQ(op.failed, 1);
}

TEST_F(ShmTransportTest, AReaderThatMakesRoomWakesTheSleepingWriter) {
  open(2, 1);
  auto writer = writer_of(0);
  for (int frame = 0; frame < 4096 / 64 - 1; ++frame) send_from(0, writer);
  EXPECT_EQ(writer.room(64), 0u);
  writer.want_space(true);
  segment_.control(0).sleeping.store(1);
  transport_->poll();
  EXPECT_EQ(rings(0), 1u);
  EXPECT_EQ(writer.room(64), 4096u / 8 * 7);  // the rest is read, but not published
}

// ---- Ranks in processes of their own ----

constexpr std::uint32_t kProcesses = 5;
constexpr int kRounds = 300;

struct Noticeboard {  // in memory shared by the processes of the test
  std::atomic<std::uint32_t> posted, finished;
  char cards[kProcesses][1024];
};

// Passes a message round the circle; everybody sleeps until his turn.
int run_rank(Noticeboard& board, std::uint32_t rank) {
  SteadyClock clock;
  Settings settings;
  CountingSink sink;
  engine::Engine engine(clock);
  engine::EngineOptions options;
  options.spin_budget = 0;
  if (!engine.start(options).ok()) return 1;
  ShmTransport transport(engine, sink, config_for(rank, kProcesses, settings));
  wire::Card card;
  card.set("host", "this-host");
  if (!transport.publish(card).ok()) return 2;
  std::strncpy(board.cards[rank], card.encode().c_str(), sizeof board.cards[rank] - 1);
  board.posted.fetch_add(1);
  while (board.posted.load() < kProcesses) sched_yield();
  std::vector<wire::Card> cards(kProcesses);
  for (std::uint32_t peer = 0; peer < kProcesses; ++peer) {
    if (!wire::Card::decode(board.cards[peer], cards[peer]).ok()) return 3;
  }
  struct Turn final : engine::Operation {
  } turn;
  std::vector<std::byte> message(20'000, static_cast<std::byte>(7));
  const PeerId next{(rank + 1) % kProcesses};
  std::deque<CountedOp> ops(kRounds);
  {
    engine::Visit visit(engine);
    if (!transport.attach(cards).ok()) return 4;
    int arrived = 0, taken = 0;
    bool waiting = false;
    sink.after_frame = [&] {
      ++arrived;
      if (waiting) engine.finish(turn);
      waiting = false;
    };
    for (int round = 0; round < kRounds; ++round) {
      ops[round].carry(message);
      if (rank == 0 && transport.post(next, ops[round])) ops[round].on_taken(ops[round], Status());
      if (arrived == taken) {
        waiting = true;
        engine.begin(turn);
        visit.wait(turn);
      }
      ++taken;
      if (sink.buffer[19'999] != static_cast<std::byte>(7)) return 5;
      if (rank != 0 && transport.post(next, ops[round])) ops[round].on_taken(ops[round], Status());
    }
  }
  for (;;) {  // as a finalize would: everything out, then everybody
    const engine::Visit visit(engine);
    engine.turn();
    transport.expect_goodbye();  // before anybody can have left
    if (transport.flushed()) break;
  }
  board.finished.fetch_add(1);
  while (board.finished.load() < kProcesses) sched_yield();
  {
    const engine::Visit visit(engine);
    transport.close();
  }
  engine.stop();
  return sink.lost == 0 ? 0 : 6;
}

TEST(ShmTransportProcesses, PassAMessageRound) {
  void* memory = mmap(nullptr, sizeof(Noticeboard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& board = *static_cast<Noticeboard*>(memory);
  pid_t children[kProcesses];
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
    children[rank] = fork();
    if (children[rank] == 0) {
      alarm(120);  // if another rank fails, this one would wait for it
      _exit(run_rank(board, rank));
    }
  }
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
    int status = -1;
    ASSERT_EQ(waitpid(children[rank], &status, 0), children[rank]);
    EXPECT_EQ(status, 0) << "rank " << rank << " ended with code " << WEXITSTATUS(status);
  }
  munmap(memory, sizeof(Noticeboard));
}

}  // namespace
}  // namespace lapwing::net
