// Ranks that carry out collectives over real messengers, all in one thread (p2p/loop_network_for_tests.h), or on shared areas in memory of
// one process.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "coll/area_pool.h"
#include "coll/execute.h"
#include "coll/host_memory_for_tests.h"
#include "p2p/loop_network_for_tests.h"

namespace lapwing::coll {

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

inline Call sum_of_ints(const int* in, int* out, std::uint64_t count) {
  Call call;
  call.what = Collective::kAllreduce;
  call.send.buffer = in;
  call.receive.buffer = out;
  call.receive.count = count;
  call.receive.type = MPI_INT;
  call.op = datatype::resolve_op(MPI_SUM);
  return call;
}

}  // namespace lapwing::coll
