// Collectives over real messengers, in one thread (collective_job_for_tests.h): the request that runs schedules, persistent and kept requests,
// calls at once, user-defined operations, agreements. Its failures: collective_failures_test.cc.
#include "coll/collective_request.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "coll/cache.h"
#include "coll/collective_job_for_tests.h"
#include "coll/communicator_state.h"
#include "coll/execute.h"
#include "coll/simulation_for_tests.h"

namespace lapwing::coll {
namespace {

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
