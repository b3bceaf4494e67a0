// A collective call: which one, and the arguments as the user gave them. One plain value serves the blocking, the
// non-blocking and the persistent form; the schedule is compiled from it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/count_array.h"
#include "base/status.h"
#include "coll/block.h"
#include "comm/communicator.h"
#include "datatype/datatype.h"
#include "datatype/op.h"
#include "mpi.h"

namespace lapwing::coll {

enum class Collective : std::uint8_t {
  kAllgather,
  kAllgatherv,
  kAllreduce,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kBarrier,
  kBcast,
  kExscan,
  kGather,
  kGatherv,
  kReduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kScatter,
  kScatterv,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
};

// "MPI_Allgather" and so on.
const char* name(Collective what) noexcept;
// Whether one rank has another part than the others.
bool is_rooted(Collective what) noexcept;

// How it is called. Calls of different forms do not match each other, so each may be carried out in its own way.
enum class Form : std::uint8_t { kBlocking, kNonblocking, kPersistent };

// One side's data: `buffer`, and count and type, or arrays of them. Only what the collective has is set. What does not
// count on this rank may be anything, even a type that is none: it is looked up only where it is used.
struct Side {
  const void* buffer = nullptr;
  std::uint64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CountArray counts;
  CountArray displacements;
  const MPI_Datatype* types = nullptr;

  bool in_place() const noexcept { return buffer == MPI_IN_PLACE; }
  Block block() const noexcept { return coll::block(buffer, count, datatype::resolve(type)); }
  // By rank, whatever form the arguments have.
  Blocks blocks(int ranks) const;
};

struct Call {
  Collective what = Collective::kBarrier;
  Side send;
  Side receive;  // MPI_Bcast: its one buffer. Reductions: the count and type are in both sides
  datatype::Op* op = nullptr;
  int root = 0;

  // Whether a schedule made for one such call may be used for the next. Not with derived types, of which another one may come to live at
  // the same address.
  bool repeatable(const comm::Communicator& communicator) const noexcept;
  // The same but for what is in its arrays.
  bool same(const Call& other) const noexcept;
};

// What was in the arrays of a call, as far as they count on this rank. The arrays may change until the next call, or go.
class ArrayContents {
 public:
  ArrayContents() = default;
  ArrayContents(const Call& call, const comm::Communicator& communicator);
  bool same(const Call& call, const comm::Communicator& communicator) const noexcept;

 private:
  std::vector<MPI_Count> values_;
};

// What the shims cannot check for themselves: roots, MPI_IN_PLACE, operations, kinds of communicator.
Status check(const Call& call, const comm::Communicator& communicator);

}  // namespace lapwing::coll
