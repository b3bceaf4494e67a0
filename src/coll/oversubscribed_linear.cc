// For more ranks than cores on one host: all ranks tell rank 0, and rank 0 tells all.
//
// There a message costs next to nothing and a wait costs what it takes until all the others have had the core. A tree, or doubling,
// waits ceil(log2 p) times and more; here each rank waits once: two rounds of the scheduler, whatever p is. Cost at rank 0 (LogGP):
// 2 (p - 1) (o + n G) + (p - 1) n y; so for few bytes only (selection.h).
#include "coll/algorithms.h"

namespace lapwing::coll {
namespace {

// Calls `act` with every rank but this one.
template <typename Act>
void for_others(const Schedule& schedule, Act act) {
  for (int rank = 0; rank < schedule.size(); ++rank) {
    if (rank != schedule.rank()) act(rank);
  }
}

}  // namespace

void barrier_linear(Schedule& schedule) {
  const Block signal = bytes_block(nullptr, 0);
  if (schedule.rank() != 0) {
    schedule.send(signal, 0);
    schedule.receive(signal, 0);
    return;
  }
  for_others(schedule, [&](int rank) { schedule.receive(signal, rank); });
  schedule.fence();
  for_others(schedule, [&](int rank) { schedule.send(signal, rank); });
}

void bcast_linear(Schedule& schedule, const Block& data, int root) {
  if (schedule.rank() != root) {
    schedule.receive(data, root);
    return;
  }
  for_others(schedule, [&](int rank) { schedule.send(data, rank); });
}

// x0 op (x1 op (... op xlast)): in the order of ranks.
void reduce_linear(Schedule& schedule, const Block& input, const Block& output, int root) {
  if (schedule.rank() != root) {
    schedule.send(input, root);
    return;
  }
  const int last = schedule.size() - 1;
  const Block sum = schedule.scratch_like(input);
  std::vector<Block> operands(static_cast<std::size_t>(schedule.size()), input);
  std::vector<StepId> here(static_cast<std::size_t>(schedule.size()), kNoStep);
  for (int rank = last; rank >= 0; --rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (rank == root) {
      if (rank == last) here[at] = schedule.copy(input, sum);
      continue;
    }
    operands[at] = rank == last ? sum : schedule.scratch_like(input);
    here[at] = schedule.receive(operands[at], rank);
  }
  StepId done = here[static_cast<std::size_t>(last)];
  for (int rank = last - 1; rank >= 0; --rank) {
    const auto at = static_cast<std::size_t>(rank);
    done = schedule.reduce(operands[at], sum, {done, here[at]});
  }
  schedule.copy(sum, output, {done});
}

void allreduce_linear(Schedule& schedule, const Block& input, const Block& output) {
  reduce_linear(schedule, input, output, 0);
  schedule.fence();
  bcast_linear(schedule, output, 0);
}

}  // namespace lapwing::coll
