#include "coll/call.h"

#include "coll/buffer_check.h"
#include "comm/topology.h"

namespace lapwing::coll {

const char* name(Collective what) noexcept {
  switch (what) {
    case Collective::kAllgather:
      return "MPI_Allgather";
    case Collective::kAllgatherv:
      return "MPI_Allgatherv";
    case Collective::kAllreduce:
      return "MPI_Allreduce";
    case Collective::kAlltoall:
      return "MPI_Alltoall";
    case Collective::kAlltoallv:
      return "MPI_Alltoallv";
    case Collective::kAlltoallw:
      return "MPI_Alltoallw";
    case Collective::kBarrier:
      return "MPI_Barrier";
    case Collective::kBcast:
      return "MPI_Bcast";
    case Collective::kExscan:
      return "MPI_Exscan";
    case Collective::kGather:
      return "MPI_Gather";
    case Collective::kGatherv:
      return "MPI_Gatherv";
    case Collective::kReduce:
      return "MPI_Reduce";
    case Collective::kReduceScatter:
      return "MPI_Reduce_scatter";
    case Collective::kReduceScatterBlock:
      return "MPI_Reduce_scatter_block";
    case Collective::kScan:
      return "MPI_Scan";
    case Collective::kScatter:
      return "MPI_Scatter";
    case Collective::kScatterv:
      return "MPI_Scatterv";
    case Collective::kNeighborAllgather:
      return "MPI_Neighbor_allgather";
    case Collective::kNeighborAllgatherv:
      return "MPI_Neighbor_allgatherv";
    case Collective::kNeighborAlltoall:
      return "MPI_Neighbor_alltoall";
    case Collective::kNeighborAlltoallv:
      return "MPI_Neighbor_alltoallv";
    case Collective::kNeighborAlltoallw:
      return "MPI_Neighbor_alltoallw";
  }
  return "a collective";
}

Blocks Side::blocks(int ranks) const {
  if (ranks == 0) return {};
  if (types != nullptr) return typed_blocks(buffer, counts, displacements, types, ranks);
  if (counts) return vector_blocks(buffer, counts, displacements, *datatype::resolve(type), ranks);
  return uniform_blocks(buffer, count, *datatype::resolve(type), ranks);
}

bool is_rooted(Collective what) noexcept {
  switch (what) {
    case Collective::kBcast:
    case Collective::kGather:
    case Collective::kGatherv:
    case Collective::kReduce:
    case Collective::kScatter:
    case Collective::kScatterv:
      return true;
    default:
      return false;
  }
}

namespace {

bool same_side(const Side& a, const Side& b) noexcept {
  return a.buffer == b.buffer && a.count == b.count && a.type == b.type;
}

bool repeatable_side(const Side& side) noexcept {
  return side.types == nullptr && is_predefined(side.type);
}

bool has_arrays(const Side& side) noexcept {
  return static_cast<bool>(side.counts) || static_cast<bool>(side.displacements);
}

bool is_neighborhood(Collective what) noexcept {
  return what >= Collective::kNeighborAllgather;
}

// Calls `look(value)` with every value in the arrays that count on this rank, until it returns false. Inside one group.
template <typename Look>
bool for_values(const Call& call, const comm::Communicator& communicator, Look look) {
  const bool is_root = call.root == communicator.rank();
  const bool sends = !call.send.in_place() && (call.what != Collective::kScatterv || is_root);
  const bool receives = call.what != Collective::kGatherv || is_root;
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto look_at = [&](const Side& side, std::size_t length) {
    for (const CountArray& array : {side.counts, side.displacements}) {
      for (std::size_t i = 0; array && i < length; ++i)
        if (!look(array[i])) return false;
    }
    return true;
  };
  const bool near = is_neighborhood(call.what);
  return (!sends || !has_arrays(call.send) || look_at(call.send, near ? comm::outdegree(communicator) : ranks)) &&
         (!receives || !has_arrays(call.receive) || look_at(call.receive, near ? comm::indegree(communicator) : ranks));
}

Status check_root(const Call& call, const comm::Communicator& communicator) {
  const int limit = communicator.remote_size();
  if (call.root >= 0 && call.root < limit) return {};
  if (communicator.is_inter()) {
    if (call.root == MPI_ROOT || call.root == MPI_PROC_NULL) return {};
    return Status::error(
        MPI_ERR_ROOT,
        "root is %d: in an inter-communicator it is MPI_ROOT, MPI_PROC_NULL or a rank of the remote group, "
        "0 to %d",
        call.root, limit - 1);
  }
  return Status::error(MPI_ERR_ROOT, "root is %d, but the ranks of this communicator are 0 to %d", call.root,
                       limit - 1);
}

// Where MPI_IN_PLACE may stand: in the send buffer of most collectives, at the root only for gather and reduce, in the
// receive buffer of the root of scatter.
Status check_in_place(const Call& call, const comm::Communicator& communicator) {
  const bool receives = call.receive.in_place();
  if (!call.send.in_place() && !receives) return {};
  if (communicator.is_inter()) {
    return Status::error(MPI_ERR_BUFFER, "MPI_IN_PLACE has no meaning in an inter-communicator");
  }
  if (is_neighborhood(call.what)) {
    return Status::error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed in neighborhood collectives");
  }
  const bool at_root = call.root == communicator.rank();
  switch (call.what) {
    case Collective::kBcast:
      return Status::error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed: the buffer is the same on the root anyway");
    case Collective::kScatter:
    case Collective::kScatterv:
      if (receives && at_root) return {};
      if (!receives && !at_root) return {};  // the send buffer counts at the root only
      return Status::error(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the receive buffer of the root (rank %d)", call.root);
    case Collective::kGather:
    case Collective::kGatherv:
    case Collective::kReduce:
      if (at_root && !receives) return {};
      if (!at_root && !call.send.in_place()) return {};  // the receive buffer counts at the root only
      return Status::error(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the send buffer of the root (rank %d)", call.root);
    default:
      if (receives)
        return Status::error(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the send buffer, not for the receive buffer");
      return {};
  }
}

// Arrays with one entry for each neighbour. Shims check those that have one for each rank.
Status check_arrays(const char* side_name, const Side& side, bool typed, std::size_t neighbours) {
  if (neighbours == 0) return {};
  const auto missing = [&](const char* array) {
    return Status::error(MPI_ERR_ARG, "%s%s is a null pointer, but there are %zu neighbors on that side", side_name, array, neighbours);
  };
  if (!side.counts) return missing("counts");
  if (!side.displacements) return missing("displs");
  if (typed && side.types == nullptr) return missing("types");
  for (std::size_t i = 0; i < neighbours; ++i) {
    if (side.counts[i] < 0)
      return Status::error(MPI_ERR_COUNT, "%scounts[%zu] is %lld; it cannot be negative", side_name, i, static_cast<long long>(side.counts[i]));
    const datatype::Datatype* type = typed && side.counts[i] > 0 ? datatype::resolve(side.types[i]) : nullptr;
    if (typed && side.counts[i] > 0 && (type == nullptr || !type->usable()))
      return Status::error(MPI_ERR_TYPE, "%stypes[%zu] is no committed datatype", side_name, i);
  }
  return {};
}

Status check_neighbor_arrays(const Call& call, const comm::Communicator& communicator) {
  const bool typed = call.what == Collective::kNeighborAlltoallw;
  const bool both = typed || call.what == Collective::kNeighborAlltoallv;
  if (both) LAPWING_TRY(check_arrays("send", call.send, typed, comm::outdegree(communicator)));
  if (both || call.what == Collective::kNeighborAllgatherv)
    LAPWING_TRY(check_arrays("recv", call.receive, typed, comm::indegree(communicator)));
  return {};
}

}  // namespace

bool Call::repeatable(const comm::Communicator& communicator) const noexcept {
  if (communicator.is_inter() && (has_arrays(send) || has_arrays(receive))) return false;
  return repeatable_side(send) && repeatable_side(receive);
}

bool Call::same(const Call& other) const noexcept {
  if (what != other.what || op != other.op || root != other.root) return false;
  return same_side(send, other.send) && same_side(receive, other.receive);
}

ArrayContents::ArrayContents(const Call& call, const comm::Communicator& communicator) {
  for_values(call, communicator, [this](MPI_Count value) {
    values_.push_back(value);
    return true;
  });
}

bool ArrayContents::same(const Call& call, const comm::Communicator& communicator) const noexcept {
  if (values_.empty() && !has_arrays(call.send) && !has_arrays(call.receive)) return true;
  std::size_t at = 0;
  const bool equal = for_values(call, communicator, [&](MPI_Count value) {
    return at < values_.size() && values_[at++] == value;
  });
  return equal && at == values_.size();
}

Status check(const Call& call, const comm::Communicator& communicator) {
  if (is_rooted(call.what)) LAPWING_TRY(check_root(call, communicator));
  LAPWING_TRY(check_in_place(call, communicator));
  // MPI_PROC_NULL says that nothing else counts.
  if (call.op != nullptr && call.root != MPI_PROC_NULL) {
    LAPWING_TRY(datatype::check(*call.op, *datatype::resolve(call.receive.type)));
  }
  if (is_neighborhood(call.what) && comm::topology_of(communicator) == nullptr) {
    return Status::error(MPI_ERR_TOPOLOGY,
                         "the communicator has no topology: make one with MPI_Cart_create, MPI_Graph_create or "
                         "MPI_Dist_graph_create");
  }
  if (is_neighborhood(call.what)) LAPWING_TRY(check_neighbor_arrays(call, communicator));
  if (communicator.is_inter() && (call.what == Collective::kScan || call.what == Collective::kExscan)) {
    return Status::error(MPI_ERR_COMM, "this function is not defined for inter-communicators");
  }
  return check_buffers(call, communicator);
}

}  // namespace lapwing::coll
