// Reduce-scatter, then gather: every rank reduces one piece of the operands, the root collects the pieces.
//
// Cost: 2 (p - 1)(o + g) + 2L + n (p - 1) / p (2G + y): the work of reducing is shared, and the root receives each byte
// about twice instead of log2 p times. For long operands.
#include "coll/algorithms.h"

namespace lapwing::coll {

void reduce_scatter_gather(Schedule& schedule, const Block& input, const Block& output, int root) {
  const int rank = schedule.rank();
  const int size = schedule.size();
  const std::vector<std::uint64_t> starts = even_starts(input.count, size);
  const auto piece = [&](const Block& whole, int of) {
    const std::uint64_t start = starts[static_cast<std::size_t>(of)];
    return whole.part(start, starts[static_cast<std::size_t>(of) + 1] - start);
  };
  const Block mine = schedule.scratch_like(piece(input, rank));
  reduce_scatter_pairwise(schedule, input, mine, starts);
  schedule.fence();
  Blocks all;
  if (rank == root) {
    for (int i = 0; i < size; ++i) all.push_back(piece(output, i));
  }
  gather_linear(schedule, mine, all, root);
}

}  // namespace lapwing::coll
