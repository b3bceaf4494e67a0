// Allreduce of everything, of which each rank keeps its own part.
//
// Cost: that of allreduce_recursive_doubling(). For short operands, where sending less saves nothing.
#include "coll/algorithms.h"

namespace lapwing::coll {

void reduce_scatter_doubling(Schedule& schedule, const Block& input, const Block& output,
                             const std::vector<std::uint64_t>& starts) {
  const Block whole = schedule.scratch_like(input);
  allreduce_recursive_doubling(schedule, input, whole);
  schedule.fence();  // the output may lie in the input
  schedule.copy(whole.part(starts[static_cast<std::size_t>(schedule.rank())], output.count), output);
}

}  // namespace lapwing::coll
