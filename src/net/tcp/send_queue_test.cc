// The send queue alone: a wire that the test moves by the byte and breaks, and a receiver that reads frames off it.
#include "net/tcp/send_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "base/tuning.h"
#include "net/scattered_walk_for_tests.h"
#include "net/tcp/copy_ring.h"

namespace lapwing::net::tcp {
namespace {

TEST(CopyRing, GivesPiecesInOneAndTakesThemBackInOrder) {
  CopyRing ring;
  ring.set_capacity(100);
  EXPECT_EQ(ring.take(60), 0u);
  EXPECT_EQ(ring.take(50), CopyRing::kNoRoom);
  EXPECT_EQ(ring.take(30), 60u);
  ring.give_back(60);
  EXPECT_EQ(ring.take(50), 0u) << "in front of the second";
  EXPECT_EQ(ring.take(10), 50u);
  EXPECT_EQ(ring.take(1), CopyRing::kNoRoom);
  ring.give_back(30);
  ring.give_back(50);
  EXPECT_EQ(ring.take(40), 60u);
  ring.give_back(10);
  ring.give_back(40);
  EXPECT_EQ(ring.take(100), 0u) << "an empty ring begins at its beginning";
}

TEST(SpareMemory, KeepsWhatIsGivenBackUpToItsBound) {
  SpareMemory memory(3 * 4096);
  SpareMemory::Block first = memory.take(4096), second = memory.take(5000);
  std::byte* const lent = first.get();
  memory.give_back(std::move(first), 4096);
  EXPECT_EQ(memory.kept(), 4096u);
  EXPECT_NE(memory.take(4097).get(), lent) << "of another size";
  first = memory.take(2049);
  EXPECT_EQ(first.get(), lent) << "of the same power of two";
  EXPECT_EQ(memory.kept(), 0u);
  memory.give_back(std::move(second), 5000);
  memory.give_back(std::move(first), 4096);
  EXPECT_EQ(memory.kept(), 3u * 4096);
  memory.give_back(memory.take(100), 100);
  EXPECT_EQ(memory.kept(), 3u * 4096) << "no more";
}

struct Op : SendOp {
  Op() {
    on_taken = [](SendOp& op, const Status& status) noexcept {
      auto& self = static_cast<Op&>(op);
      ++self.taken;
      self.failed = !status.ok();
    };
  }
  void carry(Bytes content, std::uint64_t number) {
    bytes = std::move(content);
    data = bytes.data();
    describe(bytes.size(), number);
  }
  void describe(std::uint64_t size, std::uint64_t number) {
    header.describe(wire::Protocol::kMessages, size);
    header.set_own(0, number);
  }
  Bytes bytes;
  int taken = 0;
  bool failed = false;
};

struct Count : Undelivered {
  Count() : Undelivered([](Undelivered& all, const Status& status) noexcept {
    ++static_cast<Count&>(all).times;
    static_cast<Count&>(all).failed = !status.ok();
  }) {}
  int times = 0;
  bool failed = false;
};

// Takes what a socket would: the bytes of the first entries, at most so many.
void move(SendQueue& queue, std::uint64_t most, Bytes& wire) {
  while (most > 0 && !queue.all_sent()) {
    SendQueue::Entry& entry = queue.unsent(0);
    const std::uint64_t count = std::min(most, entry.bytes - entry.sent);
    Bytes frame(entry.bytes);
    if (entry.copied) {
      std::copy_n(queue.copies_of(entry), entry.bytes, frame.begin());
    } else {
      std::memcpy(frame.data(), entry.header.words, wire::kHeaderBytes);
      std::byte* payload = frame.data() + wire::kHeaderBytes;
      if (entry.walk != nullptr) {
        entry.walk->seek(entry.walk_begin);
        entry.walk->gather(payload, entry.payload_bytes());
      } else if (entry.payload_bytes() > 0) {
        std::memcpy(payload, entry.data, entry.payload_bytes());
      }
    }
    wire.insert(wire.end(), frame.begin() + static_cast<std::ptrdiff_t>(entry.sent),
                frame.begin() + static_cast<std::ptrdiff_t>(entry.sent + count));
    most -= count;
    queue.sent(count);
  }
}

class SendQueueTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(queue_.begin(0, true).ok()); }

  bool copy(std::uint64_t number, std::uint64_t size) {
    wire::FrameHeader header;
    header.describe(wire::Protocol::kMessages, size);
    header.set_own(0, number);
    const Bytes payload = make_bytes(size, number);
    return queue_.copy(header, payload.data(), nullptr);
  }
  // The peer says, in a frame of its own, that it has had so many.
  bool acknowledge(std::uint64_t frames) {
    wire::FrameHeader header;
    header.number(static_cast<std::uint32_t>(channel_.received()), static_cast<std::uint32_t>(frames));
    EXPECT_TRUE(channel_.accept(header).ok());
    channel_.receive();
    const bool released = queue_.release();
    queue_.tell();
    return released;
  }

  Channel channel_;
  SpareMemory memory_{1 << 20};
  SendQueue queue_{channel_, memory_};
};

TEST_F(SendQueueTest, WhatIsNotKeptIsTakenWhenItHasLeft) {
  Channel channel;
  SpareMemory memory(0);
  SendQueue queue(channel, memory);
  ASSERT_TRUE(queue.begin(0, false).ok());
  Op op;
  Count count;
  op.carry(make_bytes(1000, 1), 0);
  op.undelivered = &count;
  queue.push(op);
  Bytes wire;
  move(queue, 500, wire);
  EXPECT_FALSE(SendQueue::has_taken(op));
  move(queue, 5000, wire);
  EXPECT_TRUE(SendQueue::has_taken(op));
  EXPECT_TRUE(count.none());
  EXPECT_FALSE(queue.lends(SendQueue::Loans::kAll));
}

TEST_F(SendQueueTest, WhatIsKeptIsTakenWhenItIsDelivered) {
  Op op, counted;
  Count count;
  op.carry(make_bytes(1000, 1), 0);
  counted.carry(make_bytes(1000, 2), 1);
  counted.undelivered = &count;
  queue_.push(op);
  queue_.push(counted);
  Bytes wire;
  move(queue_, 10'000, wire);
  queue_.tell();
  EXPECT_EQ(op.taken, 0);
  EXPECT_EQ(counted.taken, 1);
  EXPECT_FALSE(count.none());
  EXPECT_TRUE(acknowledge(1));
  EXPECT_EQ(op.taken, 1);
  EXPECT_EQ(count.times, 0);
  EXPECT_TRUE(acknowledge(2));
  EXPECT_EQ(count.times, 1);
  EXPECT_FALSE(count.failed);
}

TEST_F(SendQueueTest, ACopyGivesMemoryBackBeforeThat) {
  Op op, counted;
  Count count;
  op.carry(make_bytes(100'000, 1), 0);
  const Bytes content = make_bytes(100'000, 2);
  ScatteredWalk walk(content, false);
  counted.walk = &walk;
  counted.describe(content.size(), 1);
  counted.undelivered = &count;
  queue_.push(op);
  queue_.push(counted);
  EXPECT_FALSE(queue_.copy_kept(SendQueue::Loans::kAll)) << "nothing has left";
  Bytes first, again;
  move(queue_, 1'000'000, first);
  for (int pieces = 0; pieces < 4; ++pieces) EXPECT_TRUE(queue_.copy_kept(SendQueue::Loans::kAll)) << "two of each";
  EXPECT_FALSE(queue_.copy_kept(SendQueue::Loans::kAll));
  queue_.tell();
  EXPECT_EQ(op.taken, 1);
  EXPECT_EQ(count.times, 1);
  op.bytes.assign(op.bytes.size(), std::byte{0});
  walk = ScatteredWalk(content.size(), false);
  channel_.down();
  ASSERT_TRUE(queue_.begin(0, true).ok());
  move(queue_, 1'000'000, again);
  // The flags may differ: when an acknowledgement is asked for.
  ASSERT_EQ(first.size(), again.size());
  EXPECT_TRUE(std::equal(first.begin() + wire::kHeaderBytes, first.begin() + 100'000, again.begin() + wire::kHeaderBytes));
  EXPECT_TRUE(std::equal(first.end() - 100'000, first.end(), again.end() - 100'000));
}

TEST_F(SendQueueTest, ShortFramesAreCopiedAtOnceUpToALongerOne) {
  std::deque<Op> ops(3);
  for (std::uint64_t i = 0; i < ops.size(); ++i) ops[i].carry(make_bytes(i == 1 ? 5000 : 100, i), i);
  queue_.push(ops[0]);
  queue_.copy_short(1000);
  queue_.tell();
  EXPECT_EQ(ops[0].taken, 0) << "it has not left";
  queue_.push(ops[1]);
  queue_.push(ops[2]);
  Bytes wire;
  move(queue_, 1'000'000, wire);
  queue_.copy_short(1000);
  queue_.tell();
  EXPECT_EQ(ops[0].taken, 1);
  EXPECT_EQ(ops[1].taken, 0);
  EXPECT_EQ(ops[2].taken, 0) << "in order";
  EXPECT_TRUE(queue_.copy_kept(SendQueue::Loans::kAll));
  queue_.copy_short(1000);
  queue_.tell();
  EXPECT_EQ(ops[2].taken, 1);
}

TEST_F(SendQueueTest, ACopyThatIsMadeAtOnceIsADeliveryToTellOf) {
  Count count;
  Op op;
  op.carry(make_bytes(100, 0), 0);
  op.undelivered = &count;
  queue_.push(op);
  Bytes wire;
  move(queue_, 1'000, wire);
  EXPECT_TRUE(SendQueue::has_taken(op));
  EXPECT_FALSE(queue_.has_news());
  queue_.copy_short(1000);
  EXPECT_TRUE(queue_.has_news());
  EXPECT_FALSE(queue_.lends(SendQueue::Loans::kAll));
  EXPECT_EQ(count.times, 0);
  queue_.tell();
  EXPECT_EQ(count.times, 1);
  EXPECT_FALSE(queue_.has_news());
}

// A frame that is not taken before it is delivered, or copied.
TEST_F(SendQueueTest, ACopyThatTakesAFrameIsSomethingToTellOf) {
  Op op;
  op.carry(make_bytes(100, 0), 0);
  queue_.push(op);
  Bytes wire;
  move(queue_, 1'000, wire);
  EXPECT_FALSE(queue_.has_news());
  queue_.copy_short(1000);
  EXPECT_TRUE(queue_.has_news());
  EXPECT_EQ(op.taken, 0);
  queue_.tell();
  EXPECT_EQ(op.taken, 1);
  EXPECT_FALSE(queue_.has_news());
}

TEST_F(SendQueueTest, BesideAComputationOnlyWhatIsFollowedIsCopied) {
  using Loans = SendQueue::Loans;
  Count count, followed;
  followed.set_followed(true);
  std::deque<Op> ops(3);  // the last one is taken when it is delivered, and its owner goes on then
  for (std::uint64_t i = 0; i < ops.size(); ++i) ops[i].carry(make_bytes(1000, i), i);
  ops[0].undelivered = &count;
  ops[1].undelivered = &followed;
  for (Op& op : ops) queue_.push(op);
  Bytes wire;
  move(queue_, 10'000, wire);
  EXPECT_TRUE(queue_.copy_kept(Loans::kFollowed));
  EXPECT_TRUE(queue_.copy_kept(Loans::kFollowed));
  EXPECT_FALSE(queue_.copy_kept(Loans::kFollowed));
  EXPECT_FALSE(queue_.lends(Loans::kFollowed));
  EXPECT_TRUE(queue_.lends(Loans::kAll));
  queue_.tell();
  EXPECT_EQ(followed.times, 1);
  EXPECT_EQ(ops[2].taken, 1);
  EXPECT_EQ(count.times, 0) << "a thread that waits has it copied, or the peer acknowledges it";
  EXPECT_TRUE(acknowledge(3));
  EXPECT_EQ(count.times, 1);
}

TEST_F(SendQueueTest, CopiesHaveABound) {
  std::deque<Op> ops(5);
  for (std::uint64_t i = 0; i < ops.size(); ++i) {
    ops[i].carry(make_bytes(1 << 20, i), i);
    queue_.push(ops[i]);
  }
  Bytes wire;
  move(queue_, 100 << 20, wire);
  while (queue_.copy_kept(SendQueue::Loans::kAll)) {
  }
  queue_.tell();
  EXPECT_EQ(ops[3].taken, 1);
  EXPECT_EQ(ops[4].taken, 0);
  EXPECT_TRUE(queue_.lends(SendQueue::Loans::kAll));
  EXPECT_TRUE(acknowledge(1));
  EXPECT_TRUE(queue_.copy_kept(SendQueue::Loans::kAll)) << "there is room again";
}

// So that what is kept comes to an end.
TEST_F(SendQueueTest, AnAcknowledgementIsAskedForBeforeTheRoomIsUsedUp) {
  std::uint64_t number = 0;
  while (copy(number, 1000)) ++number;
  Bytes wire;
  move(queue_, 100 << 20, wire);
  int asked = 0;
  for (std::size_t at = 0; at < wire.size(); at += wire::kHeaderBytes + 1000) {
    wire::FrameHeader header;
    std::memcpy(header.words, &wire[at], sizeof header.words);
    asked += (header.flags() & wire::kFlagAcknowledge) != 0;
  }
  EXPECT_GE(asked, 3);
  EXPECT_LE(asked, 4);
  EXPECT_TRUE(acknowledge(number / 2));
  move(queue_, 100, wire);
  EXPECT_TRUE(copy(number, 1000));
}

// However much of the room the frames have that the peer has not acknowledged: it may wait for this before it acknowledges them.
TEST_F(SendQueueTest, AFrameOfTheChannelNeedsNoRoom) {
  std::uint64_t copies = 0;
  while (copy(copies, 1000)) ++copies;
  Bytes wire;
  move(queue_, 100 << 20, wire);
  constexpr std::uint64_t kMany = 1000;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    queue_.push_channel(wire::ChannelWord::kAcknowledge);
    move(queue_, 1000, wire);
  }
  EXPECT_TRUE(queue_.all_sent());
  EXPECT_EQ(wire.size(), copies * (wire::kHeaderBytes + 1000) + kMany * wire::kHeaderBytes);
  EXPECT_TRUE(acknowledge(copies + kMany));
  EXPECT_TRUE(copy(copies, 1000)) << "and they are forgotten";
}

TEST_F(SendQueueTest, ALongFrameAsksByItself) {
  Op shorter, longer;
  shorter.carry(make_bytes(tuning().tcp_acknowledged_at_once - 1, 1), 0);
  longer.carry(make_bytes(tuning().tcp_acknowledged_at_once, 2), 1);
  queue_.push(shorter);
  queue_.push(longer);
  EXPECT_EQ(queue_.unsent(0).header.flags() & wire::kFlagAcknowledge, 0);
  EXPECT_NE(queue_.unsent(1).header.flags() & wire::kFlagAcknowledge, 0);
}

TEST_F(SendQueueTest, WhatThePeerNeedsIsAskedForOnce) {
  EXPECT_TRUE(queue_.all_delivered());
  EXPECT_TRUE(copy(0, 100));
  Bytes wire;
  move(queue_, 1000, wire);
  EXPECT_TRUE(queue_.all_sent());
  EXPECT_FALSE(queue_.all_delivered());
  EXPECT_TRUE(queue_.owes_question());
  queue_.ask();
  queue_.push_channel(wire::ChannelWord::kAcknowledge);
  EXPECT_NE(queue_.unsent(0).header.flags() & wire::kFlagAcknowledge, 0);
  move(queue_, 1000, wire);
  EXPECT_FALSE(queue_.owes_question());
  EXPECT_TRUE(acknowledge(1));
  EXPECT_TRUE(queue_.all_delivered()) << "the question itself need not be";
}

TEST_F(SendQueueTest, WhatHasNotLeftCannotBeAcknowledged) {
  EXPECT_TRUE(copy(0, 100));
  EXPECT_TRUE(copy(1, 100));
  Bytes wire;
  move(queue_, wire::kHeaderBytes + 100 + 10, wire);
  EXPECT_FALSE(acknowledge(2));
}

// Otherwise what is kept would be sent again from copies that are gone.
TEST_F(SendQueueTest, OneThatResumedIsFollowedByOneThatDoes) {
  EXPECT_TRUE(copy(0, 100));
  Bytes wire;
  move(queue_, 10, wire);
  channel_.down();
  const Status refused = queue_.begin(0, false);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(std::string(refused.text()).find("does not resume"), std::string::npos) << refused.text();
}

TEST_F(SendQueueTest, TheEndIsToldToAllOwners) {
  Op waits, kept, counted;
  Count count;
  counted.carry(make_bytes(100, 1), 0);
  counted.undelivered = &count;
  kept.carry(make_bytes(100, 1), 1);
  waits.carry(make_bytes(100, 1), 2);
  for (Op* op : {&counted, &kept, &waits}) queue_.push(*op);
  Bytes wire;
  move(queue_, 2 * (wire::kHeaderBytes + 100) + 1, wire);
  queue_.fail(Status::error(MPI_ERR_OTHER, "over"));
  EXPECT_TRUE(counted.taken == 1 && !counted.failed);
  EXPECT_TRUE(count.times == 1 && count.failed);
  EXPECT_TRUE(kept.taken == 1 && kept.failed);
  EXPECT_TRUE(waits.taken == 1 && waits.failed);
  EXPECT_TRUE(queue_.all_sent());
}

// Frames of all kinds, acknowledged now and then, over a wire that breaks: the receiver has each once and in order.
TEST_F(SendQueueTest, WhatComesOfManyBreaksIsOneStream) {
  std::mt19937 random(7);
  std::deque<Op> ops;
  std::deque<ScatteredWalk> walks;
  Bytes wire;
  std::size_t read = 0;
  std::uint64_t posted = 0, received = 0;
  const auto receive = [&] {
    while (wire.size() - read >= wire::kHeaderBytes) {
      wire::FrameHeader header;
      std::memcpy(header.words, &wire[read], sizeof header.words);
      const std::size_t frame = wire::kHeaderBytes + header.payload_bytes();
      if (wire.size() - read < frame) return;
      ASSERT_EQ(header.numbers().sequence, static_cast<std::uint32_t>(received));
      ASSERT_EQ(header.own(0), received);
      const Bytes payload(wire.begin() + static_cast<std::ptrdiff_t>(read + wire::kHeaderBytes),
                          wire.begin() + static_cast<std::ptrdiff_t>(read + frame));
      ASSERT_TRUE(payload == make_bytes(payload.size(), received)) << received;
      ++received;
      read += frame;
    }
  };
  for (int step = 0; step < 20'000; ++step) {
    const unsigned kind = random() % 16;
    if (kind < 7) {
      posted += copy(posted, random() % 600);
    } else if (kind < 9) {
      Op& op = ops.emplace_back();
      const std::uint64_t size = 1 + random() % 20'000;
      op.carry(make_bytes(size, posted), posted);
      if (kind == 8) op.data = nullptr, op.walk = &walks.emplace_back(op.bytes, random() % 2 == 0);
      queue_.push(op);
      ++posted;
    } else if (kind < 13) {
      move(queue_, random() % 40'000, wire);
      receive();
    } else if (kind == 13) {
      queue_.copy_kept(SendQueue::Loans::kAll);
      queue_.tell();
    } else if (kind == 14) {
      ASSERT_TRUE(acknowledge(received));
    } else if (random() % 8 == 0) {
      channel_.down();
      wire.clear();
      read = 0;
      ASSERT_TRUE(queue_.begin(received, true).ok());
    }
    if (HasFatalFailure()) return;
  }
  move(queue_, 1 << 30, wire);
  receive();
  ASSERT_TRUE(acknowledge(received));
  EXPECT_EQ(received, posted);
  for (const Op& op : ops) EXPECT_TRUE(op.taken == 1 && !op.failed);
}

}  // namespace
}  // namespace lapwing::net::tcp
