// From a call to a schedule: chooses the algorithms and gives them the user's data as blocks.
#pragma once

#include "base/status.h"
#include "coll/call.h"
#include "coll/schedule.h"
#include "comm/communicator.h"

namespace lapwing::coll {

// What follows a call, on an area: its ranks wait for each other, and rank 0 gets a number that each has.
struct AtEnd {
  bool meets = false;
  double* own = nullptr;
  double* of_all = nullptr;  // one for each rank, at rank 0
};

// The call has passed check(). `situation` but for the number of ranks: with levels, its area is that of this host's ranks (area_place.h). The
// schedule is sealed on return.
void compile(const Call& call, const comm::Communicator& communicator, const Situation& situation, Schedule& schedule, const AtEnd& at_end = {});

// The parts, for tests and for composing. The schedule's team is set and the reduction's op too.
void compile_intra(const Call& call, Schedule& schedule);
void compile_inter(const Call& call, const comm::Communicator& communicator, Schedule& schedule);
void compile_neighbor(const Call& call, const comm::Communicator& communicator, Schedule& schedule);

// Chooses by size among the algorithms for one collective inside one group.
void compile_bcast(Schedule& schedule, const Block& data, int root);
void compile_reduce(Schedule& schedule, const Block& input, const Block& output, int root);
void compile_allreduce(Schedule& schedule, const Block& input, const Block& output);
void compile_allgather(Schedule& schedule, const Blocks& all);
void compile_allgather(Schedule& schedule, const Block& mine, const Blocks& all);
// Blocks of `bytes` each. An empty `mine` at the root means MPI_IN_PLACE.
void compile_gather(Schedule& schedule, const Block& mine, const Blocks& all, int root, std::uint64_t bytes);
// `together`: the blocks, at the root, as one.
void compile_scatter(Schedule& schedule, const Block& together, const Blocks& all, const Block& mine, int root,
                     std::uint64_t bytes);
// Where each rank's part of a reduce-scatter begins, in elements; ranks + 1 numbers.
std::vector<std::uint64_t> reduce_scatter_starts(const Call& call, int ranks);

}  // namespace lapwing::coll
