// MPI 5.0, chapter 8: virtual topologies, cartesian and graph. Distributed graphs are in distributed_graph.cc.
//
// Ranks are not reordered: rank r of the old communicator is rank r of the new one. (MPI_Cart_map and MPI_Graph_map say
// so.)
#include "comm/topology.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mpi/communicator_creation.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

// The topology of a communicator, which must be of that kind.
template <typename T>
Status find(MPI_Comm comm, T** topology) {
  *topology = dynamic_cast<T*>(comm::topology_of(*resolve(comm)));
  if (*topology != nullptr) return {};
  constexpr bool kCartesian = std::is_same_v<T, comm::CartesianTopology>;
  return Status::error(MPI_ERR_TOPOLOGY, "the communicator has no %s topology", kCartesian ? "cartesian" : "graph");
}

std::span<const int> as_span(const int* values, int count) {
  return {values, static_cast<std::size_t>(count)};
}

Status check_grid(const comm::Communicator& communicator, int ndims, const int dims[], int* nodes) {
  if (ndims < 0) return Status::error(MPI_ERR_DIMS, "ndims is %d; it cannot be negative", ndims);
  std::int64_t product = 1;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] <= 0) return Status::error(MPI_ERR_DIMS, "dims[%d] is %d; it must be positive", i, dims[i]);
    product *= dims[i];
    if (product > communicator.size()) {
      return Status::error(MPI_ERR_TOPOLOGY, "the grid is larger than the communicator, which has %d ranks",
                           communicator.size());
    }
  }
  *nodes = static_cast<int>(product);
  return {};
}

Status check_graph(const comm::Communicator& communicator, int nnodes, const int index[], const int edges[]) {
  if (nnodes < 0) return Status::error(MPI_ERR_ARG, "nnodes is %d; it cannot be negative", nnodes);
  if (nnodes > communicator.size()) {
    return Status::error(MPI_ERR_TOPOLOGY, "the graph has %d nodes, but the communicator has %d ranks", nnodes,
                         communicator.size());
  }
  for (int i = 0, before = 0; i < nnodes; before = index[i++]) {
    if (index[i] < before)
      return Status::error(MPI_ERR_ARG, "index[%d] is %d, less than the entry before it", i, index[i]);
  }
  const int count = nnodes > 0 ? index[nnodes - 1] : 0;
  if (count > 0 && edges == nullptr)
    return Status::error(MPI_ERR_ARG, "edges is a null pointer, but has to have %d entries", count);
  for (int i = 0; i < count; ++i) {
    if (edges[i] < 0 || edges[i] >= nnodes) {
      return Status::error(MPI_ERR_ARG, "edges[%d] is %d, but the nodes are 0 to %d", i, edges[i], nnodes - 1);
    }
  }
  return {};
}

// The first `nodes` ranks with a topology; the others get MPI_COMM_NULL.
Status make_with(comm::Communicator& old, int nodes, std::unique_ptr<comm::Topology> topology, MPI_Comm* newcomm) {
  comm::Communicator* made = nullptr;
  LAPWING_TRY(split(old, old.rank() < nodes ? 0 : MPI_UNDEFINED, old.rank(), &made));
  if (made != nullptr) made->topology = std::move(topology);
  *newcomm = handle_of(made);
  return {};
}

void copy_at_most(std::span<const int> values, int capacity, int* destination) {
  std::copy_n(values.begin(), std::min(values.size(), static_cast<std::size_t>(capacity)), destination);
}

}  // namespace

Status topo_test(MPI_Comm comm, int* status) {
  const comm::Topology* topology = comm::topology_of(*resolve(comm));
  *status = topology != nullptr ? static_cast<int>(topology->kind()) : MPI_UNDEFINED;
  return {};
}

Status dims_create(int nnodes, int ndims, int dims[]) {
  if (ndims < 0) return Status::error(MPI_ERR_DIMS, "ndims is %d; it cannot be negative", ndims);
  return comm::balance_dimensions(nnodes, {dims, static_cast<std::size_t>(ndims)});
}

// ---- Cartesian

Status cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int, MPI_Comm* comm_cart) {
  comm::Communicator& old = *resolve(comm_old);
  *comm_cart = MPI_COMM_NULL;  // also where it fails
  LAPWING_TRY(check_intra(old));
  int nodes = 0;
  LAPWING_TRY(check_grid(old, ndims, dims, &nodes));
  std::vector<bool> periodic;
  for (int i = 0; i < ndims; ++i) periodic.push_back(periods[i] != 0);
  auto topology = std::make_unique<comm::CartesianTopology>(std::vector<int>(dims, dims + ndims), std::move(periodic));
  return make_with(old, nodes, std::move(topology), comm_cart);
}

Status cart_map(MPI_Comm comm, int ndims, const int dims[], const int[], int* newrank) {
  comm::Communicator& communicator = *resolve(comm);
  LAPWING_TRY(check_intra(communicator));
  int nodes = 0;
  LAPWING_TRY(check_grid(communicator, ndims, dims, &nodes));
  *newrank = communicator.rank() < nodes ? communicator.rank() : MPI_UNDEFINED;
  return {};
}

Status cartdim_get(MPI_Comm comm, int* ndims) {
  comm::CartesianTopology* grid = nullptr;
  LAPWING_TRY(find(comm, &grid));
  *ndims = grid->dimensions();
  return {};
}

Status cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]) {
  comm::CartesianTopology* grid = nullptr;
  LAPWING_TRY(find(comm, &grid));
  const int count = std::min(maxdims, grid->dimensions());
  for (int i = 0; i < count; ++i) {
    dims[i] = grid->extent(i);
    periods[i] = grid->periodic(i);
  }
  grid->coordinates(resolve(comm)->rank(), {coords, static_cast<std::size_t>(count)});
  return {};
}

Status cart_rank(MPI_Comm comm, const int coords[], int* rank) {
  comm::CartesianTopology* grid = nullptr;
  LAPWING_TRY(find(comm, &grid));
  if (coords == nullptr && grid->dimensions() > 0) return Status::error(MPI_ERR_ARG, "coords is a null pointer");
  return grid->rank_at(as_span(coords, grid->dimensions()), rank);
}

Status cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]) {
  comm::CartesianTopology* grid = nullptr;
  LAPWING_TRY(find(comm, &grid));
  grid->coordinates(rank, {coords, static_cast<std::size_t>(std::min(maxdims, grid->dimensions()))});
  return {};
}

Status cart_shift(MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest) {
  comm::CartesianTopology* grid = nullptr;
  LAPWING_TRY(find(comm, &grid));
  if (direction < 0 || direction >= grid->dimensions()) {
    return Status::error(MPI_ERR_DIMS, "direction is %d, but the grid has %d dimension%s", direction,
                         grid->dimensions(), grid->dimensions() == 1 ? "" : "s");
  }
  grid->shift(resolve(comm)->rank(), direction, disp, rank_source, rank_dest);
  return {};
}

Status cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
  comm::Communicator& old = *resolve(comm);
  comm::CartesianTopology* grid = nullptr;
  LAPWING_TRY(find(comm, &grid));
  if (remain_dims == nullptr && grid->dimensions() > 0)
    return Status::error(MPI_ERR_ARG, "remain_dims is a null pointer");
  std::vector<bool> remain;
  for (int i = 0; i < grid->dimensions(); ++i) remain.push_back(remain_dims[i] != 0);
  comm::CartesianTopology::SubGrid part = grid->subgrid(old.rank(), remain);
  comm::Communicator* made = nullptr;
  LAPWING_TRY(split(old, part.color, part.key, &made));
  made->topology = std::move(part.topology);
  *newcomm = made->handle();
  return {};
}

// ---- Graph

Status graph_create(MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int, MPI_Comm* comm_graph) {
  comm::Communicator& old = *resolve(comm_old);
  *comm_graph = MPI_COMM_NULL;
  LAPWING_TRY(check_intra(old));
  LAPWING_TRY(check_graph(old, nnodes, index, edges));
  const int count = nnodes > 0 ? index[nnodes - 1] : 0;
  auto topology = std::make_unique<comm::GraphTopology>(std::vector<int>(index, index + nnodes),
                                                        std::vector<int>(edges, edges + count));
  return make_with(old, nnodes, std::move(topology), comm_graph);
}

Status graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[], int* newrank) {
  comm::Communicator& communicator = *resolve(comm);
  LAPWING_TRY(check_intra(communicator));
  LAPWING_TRY(check_graph(communicator, nnodes, index, edges));
  *newrank = communicator.rank() < nnodes ? communicator.rank() : MPI_UNDEFINED;
  return {};
}

Status graphdims_get(MPI_Comm comm, int* nnodes, int* nedges) {
  comm::GraphTopology* graph = nullptr;
  LAPWING_TRY(find(comm, &graph));
  *nnodes = static_cast<int>(graph->index().size());
  *nedges = static_cast<int>(graph->edges().size());
  return {};
}

Status graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[]) {
  comm::GraphTopology* graph = nullptr;
  LAPWING_TRY(find(comm, &graph));
  copy_at_most(graph->index(), maxindex, index);
  copy_at_most(graph->edges(), maxedges, edges);
  return {};
}

Status graph_neighbors_count(MPI_Comm comm, int rank, int* nneighbors) {
  comm::GraphTopology* graph = nullptr;
  LAPWING_TRY(find(comm, &graph));
  *nneighbors = static_cast<int>(graph->neighbours(rank).size());
  return {};
}

Status graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]) {
  comm::GraphTopology* graph = nullptr;
  LAPWING_TRY(find(comm, &graph));
  copy_at_most(graph->neighbours(rank), maxneighbors, neighbors);
  return {};
}

}  // namespace lapwing::mpi
