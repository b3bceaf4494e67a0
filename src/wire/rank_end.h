// What mpiexec tells its ranks when one of them has ended without MPI_Finalize and the others go on: one packet on the socket of
// its questions (docs/wire-format.md), told from those by its length. In the machine's byte order, as both are on one machine.
#pragma once

#include <cstdint>

namespace lapwing::wire {

struct RankEnd {
  std::uint32_t rank;
  std::int32_t wait_status;  // as waitpid() gives it
};
static_assert(sizeof(RankEnd) == 8);

}  // namespace lapwing::wire
