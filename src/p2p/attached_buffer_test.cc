#include "p2p/attached_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "p2p/loop_network_for_tests.h"
#include "p2p/receive_request.h"

namespace lapwing::p2p {
namespace {

using Bytes = std::vector<std::uint8_t>;

SendArguments message(LoopJob& job, int tag, const Bytes& data) {
  SendArguments arguments;
  arguments.buffer = data.data();
  arguments.count = data.size();
  arguments.type = datatype::resolve(MPI_BYTE);
  arguments.destination = 1;
  arguments.tag = tag;
  arguments.communicator = job[0].world;
  arguments.mode = SendMode::kBuffered;
  return arguments;
}

bool receive(LoopJob& job, int tag, Bytes& room) {
  ReceiveArguments arguments;
  arguments.buffer = room.data();
  arguments.count = room.size();
  arguments.type = datatype::resolve(MPI_BYTE);
  arguments.source = 0;
  arguments.tag = tag;
  arguments.communicator = job[1].world;
  ReceiveRequest request(arguments);
  job[1].messenger.start(request);
  return job.run_until_done(request) && request.result().status.ok();
}

TEST(AttachedBuffer, RoomIsUsedAgainAndNeverTwice) {
  LoopJob::Options options;
  options.way.eager_limit = 64;  // so that messages stay until they are received
  LoopJob job(options);
  Bytes room(10000);
  AttachedBuffer& buffer = job[0].messenger.process_buffer();
  EXPECT_EQ(buffer.send(job[0].messenger, message(job, 1, Bytes(10))).error_class(), MPI_ERR_BUFFER);
  ASSERT_TRUE(buffer.attach(room.data(), room.size()).ok());
  EXPECT_EQ(buffer.attach(room.data(), room.size()).error_class(), MPI_ERR_BUFFER);
  std::vector<std::pair<int, std::size_t>> waiting;
  int tag = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    const std::size_t bytes = 100 + job.random() % 2000;
    if (buffer.send(job[0].messenger, message(job, tag, Bytes(bytes, static_cast<std::uint8_t>(tag)))).ok()) {
      waiting.emplace_back(tag++, bytes);
      continue;
    }
    ++refused;
    const std::size_t which = job.random() % waiting.size();
    Bytes got(waiting[which].second);
    ASSERT_TRUE(receive(job, waiting[which].first, got));
    ASSERT_EQ(got, Bytes(got.size(), static_cast<std::uint8_t>(waiting[which].first)));
    waiting.erase(waiting.begin() + static_cast<long>(which));
    job.run();
  }
  EXPECT_GT(refused, 50);
  for (const auto& [left, bytes] : waiting) {
    Bytes got(bytes);
    ASSERT_TRUE(receive(job, left, got));
    ASSERT_EQ(got, Bytes(bytes, static_cast<std::uint8_t>(left)));
  }
  job.run();
  EXPECT_TRUE(buffer.send(job[0].messenger, message(job, 1, Bytes(10000))).ok());
  Bytes whole(10000);
  EXPECT_TRUE(receive(job, 1, whole));
  job.run();
  void* memory;
  std::uint64_t bytes;
  buffer.detach(memory, bytes);
  EXPECT_EQ(memory, room.data());
  EXPECT_EQ(bytes, room.size());
}

TEST(AttachedBuffer, FlushWaitsForWhatWasThereAndForNothingLater) {
  LoopJob::Options options;
  options.way.eager_limit = 0;
  LoopJob job(options);
  AttachedBuffer& buffer = job[0].messenger.process_buffer();
  ASSERT_TRUE(buffer.attach(MPI_BUFFER_AUTOMATIC, 0).ok());
  ASSERT_TRUE(buffer.send(job[0].messenger, message(job, 1, Bytes(50000, 1))).ok());
  FlushRequest& flush = buffer.flush();
  ASSERT_TRUE(buffer.send(job[0].messenger, message(job, 2, Bytes(50000, 2))).ok());
  job.run();
  EXPECT_FALSE(flush.done());
  Bytes room(50000);
  EXPECT_TRUE(receive(job, 1, room));
  job.run();
  EXPECT_TRUE(flush.done());
  flush.destroy();
  EXPECT_TRUE(receive(job, 2, room));
  job.run();
  FlushRequest& nothing = buffer.flush();
  EXPECT_TRUE(nothing.done());
  nothing.destroy();
}

}  // namespace
}  // namespace lapwing::p2p
