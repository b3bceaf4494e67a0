// Collectives over real messengers, in one thread (p2p/loop_network_for_tests.h): the request that runs schedules, its
// failures, persistent and kept requests, user-defined operations, agreements.
#include "coll/collective_request.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "coll/cache.h"
#include "coll/communicator_state.h"
#include "coll/execute.h"
#include "coll/host_memory_for_tests.h"
#include "coll/simulation_for_tests.h"
#include "p2p/loop_network_for_tests.h"

namespace lapwing::coll {
namespace {

enum class With { kMessages, kSharedAreas };

class Job {
 public:
  explicit Job(std::uint32_t ranks, unsigned seed = 1, With with = With::kMessages)
      : loop_(options(ranks, seed)), ranks_(ranks) {
    if (with == With::kMessages) return;
    memory_ = std::make_unique<HostMemoryForTests>(ranks);
    std::vector<ProcessId> here;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) here.push_back({rank});
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      hosts_.push_back(std::make_unique<HostViewForTests>(*memory_, here, rank));
      pools_.push_back(std::make_unique<AreaPool>());
      pools_.back()->on_open(*hosts_.back());
    }
  }
  ~Job() {
    for (auto& pool : pools_) pool->on_close();  // as when the network closes before the communicators go
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) world(rank).collectives.reset();
  }

  Services services(std::uint32_t rank) {
    return {loop_[rank].engine, loop_[rank].messenger, pools_.empty() ? nullptr : pools_[rank].get()};
  }
  comm::Communicator& world(std::uint32_t rank) { return *loop_[rank].world; }
  p2p::LoopJob& loop() { return loop_; }

  request::Request* start(std::uint32_t rank, const Call& call) {
    request::Request* request = nullptr;
    const Status status = coll::start(services(rank), world(rank), call, &request);
    EXPECT_TRUE(status.ok()) << status.text();
    return request;
  }
  // Moves everything until nothing moves.
  void run() {
    do {
      loop_.run();
    } while (run_application_tasklets() || poll_areas());
  }
  // On the areas: the others have lost this rank, and it them.
  void part_with(std::uint32_t rank) {
    for (std::uint32_t other = 0; other < ranks_; ++other) {
      if (other == rank) continue;
      engine::Visit visit(loop_[other].engine);
      pools_[other]->on_rank_lost(rank, Status::error(MPI_ERR_OTHER, "rank %u has gone", rank));
    }
    engine::Visit visit(loop_[rank].engine);
    for (std::uint32_t other = 0; other < ranks_; ++other) {
      if (other != rank) pools_[rank]->on_rank_lost(other, Status::error(MPI_ERR_OTHER, "this rank has gone"));
    }
  }
  Status take(std::uint32_t rank, request::Request* request) {
    EXPECT_TRUE(request->done());
    engine::Visit visit(loop_[rank].engine);
    Status status = std::move(request->result().status);
    if (request->release()) request->destroy();
    return status;
  }

 private:
  static p2p::LoopJob::Options options(std::uint32_t ranks, unsigned seed) {
    p2p::LoopJob::Options made;
    made.ranks = ranks;
    made.seed = seed;
    return made;
  }
  bool run_application_tasklets() {
    bool ran = false;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      engine::Visit visit(loop_[rank].engine);
      ran |= loop_[rank].engine.run_application_tasklets();
    }
    return ran;
  }

  bool poll_areas() {
    bool moved = false;
    for (std::uint32_t rank = 0; rank < pools_.size(); ++rank) {
      engine::Visit visit(loop_[rank].engine);
      moved |= pools_[rank]->poll();
      loop_[rank].engine.turn();
    }
    return moved;
  }

  p2p::LoopJob loop_;
  std::uint32_t ranks_;
  std::unique_ptr<HostMemoryForTests> memory_;
  std::vector<std::unique_ptr<HostViewForTests>> hosts_;
  std::vector<std::unique_ptr<AreaPool>> pools_;
};

Call sum_of_ints(const int* in, int* out, std::uint64_t count) {
  Call call;
  call.what = Collective::kAllreduce;
  call.send.buffer = in;
  call.receive.buffer = out;
  call.receive.count = count;
  call.receive.type = MPI_INT;
  call.op = datatype::resolve_op(MPI_SUM);
  return call;
}

TEST(CollectiveRequest, AllreduceOverMessengers) {
  for (const std::uint64_t count : {1u, 3000u, 200000u}) {  // one for each algorithm
    constexpr std::uint32_t kRanks = 5;
    Job job(kRanks);
    std::vector<std::vector<int>> in(kRanks, std::vector<int>(count)), out = in;
    std::vector<request::Request*> requests;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      for (std::uint64_t i = 0; i < count; ++i) in[rank][i] = static_cast<int>(i * (rank + 1));
      requests.push_back(job.start(rank, sum_of_ints(in[rank].data(), out[rank].data(), count)));
    }
    job.run();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(job.take(rank, requests[rank]).ok());
      for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(out[rank][i], static_cast<int>(i * 15));
    }
  }
}

TEST(CollectiveRequest, ManyAtOnceKeepApart) {
  constexpr std::uint32_t kRanks = 4;
  constexpr int kCalls = 40;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Job job(kRanks, seed);
    std::array<std::array<int, kCalls>, kRanks> in{}, out{};
    std::vector<std::pair<std::uint32_t, request::Request*>> requests;
    for (int i = 0; i < kCalls; ++i) {
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        in[rank][static_cast<std::size_t>(i)] = i;
        auto* request = job.start(
            rank, sum_of_ints(&in[rank][static_cast<std::size_t>(i)], &out[rank][static_cast<std::size_t>(i)], 1));
        requests.emplace_back(rank, request);
      }
    }
    job.run();
    for (auto& [rank, request] : requests) EXPECT_TRUE(job.take(rank, request).ok());
    for (const auto& each : out) {
      for (int i = 0; i < kCalls; ++i) EXPECT_EQ(each[static_cast<std::size_t>(i)], 4 * i);
    }
  }
}

// On an area they go one after the other, in the order in which they were started; a rank that starts late holds up all.
TEST(CollectiveRequest, ManyAtOnceTakeTurnsOnAnArea) {
  constexpr std::uint32_t kRanks = 4;
  constexpr std::size_t kCalls = 12;
  const std::uint64_t counts[kCalls] = {1, 28, 29, 3000, 1, 16000, 1, 2, 16000, 5000, 30, 1};
  Job job(kRanks, 1, With::kSharedAreas);
  std::vector<std::vector<std::vector<int>>> in(kRanks), out(kRanks);
  std::vector<std::pair<std::uint32_t, request::Request*>> requests;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    for (std::size_t i = 0; i < kCalls; ++i) {
      in[rank].emplace_back(counts[i], static_cast<int>(i));
      out[rank].emplace_back(counts[i], -1);
      requests.emplace_back(rank, job.start(rank, sum_of_ints(in[rank][i].data(), out[rank][i].data(), counts[i])));
    }
    EXPECT_FALSE(rank + 1 < kRanks && requests.back().second->done());
    job.run();
  }
  for (auto& [rank, request] : requests) EXPECT_TRUE(job.take(rank, request).ok());
  for (const auto& rank : out) {
    for (std::size_t i = 0; i < kCalls; ++i) EXPECT_EQ(rank[i], std::vector<int>(counts[i], static_cast<int>(4 * i)));
  }
}

// Each share of the elements is combined by one rank, which begins with its own operand: rounding depends on that, but all get the same.
TEST(CollectiveRequest, AllRanksGetTheSameBits) {
  constexpr std::uint32_t kRanks = 5;
  for (const std::uint64_t count : {7u, 3000u, 30'000u, 200'000u}) {
    Job job(kRanks, 1, With::kSharedAreas);
    std::vector<std::vector<float>> in(kRanks), out(kRanks, std::vector<float>(count));
    std::vector<request::Request*> requests;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      for (std::uint64_t i = 0; i < count; ++i) in[rank].push_back(static_cast<float>(i % 97 + 1) / static_cast<float>(rank + 3));
      Call call = sum_of_ints(nullptr, nullptr, count);
      call.send.buffer = in[rank].data();
      call.receive.buffer = out[rank].data();
      call.receive.type = MPI_FLOAT;
      requests.push_back(job.start(rank, call));
    }
    job.run();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(job.take(rank, requests[rank]).ok());
      EXPECT_EQ(out[rank], out[0]);
      for (std::uint64_t i = 0; i < count; ++i) ASSERT_NEAR(out[rank][i], static_cast<float>(i % 97 + 1) * 1.0928571f, 1e-4);
    }
  }
}

// Started in another order on each rank, again and again, with a call of another form between them. Those that get no area use messages.
TEST(CollectiveRequest, PersistentOnesHaveAreasOfTheirOwn) {
  constexpr std::uint32_t kRanks = 2;
  constexpr std::size_t kRequests = AreaPool::kMostUsed + 3;
  Job job(kRanks, 1, With::kSharedAreas);
  std::vector<std::vector<int>> in(kRanks, std::vector<int>(kRequests)), out = in;
  std::vector<std::vector<request::Request*>> requests(kRanks, std::vector<request::Request*>(kRequests));
  for (std::size_t i = 0; i < kRequests; ++i) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE(initialize(job.services(rank), job.world(rank), sum_of_ints(&in[rank][i], &out[rank][i], 1), &requests[rank][i]).ok());
      const auto& made = static_cast<CollectiveRequest&>(*requests[rank][i]);
      EXPECT_NE(&made.place(), &state_of(job.world(rank)).place);
    }
  }
  int more[kRanks] = {1, 2}, sum[kRanks] = {};
  for (int round = 0; round < 3; ++round) {
    request::Request* between[kRanks];
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      for (std::size_t i = 0; i < kRequests; ++i) {
        const std::size_t which = rank == 0 ? i : kRequests - 1 - i;
        in[rank][which] = static_cast<int>(which + rank) + round;
        engine::Visit visit(job.loop()[rank].engine);
        EXPECT_TRUE(requests[rank][which]->start().ok());
      }
      between[rank] = job.start(rank, sum_of_ints(&more[rank], &sum[rank], 1));
    }
    job.run();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(job.take(rank, between[rank]).ok());
      EXPECT_EQ(sum[rank], 3);
      for (std::size_t i = 0; i < kRequests; ++i) {
        EXPECT_TRUE(requests[rank][i]->done());
        EXPECT_EQ(out[rank][i], 2 * (static_cast<int>(i) + round) + 1);
      }
    }
  }
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    for (request::Request* request : requests[rank]) EXPECT_TRUE(job.take(rank, request).ok());
  }
}

TEST(CollectiveRequest, AKeptScheduleIsUsedAgain) {
  Job job(2);
  int in[2] = {0, 0}, out[2] = {0, 0};
  request::Request* first[2] = {};
  for (int round = 0; round < 3; ++round) {
    request::Request* requests[2];
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      in[rank] = round + 1;
      requests[rank] = job.start(rank, sum_of_ints(&in[rank], &out[rank], 1));
      if (round == 0) first[rank] = requests[rank];
      EXPECT_EQ(requests[rank], first[rank]);
    }
    job.run();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      EXPECT_TRUE(job.take(rank, requests[rank]).ok());
      EXPECT_EQ(out[rank], 2 * (round + 1));
    }
  }
}

TEST(CollectiveRequest, UserOperationsRunOnApplicationThreadsOnly) {
  constexpr std::uint32_t kRanks = 3;
  Job job(kRanks);
  std::vector<Matrix> in, out(kRanks);
  std::vector<request::Request*> requests;
  datatype::Datatype* type = nullptr;
  ASSERT_TRUE(datatype::make_contiguous(4, *datatype::resolve(MPI_UINT32_T), &type).ok());
  datatype::Op* op = new datatype::Op(static_cast<MPI_User_function*>([](void* a, void* b, int*, MPI_Datatype*) {
                                        *static_cast<Matrix*>(b) = *static_cast<Matrix*>(a) * *static_cast<Matrix*>(b);
                                      }),
                                      false);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) in.push_back(matrix(static_cast<int>(rank), 0));
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    Call call = sum_of_ints(nullptr, nullptr, 1);
    call.send.buffer = &in[rank];
    call.receive.buffer = &out[rank];
    call.receive.type = type->handle();
    call.op = op;
    requests.push_back(job.start(rank, call));
  }
  datatype::free(type);  // the schedules hold their own references
  datatype::free(op);
  job.loop().run();
  for (const auto* request : requests) EXPECT_FALSE(request->done());  // no thread was inside an MPI call
  job.run();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_TRUE(job.take(rank, requests[rank]).ok());
    EXPECT_EQ(out[rank], in[0] * in[1] * in[2]);
  }
}

TEST(CollectiveRequest, PersistentStartsAgain) {
  constexpr std::uint32_t kRanks = 3;
  Job job(kRanks);
  int in[kRanks], out[kRanks];
  request::Request* requests[kRanks];
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_TRUE(
        initialize(job.services(rank), job.world(rank), sum_of_ints(&in[rank], &out[rank], 1), &requests[rank]).ok());
    EXPECT_TRUE(requests[rank]->persistent());
    EXPECT_FALSE(requests[rank]->active());
  }
  for (int round = 1; round <= 3; ++round) {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      in[rank] = round;
      engine::Visit visit(job.loop()[rank].engine);
      EXPECT_TRUE(requests[rank]->start().ok());
    }
    job.run();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(requests[rank]->done());
      EXPECT_EQ(out[rank], 3 * round);
    }
  }
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(job.take(rank, requests[rank]).ok());
}

TEST(CollectiveRequest, ALostPeerEndsItWithAWord) {
  constexpr std::uint32_t kRanks = 4;
  Job job(kRanks);
  std::vector<std::vector<int>> in(kRanks, std::vector<int>(50000, 1)), out = in;
  std::vector<request::Request*> requests;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {  // rank 3 never comes
    requests.push_back(job.start(rank, sum_of_ints(in[rank].data(), out[rank].data(), 50000)));
  }
  for (int i = 0; i < 50; ++i) job.loop().step();
  job.loop().lose(3);
  job.run();
  // Rank 0 has to do with rank 2 alone, which gives up.
  const auto expect_failure = [&](std::uint32_t rank, request::Request* request) {
    ASSERT_TRUE(request->done());
    const Status status = job.take(rank, request);
    EXPECT_NE(std::string(status.text()).find("MPI_Allreduce"), std::string::npos) << status.text();
    EXPECT_NE(std::string(status.text()).find("rank 3"), std::string::npos) << status.text();
  };
  for (std::uint32_t rank = 0; rank < 3; ++rank) expect_failure(rank, requests[rank]);
  for (std::uint32_t rank = 0; rank < 3; ++rank)  // later ones at once
    expect_failure(rank, job.start(rank, sum_of_ints(in[rank].data(), out[rank].data(), 50000)));
}

void check_truncation(With with) {
  Job job(2, 1, with);
  int sent[4] = {1, 2, 3, 4}, received[2] = {};
  const auto bcast = [](void* buffer, std::uint64_t count) {
    Call call;
    call.what = Collective::kBcast;
    call.receive.buffer = buffer;
    call.receive.count = count;
    call.receive.type = MPI_INT;
    return call;
  };
  request::Request* root = job.start(0, bcast(sent, 4));
  request::Request* leaf = job.start(1, bcast(received, 2));
  job.run();
  EXPECT_TRUE(job.take(0, root).ok());
  const Status status = job.take(1, leaf);
  EXPECT_EQ(status.error_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(std::string(status.text())
                .find("rank 1 is in MPI_Bcast(root 0, 8 bytes), rank 0 in MPI_Bcast(root 0, 16 bytes), on "),
            0u)
      << status.text();
}

TEST(CollectiveRequest, ATruncatedMessageFailsTheWhole) {
  check_truncation(With::kMessages);
}
TEST(CollectiveRequest, ATruncatedPostFailsTheReceiver) {
  check_truncation(With::kSharedAreas);
}

// ---- calls that do not match

// A call of two ints each, with the buffers that it needs.
struct Buffers {
  int in[16] = {1, 2}, out[16] = {};
  Call call(Collective what, int root = 0, MPI_Op op = MPI_OP_NULL, std::uint64_t count = 2,
            MPI_Datatype type = MPI_INT) {
    Call made;
    made.what = what;
    made.send.buffer = in;
    made.receive.buffer = out;
    made.send.count = made.receive.count = count;
    made.send.type = made.receive.type = type;
    made.root = root;
    if (op != MPI_OP_NULL) made.op = datatype::resolve_op(op);
    return made;
  }
};

struct Pair {
  Call ours, theirs;
  int error_class;
  const char* said;  // at rank 0; null: it cannot know
};

void check_mismatches(With with) {
  Buffers a, b;
  const auto reduce = [](Buffers& p, MPI_Op op, std::uint64_t count = 2, MPI_Datatype type = MPI_INT) {
    return p.call(Collective::kAllreduce, 0, op, count, type);
  };
  const Pair pairs[] = {
      {a.call(Collective::kBarrier), reduce(b, MPI_SUM), MPI_ERR_OTHER,
       "rank 0 is in MPI_Barrier, rank 1 in MPI_Allreduce(MPI_SUM, 32-bit integers, 8 bytes), on "},
      {reduce(a, MPI_SUM), reduce(b, MPI_PROD), MPI_ERR_OP, "MPI_PROD"},
      {reduce(a, MPI_SUM), reduce(b, MPI_SUM, 2, MPI_FLOAT), MPI_ERR_TYPE, "32-bit floats"},
      {reduce(a, MPI_SUM), reduce(b, MPI_SUM, 3), MPI_ERR_TRUNCATE, "12 bytes"},
      {reduce(a, MPI_SUM, 3), reduce(b, MPI_SUM), MPI_ERR_COUNT, "12 bytes"},
      {a.call(Collective::kAllgather), b.call(Collective::kAlltoall), MPI_ERR_OTHER, "MPI_Alltoall(8 bytes)"},
      {a.call(Collective::kGather), b.call(Collective::kGather, 0, MPI_OP_NULL, 1), MPI_ERR_COUNT, "4 bytes"},
      {a.call(Collective::kBarrier), b.call(Collective::kBcast, 1), MPI_ERR_OTHER, "MPI_Bcast(root 1, 8 bytes)"},
  };
  for (const Pair& pair : pairs) {
    Job job(2, 1, with);
    request::Request* ours = job.start(0, pair.ours);
    request::Request* theirs = job.start(1, pair.theirs);
    job.run();
    (void)job.take(1, theirs).ok();
    const Status status = job.take(0, ours);
    EXPECT_EQ(status.error_class(), pair.error_class) << status.text();
    EXPECT_NE(std::string(status.text()).find(pair.said), std::string::npos) << status.text();
  }
}

TEST(Mismatch, IsFoundInMessages) {
  check_mismatches(With::kMessages);
}
TEST(Mismatch, IsFoundOnAnArea) {
  check_mismatches(With::kSharedAreas);
}

// Both take the other for the root: neither reads what the other gives. The next call that meets tells.
TEST(Mismatch, OfCallsThatMeetNoReaderIsFoundByTheNext) {
  for (const With with : {With::kMessages, With::kSharedAreas}) {
    Buffers parts[2];
    Job job(2, 1, with);
    request::Request* requests[2];
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      requests[rank] = job.start(rank, parts[rank].call(Collective::kBcast, static_cast<int>(rank)));
    job.run();
    for (std::uint32_t rank = 0; rank < 2; ++rank) EXPECT_TRUE(job.take(rank, requests[rank]).ok());
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      requests[rank] = job.start(rank, parts[rank].call(Collective::kBarrier));
    job.run();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const Status status = job.take(rank, requests[rank]);
      EXPECT_NE(std::string(status.text()).find("their calls before this one were not the same"), std::string::npos)
          << status.text();
    }
  }
}

// A rank that has found a mismatch still posts what the others wait for, and computes nothing.
TEST(Mismatch, OnAnAreaHoldsUpNoRank) {
  Job job(3, 1, With::kSharedAreas);
  std::vector<std::vector<int>> in(3, std::vector<int>(5000, 1)), out = in;
  request::Request* requests[3];
  for (std::uint32_t rank = 0; rank < 3; ++rank) {  // in shares: two rounds
    Call call = sum_of_ints(in[rank].data(), out[rank].data(), 5000);
    if (rank == 1) call.op = datatype::resolve_op(MPI_MAX);
    requests[rank] = job.start(rank, call);
  }
  job.run();
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(job.take(rank, requests[rank]).error_class(), MPI_ERR_OP);
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(out[rank], in[rank]) << "nothing was written";
}

// ---- blocking calls at once

// Two ranks that have each made a broadcast and a barrier already, so that both are kept.
class AtOnce : public testing::Test {
 protected:
  AtOnce() {
    for (const bool moves : {true, false}) {
      request::Request* requests[2];
      for (std::uint32_t rank = 0; rank < 2; ++rank) requests[rank] = job_.start(rank, moves ? bcast(rank) : barrier_);
      job_.run();
      for (std::uint32_t rank = 0; rank < 2; ++rank) EXPECT_TRUE(job_.take(rank, requests[rank]).ok());
    }
  }

  Call& bcast(std::uint32_t rank) {
    Call& call = bcasts_[rank];
    call.what = Collective::kBcast;
    call.receive.buffer = &values_[rank];
    call.receive.count = 1;
    call.receive.type = MPI_INT;
    return call;
  }
  // False: it has been started, as *rest.
  bool at_once(std::uint32_t rank, const Call& call, request::Request** rest = nullptr) {
    engine::Visit visit(job_.services(rank).engine);
    CollectiveRequest* kept = repeat(job_.world(rank), call, Form::kNonblocking, false);
    EXPECT_NE(kept, nullptr);
    if (kept->run_at_once(job_.world(rank))) {
      keep_again(job_.world(rank), *kept);
      return true;
    }
    kept->lend(job_.world(rank));
    EXPECT_TRUE(kept->start().ok());
    *rest = kept;
    return false;
  }

  Job job_{2, 1, With::kSharedAreas};
  int values_[2] = {};
  Call bcasts_[2], barrier_;
};

TEST_F(AtOnce, ARootNeedNotWaitNorAReceiverThatComesLater) {
  for (int i = 1; i < 50; ++i) {
    values_[0] = i;
    ASSERT_TRUE(at_once(0, bcast(0)));
    ASSERT_TRUE(at_once(1, bcast(1)));
    ASSERT_EQ(values_[1], i);
  }
}

TEST_F(AtOnce, WhatHasToWaitGoesOnWhereItStopped) {
  for (int i = 1; i < 50; ++i) {
    request::Request* rest = nullptr;
    ASSERT_FALSE(at_once(1, bcast(1), &rest));
    values_[0] = i;
    ASSERT_TRUE(at_once(0, bcast(0)));
    job_.run();
    ASSERT_TRUE(job_.take(1, rest).ok());
    ASSERT_EQ(values_[1], i);
  }
}

TEST_F(AtOnce, AnOperationThatIsUnderWayComesFirst) {
  request::Request* earlier = job_.start(0, barrier_);
  request::Request* rest = nullptr;
  values_[0] = 7;
  ASSERT_FALSE(at_once(0, bcast(0), &rest)) << "the barrier has the area";
  request::Request* others[2] = {job_.start(1, barrier_), job_.start(1, bcast(1))};
  job_.run();
  for (request::Request* request : {earlier, rest}) EXPECT_TRUE(job_.take(0, request).ok());
  for (request::Request* request : others) EXPECT_TRUE(job_.take(1, request).ok());
  EXPECT_EQ(values_[1], 7);
}

TEST_F(AtOnce, ADifferenceIsToldByTheRequest) {
  request::Request *first = nullptr, *second = nullptr;
  ASSERT_FALSE(at_once(0, barrier_, &first));
  ASSERT_FALSE(at_once(1, bcast(1), &second));
  job_.run();
  EXPECT_FALSE(job_.take(0, first).ok());
  EXPECT_FALSE(job_.take(1, second).ok());
}

// ---- a rank that leaves

// Each of the algorithms on an area, and each rank as the one that leaves: before it has begun, when it has done what it can while the
// others have not begun, and when they are all under way. No rank may be left waiting, and where the one that left had done its part, all
// goes well.
TEST(Leaving, AtAnAreaHoldsUpNoRank) {
  struct Kind {
    Collective what;
    MPI_Op op;
    std::uint64_t count;
  };
  const Kind kinds[] = {{Collective::kBarrier, MPI_OP_NULL, 0},   {Collective::kBcast, MPI_OP_NULL, 100},
                        {Collective::kGather, MPI_OP_NULL, 100},  {Collective::kScatter, MPI_OP_NULL, 100},
                        {Collective::kAllgather, MPI_OP_NULL, 9}, {Collective::kAlltoall, MPI_OP_NULL, 9},
                        {Collective::kReduce, MPI_SUM, 9},        {Collective::kReduce, MPI_SUM, 5000},
                        {Collective::kAllreduce, MPI_SUM, 9},     {Collective::kAllreduce, MPI_SUM, 5000},
                        {Collective::kScan, MPI_SUM, 9},          {Collective::kReduceScatterBlock, MPI_SUM, 9}};
  constexpr std::uint32_t kRanks = 3;
  enum When { kBefore, kAfterItsPart, kUnderWay };
  for (const Kind& kind : kinds) {
    for (std::uint32_t leaver = 0; leaver < kRanks; ++leaver) {
      for (const When when : {kBefore, kAfterItsPart, kUnderWay}) {
        Job job(kRanks, 1, With::kSharedAreas);
        std::vector<std::vector<int>> in(kRanks, std::vector<int>(kRanks * 5000, 1)), out = in;
        const auto begin = [&](std::uint32_t rank) {
          Call call;
          call.what = kind.what;
          call.send.buffer = in[rank].data();
          call.receive.buffer = out[rank].data();
          call.send.count = call.receive.count = kind.count;
          call.send.type = call.receive.type = MPI_INT;
          if (kind.op != MPI_OP_NULL) call.op = datatype::resolve_op(kind.op);
          return job.start(rank, call);
        };
        std::vector<std::pair<std::uint32_t, request::Request*>> requests;
        if (when != kBefore) requests.emplace_back(leaver, begin(leaver));
        job.run();
        const bool done = when != kBefore && requests[0].second->done();
        if (when != kUnderWay) job.part_with(leaver);
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
          if (rank != leaver) requests.emplace_back(rank, begin(rank));
        }
        if (when == kUnderWay) job.part_with(leaver);
        job.run();
        for (auto& [rank, request] : requests) {
          ASSERT_TRUE(request->done()) << name(kind.what) << ", rank " << leaver << " left, rank " << rank << " waits";
          const Status status = job.take(rank, request);
          EXPECT_TRUE(status.ok() || !done) << name(kind.what) << ", rank " << rank << ": " << status.text();
        }
      }
    }
  }
}

TEST(Checks, RefuseWhatTheStandardForbids) {
  Job job(2);
  int in = 1, out = 0;
  const auto error_of = [&](const Call& call) {
    request::Request* request = nullptr;
    return start(job.services(0), job.world(0), call, &request).error_class();
  };
  Call call = sum_of_ints(&in, &out, 1);
  call.op = datatype::resolve_op(MPI_MINLOC);
  EXPECT_EQ(error_of(call), MPI_ERR_OP);
  call = sum_of_ints(&in, static_cast<int*>(MPI_IN_PLACE), 1);
  EXPECT_EQ(error_of(call), MPI_ERR_BUFFER);
  call = sum_of_ints(&in, &out, 1);
  call.what = Collective::kReduce;
  call.root = 2;
  EXPECT_EQ(error_of(call), MPI_ERR_ROOT);
  call.root = 1;
  call.send.buffer = MPI_IN_PLACE;
  EXPECT_EQ(error_of(call), MPI_ERR_BUFFER);
  call = {};
  call.what = Collective::kNeighborAlltoall;
  EXPECT_EQ(error_of(call), MPI_ERR_TOPOLOGY);
}

TEST(Internal, AgreementTakesTheFirstMembersNumber) {
  constexpr std::uint32_t kRanks = 5;
  Job job(kRanks);
  const std::vector<int> members{3, 1, 4};
  std::uint64_t all[kRanks] = {}, some[kRanks] = {};
  const OnAgreed note = [](void* context, std::uint64_t value) { *static_cast<std::uint64_t*>(context) = value; };
  std::vector<std::pair<std::uint32_t, request::Request*>> requests;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    request::Request* request = nullptr;
    ASSERT_TRUE(
        start_context_agreement(job.services(rank), {job.world(rank)}, 100 + rank, note, &all[rank], &request).ok());
    requests.emplace_back(rank, request);
  }
  for (const int rank : members) {
    const auto r = static_cast<std::uint32_t>(rank);
    request::Request* request = nullptr;
    const Team team{job.world(r), comm::Plane::kManagement, &members, 77};
    ASSERT_TRUE(start_context_agreement(job.services(r), team, 200 + r, note, &some[r], &request).ok());
    requests.emplace_back(r, request);
  }
  job.run();
  for (auto& [rank, request] : requests) EXPECT_TRUE(job.take(rank, request).ok());
  for (const std::uint64_t value : all) EXPECT_EQ(value, 100u);
  for (const int rank : members) EXPECT_EQ(some[rank], 203u);
}

}  // namespace
}  // namespace lapwing::coll
