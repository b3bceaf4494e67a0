#include "p2p/partitioned.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "p2p/messages_for_tests.h"

namespace lapwing::p2p {
namespace {

// One operation from rank 0 to rank 1, of as many partitions on both sides.
class Partitions {
 public:
  Partitions(int count, std::size_t bytes, bool set_up = true) : data(pattern(static_cast<std::size_t>(count) * bytes, 1)), room(data.size()) {
    SendArguments sending = to(job[0], 1, 7, data);
    ReceiveArguments receiving = from(job[1], 0, 7, room);
    sending.count = receiving.count = bytes;
    send = new PartitionedSend(job[0].engine, job[0].messenger, sending, count);
    receive = new PartitionedReceive(job[1].engine, job[1].messenger, receiving, count);
    if (set_up) job.run();
  }
  ~Partitions() {
    send->destroy();
    receive->destroy();
  }
  void start() {
    EXPECT_TRUE(restart(*send).ok());
    EXPECT_TRUE(restart(*receive).ok());
  }
  void ready(int low, int high) {
    EXPECT_TRUE(send->ready(low, high).ok());
    job.run();
  }
  void end() {
    EXPECT_TRUE(send->done() && receive->done());
    EXPECT_TRUE(receive->result().status.ok());
    EXPECT_EQ(room, data);
    EXPECT_EQ(receive->result().bytes, data.size());
    send->set_active(false);
    receive->set_active(false);
    room.assign(room.size(), 0);
  }
  std::uint64_t messages() { return job[1].messenger.counters().messages_received; }

 private:
  LoopJob job{LoopJob::Options{}};
  Bytes data;
  Bytes room;

 public:
  PartitionedSend* send;
  PartitionedReceive* receive;
};

TEST(Partitioned, ALongPartitionLeavesWhenItIsReady) {
  Partitions partitions(3, 4096);
  for (int round = 0; round < 2; ++round) {
    partitions.start();
    for (const int index : {1, 2, 0}) {
      EXPECT_FALSE(partitions.receive->arrived(index));
      partitions.ready(index, index);
      EXPECT_TRUE(partitions.receive->arrived(index));
    }
    partitions.end();
  }
}

TEST(Partitioned, ShortNeighboursThatBecomeReadyTogetherAreOneMessage) {
  Partitions partitions(1000, 16);
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t before = partitions.messages();
    partitions.start();
    partitions.ready(1, 999);
    EXPECT_EQ(partitions.messages(), before + 4);
    EXPECT_FALSE(partitions.receive->arrived(0));
    for (const int index : {1, 255, 256, 999}) EXPECT_TRUE(partitions.receive->arrived(index));
    EXPECT_EQ(partitions.send->ready(0, 1).error_class(), MPI_ERR_ARG);
    partitions.ready(0, 0);
    EXPECT_EQ(partitions.messages(), before + 5);
    partitions.end();
  }
}

TEST(Partitioned, ShortNeighboursDoNotWaitForEachOther) {
  Partitions partitions(200, 8);
  partitions.start();
  for (int index = 199; index >= 0; --index) {
    EXPECT_FALSE(partitions.receive->arrived(index));
    partitions.ready(index, index);
    EXPECT_TRUE(partitions.receive->arrived(index));
  }
  partitions.end();
}

TEST(Partitioned, TheLastOneMayHaveATagOfItsOwn) {
  Partitions partitions(5, 2048);
  partitions.start();
  partitions.ready(4, 4);
  EXPECT_TRUE(partitions.receive->arrived(4));
  partitions.ready(0, 3);
  partitions.end();
}

TEST(Partitioned, WhatBecomesReadyMeanwhileFollowsInRuns) {
  Partitions partitions(9, 8);
  partitions.start();
  for (const int index : {1, 7, 3, 0, 4, 6}) EXPECT_TRUE(partitions.send->ready(index, index).ok());
  partitions.ready(8, 8);
  for (const int index : {0, 1, 3, 4, 6, 7, 8}) EXPECT_TRUE(partitions.receive->arrived(index));
  for (const int index : {2, 5}) EXPECT_FALSE(partitions.receive->arrived(index));
  partitions.ready(2, 2);
  partitions.ready(5, 5);
  partitions.end();
}

TEST(Partitioned, WhatIsStartedBeforeTheOtherSideIsSetUpIsWhole) {
  Partitions partitions(200, 8, false);
  partitions.start();
  partitions.ready(100, 199);
  EXPECT_TRUE(partitions.receive->arrived(100));
  EXPECT_FALSE(partitions.receive->arrived(99));
  partitions.ready(0, 99);
  partitions.end();
}

TEST(Partitioned, PartitionsWithoutBytesArriveAsWell) {
  Partitions partitions(50, 0);
  const std::uint64_t before = partitions.messages();
  partitions.start();
  partitions.ready(0, 48);
  EXPECT_EQ(partitions.messages(), before + 1);
  EXPECT_TRUE(partitions.receive->arrived(48));
  EXPECT_FALSE(partitions.receive->arrived(49));
  partitions.ready(49, 49);
  partitions.end();
}

}  // namespace
}  // namespace lapwing::p2p
