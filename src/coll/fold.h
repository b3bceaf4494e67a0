// Making the number of ranks a power of two: of the first 2r ranks, the even ones give their operands to the odd ones
// and wait for the result, where r is what exceeds the power. The remaining ones keep their order, so runs of them are
// runs of ranks, and operations need not commute.
#pragma once

#include "coll/algorithms.h"

namespace lapwing::coll {

struct Fold {
  explicit Fold(const Schedule& schedule) noexcept
      : power(power_of_two_below(schedule.size())), excess(schedule.size() - power), rank(schedule.rank()) {}

  bool gives() const noexcept { return rank < 2 * excess && rank % 2 == 0; }
  bool takes() const noexcept { return rank < 2 * excess && rank % 2 == 1; }
  // Numbers among the remaining ones, and back.
  int core() const noexcept { return rank < 2 * excess ? rank / 2 : rank - excess; }
  int rank_of(int core) const noexcept { return core < excess ? 2 * core + 1 : core + excess; }

  int power;
  int excess;
  int rank;
};

}  // namespace lapwing::coll
