// What ends a collective request with an error: peers that are lost or leave, calls that do not match, lengths that do not, arguments that the
// standard forbids.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "coll/collective_job_for_tests.h"

namespace lapwing::coll {
namespace {

TEST(CollectiveFailures, ALostPeerEndsItWithAWord) {
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

TEST(CollectiveFailures, ATruncatedMessageFailsTheWhole) {
  check_truncation(With::kMessages);
}
TEST(CollectiveFailures, ATruncatedPostFailsTheReceiver) {
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
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      requests[rank] = job.start(rank, parts[rank].call(Collective::kBarrier));
    job.run();
    for (std::uint32_t rank = 0; rank < 2; ++rank) EXPECT_TRUE(job.take(rank, requests[rank]).ok()) << "told once";
  }
}

// A program that goes on after the error may use the communicator: one rank has been told, the others' calls were alike. And the next difference is told.
TEST(Mismatch, IsToldOnce) {
  constexpr std::uint32_t kRanks = 3;
  for (const With with : {With::kMessages, With::kSharedAreas}) {
    Buffers parts[kRanks];
    Job job(kRanks, 1, with);
    const auto errors_of = [&](auto call_of) {
      request::Request* requests[kRanks];
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) requests[rank] = job.start(rank, call_of(rank));
      job.run();
      int errors = 0;
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) errors += job.take(rank, requests[rank]).ok() ? 0 : 1;
      return errors;
    };
    const auto broadcast = [&](std::uint32_t rank) {
      return parts[rank].call(Collective::kBcast, 0, MPI_OP_NULL, rank == 1 ? 1 : 2);
    };
    for (int time = 0; time < 2; ++time) {
      EXPECT_EQ(errors_of(broadcast), 1) << "the rank that takes less";
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(errors_of([&](std::uint32_t rank) { return parts[rank].call(Collective::kAllreduce, 0, MPI_SUM); }), 0);
      EXPECT_EQ(errors_of([&](std::uint32_t rank) { return parts[rank].call(Collective::kBarrier); }), 0);
    }
  }
}

// One rank gives or takes less. In messages a rank that is told of it says so to those that wait for it, and takes in what still comes: each call ends on
// all ranks, one at least is told, nothing is left in a queue, and the communicator may be used.
TEST(Mismatch, HoldsUpNoRank) {
  const std::pair<Collective, MPI_Op> kinds[] = {{Collective::kBcast, MPI_OP_NULL},     {Collective::kGather, MPI_OP_NULL},
                                                 {Collective::kScatter, MPI_OP_NULL},   {Collective::kAllgather, MPI_OP_NULL},
                                                 {Collective::kAlltoall, MPI_OP_NULL},  {Collective::kReduce, MPI_SUM},
                                                 {Collective::kAllreduce, MPI_SUM},     {Collective::kScan, MPI_SUM},
                                                 {Collective::kExscan, MPI_SUM},        {Collective::kReduceScatterBlock, MPI_SUM}};
  constexpr std::uint32_t kRanks = 5;
  for (const auto& [what, op] : kinds) {
    for (const std::uint64_t count : {std::uint64_t{2}, std::uint64_t{20000}}) {
      for (std::uint32_t odd = 0; odd < kRanks; ++odd) {
        SCOPED_TRACE(std::string(name(what)) + " of " + std::to_string(count) + ", rank " + std::to_string(odd) + " has one less");
        Job job(kRanks, odd + 1);
        std::vector<std::vector<int>> in(kRanks, std::vector<int>(kRanks * count, 1)), out = in;
        const auto errors_of = [&](Collective called, std::uint64_t usual, std::uint64_t odd_count) {
          request::Request* requests[kRanks];
          for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
            Call call = sum_of_ints(in[rank].data(), out[rank].data(), rank == odd ? odd_count : usual);
            call.what = called;
            call.send.count = call.receive.count;
            call.send.type = call.receive.type;
            call.op = op == MPI_OP_NULL ? nullptr : datatype::resolve_op(op);
            requests[rank] = job.start(rank, call);
          }
          job.run();
          int errors = 0;
          for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
            EXPECT_TRUE(requests[rank]->done()) << "rank " << rank << " waits";
            if (requests[rank]->done()) errors += job.take(rank, requests[rank]).ok() ? 0 : 1;
          }
          return errors;
        };
        EXPECT_GE(errors_of(what, count, count - 1), 1);
        if (HasFailure()) return;
        for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
          const std::string left = job.loop()[rank].messenger.describe();
          EXPECT_EQ(left.find("0 posted receives, 0 unexpected messages"), 0u) << "rank " << rank << ": " << left;
        }
        EXPECT_EQ(errors_of(what, count, count), 0) << "afterwards";
      }
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
                        {Collective::kReduce, MPI_SUM, 9},        {Collective::kReduce, MPI_SUM, 10000},
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

}  // namespace
}  // namespace lapwing::coll
