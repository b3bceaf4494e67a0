// MPI 5.0, section 8.5.4: graphs of which each process knows its own edges, or those of others.
//
// MPI_Dist_graph_create lets any process contribute any edge. Each edge goes to the two ranks that it joins and to no other: one exchange of the
// numbers of edges between all ranks, 16 bytes for each, and one of the edges, 12 bytes for each of the two.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/topology.h"
#include "mpi/communicator_creation.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

using Graph = comm::DistributedGraphTopology;

struct Edge {
  std::int32_t source;
  std::int32_t destination;
  std::int32_t weight;
};

// What one rank says to another first.
struct Announcement {
  std::uint64_t edges;
  std::uint64_t weighted;
};

Status check_neighbour(const comm::Communicator& communicator, const char* parameter, int index, int rank) {
  if (rank >= 0 && rank < communicator.size()) return {};
  return Status::error(MPI_ERR_RANK, "%s[%d] is %d, but the communicator has %d ranks", parameter, index, rank,
                       communicator.size());
}

Status check_weight(const char* parameter, int index, int weight) {
  if (weight >= 0) return {};
  return Status::error(MPI_ERR_ARG, "%s[%d] is %d; a weight cannot be negative", parameter, index, weight);
}

bool has_values(const int weights[], int count) {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY && count > 0;
}

// The edges in one direction, as the caller of the adjacent form gives them.
Status read_edges(const comm::Communicator& communicator, const char* direction, int degree, const int ranks[],
                  const int weights[], Graph::Edges& edges) {
  if (degree < 0) return Status::error(MPI_ERR_ARG, "the number of %s is %d; it cannot be negative", direction, degree);
  if (degree > 0 && (weights == nullptr || weights == MPI_WEIGHTS_EMPTY)) {
    return Status::error(MPI_ERR_ARG, "the weights of %s are %s, but there are %d", direction,
                         weights == nullptr ? "a null pointer" : "MPI_WEIGHTS_EMPTY", degree);
  }
  for (int i = 0; i < degree; ++i) LAPWING_TRY(check_neighbour(communicator, direction, i, ranks[i]));
  if (degree > 0) edges.ranks.assign(ranks, ranks + degree);
  if (!has_values(weights, degree)) return {};
  for (int i = 0; i < degree; ++i) LAPWING_TRY(check_weight(direction, i, weights[i]));
  edges.weights.assign(weights, weights + degree);
  return {};
}

Status read_contribution(const comm::Communicator& communicator, int n, const int sources[], const int degrees[],
                         const int destinations[], const int weights[], std::vector<Edge>& edges) {
  int next = 0;
  for (int i = 0; i < n; ++i) {
    LAPWING_TRY(check_neighbour(communicator, "sources", i, sources[i]));
    if (degrees[i] < 0) return Status::error(MPI_ERR_ARG, "degrees[%d] is %d; it cannot be negative", i, degrees[i]);
    if (degrees[i] > 0 && (destinations == nullptr || weights == nullptr || weights == MPI_WEIGHTS_EMPTY)) {
      return Status::error(MPI_ERR_ARG, "there are edges, but destinations or weights is not given");
    }
    for (const int end = next + degrees[i]; next < end; ++next) {
      LAPWING_TRY(check_neighbour(communicator, "destinations", next, destinations[next]));
      const int weight = weights == MPI_UNWEIGHTED ? 0 : weights[next];
      LAPWING_TRY(check_weight("weights", next, weight));
      edges.push_back({sources[i], destinations[next], weight});
    }
  }
  return {};
}

void keep(int own, const Edge& edge, bool weighted, Graph::Edges& in, Graph::Edges& out) {
  if (edge.destination == own) {
    in.ranks.push_back(edge.source);
    if (weighted) in.weights.push_back(edge.weight);
  }
  if (edge.source == own) {
    out.ranks.push_back(edge.destination);
    if (weighted) out.weights.push_back(edge.weight);
  }
}

// Bytes to or from each rank, one after the other in memory.
struct Blocks {
  explicit Blocks(std::size_t ranks) : lengths(ranks), begins(ranks) {}
  std::vector<MPI_Count> lengths;
  std::vector<MPI_Count> begins;
  MPI_Count total() const noexcept { return begins.back() + lengths.back(); }
  void lie_together() noexcept { std::exclusive_scan(lengths.begin(), lengths.end(), begins.begin(), MPI_Count{0}); }
};

// The edges by the ranks that they join, for each in the order of the list.
std::vector<Edge> sort_by_rank(const std::vector<Edge>& edges, Blocks& blocks) {
  constexpr MPI_Count kBytes = sizeof(Edge);
  const auto for_each_end = [&edges](auto&& act) {
    for (const Edge& edge : edges) {
      act(static_cast<std::size_t>(edge.source), edge);
      if (edge.destination != edge.source) act(static_cast<std::size_t>(edge.destination), edge);
    }
  };
  for_each_end([&](std::size_t rank, const Edge&) { blocks.lengths[rank] += kBytes; });
  blocks.lie_together();
  std::vector<MPI_Count> next = blocks.begins;
  std::vector<Edge> sorted(static_cast<std::size_t>(blocks.total() / kBytes));
  for_each_end([&](std::size_t rank, const Edge& edge) { sorted[static_cast<std::size_t>(std::exchange(next[rank], next[rank] + kBytes) / kBytes)] = edge; });
  return sorted;
}

// How much comes from each rank, and whether any rank has given weights.
Status announce(MPI_Comm comm, bool weighted, const Blocks& sent, Blocks& received, bool& any_weighted) {
  std::vector<Announcement> mine, theirs(sent.lengths.size());
  for (const MPI_Count length : sent.lengths) mine.push_back({static_cast<std::uint64_t>(length) / sizeof(Edge), weighted});
  LAPWING_TRY(alltoall(mine.data(), sizeof(Announcement), MPI_BYTE, theirs.data(), sizeof(Announcement), MPI_BYTE, comm));
  any_weighted = false;
  for (std::size_t rank = 0; rank < theirs.size(); ++rank) {
    received.lengths[rank] = static_cast<MPI_Count>(theirs[rank].edges * sizeof(Edge));
    any_weighted |= theirs[rank].weighted != 0;
  }
  received.lie_together();
  return {};
}

// From all contributions each rank gets its own edges, in the order of the contributing ranks.
Status share_edges(comm::Communicator& communicator, const std::vector<Edge>& mine, bool weighted, std::unique_ptr<Graph>& graph) {
  const auto size = static_cast<std::size_t>(communicator.size());
  Blocks sent(size), received(size);
  const std::vector<Edge> sorted = sort_by_rank(mine, sent);
  bool any_weighted = false;
  LAPWING_TRY(announce(communicator.handle(), weighted, sent, received, any_weighted));
  std::vector<Edge> own(static_cast<std::size_t>(received.total()) / sizeof(Edge));
  LAPWING_TRY(alltoallv(sorted.data(), sent.lengths.data(), sent.begins.data(), MPI_BYTE, own.data(), received.lengths.data(), received.begins.data(), MPI_BYTE,
                        communicator.handle()));
  Graph::Edges in, out;
  for (const Edge& edge : own) keep(communicator.rank(), edge, any_weighted, in, out);
  graph = std::make_unique<Graph>(std::move(in), std::move(out), any_weighted);
  return {};
}

Status make_with(comm::Communicator& old, std::unique_ptr<Graph> graph, MPI_Info info, MPI_Comm* newcomm) {
  comm::Communicator* made = nullptr;
  LAPWING_TRY(duplicate(old, &made));
  made->topology = std::move(graph);
  set_hints(*made, info);
  *newcomm = made->handle();
  return {};
}

Status find(MPI_Comm comm, const Graph** graph) {
  *graph = dynamic_cast<const Graph*>(comm::topology_of(*resolve(comm)));
  return *graph != nullptr ? Status()
                           : Status::error(MPI_ERR_TOPOLOGY, "the communicator has no distributed graph topology");
}

void copy_edges(const Graph::Edges& edges, int capacity, int ranks[], int weights[]) {
  const std::size_t count = std::min(edges.ranks.size(), static_cast<std::size_t>(capacity));
  std::copy_n(edges.ranks.begin(), count, ranks);
  if (has_values(weights, capacity) && weights != nullptr && !edges.weights.empty()) {
    std::copy_n(edges.weights.begin(), count, weights);
  }
}

}  // namespace

Status dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
                                  int outdegree, const int destinations[], const int destweights[], MPI_Info info, int,
                                  MPI_Comm* comm_dist_graph) {
  comm::Communicator& old = *resolve(comm_old);
  LAPWING_TRY(check_intra(old));
  Graph::Edges in, out;
  LAPWING_TRY(read_edges(old, "sources", indegree, sources, sourceweights, in));
  LAPWING_TRY(read_edges(old, "destinations", outdegree, destinations, destweights, out));
  const bool weighted = sourceweights != MPI_UNWEIGHTED && destweights != MPI_UNWEIGHTED;
  return make_with(old, std::make_unique<Graph>(std::move(in), std::move(out), weighted), info, comm_dist_graph);
}

Status dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
                         const int weights[], MPI_Info info, int, MPI_Comm* comm_dist_graph) {
  comm::Communicator& old = *resolve(comm_old);
  LAPWING_TRY(check_intra(old));
  std::vector<Edge> mine;
  LAPWING_TRY(read_contribution(old, n, sources, degrees, destinations, weights, mine));
  std::unique_ptr<Graph> graph;
  LAPWING_TRY(share_edges(old, mine, weights != MPI_UNWEIGHTED, graph));
  return make_with(old, std::move(graph), info, comm_dist_graph);
}

Status dist_graph_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted) {
  const Graph* graph = nullptr;
  LAPWING_TRY(find(comm, &graph));
  *indegree = static_cast<int>(graph->in().ranks.size());
  *outdegree = static_cast<int>(graph->out().ranks.size());
  *weighted = graph->weighted();
  return {};
}

Status dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree,
                            int destinations[], int destweights[]) {
  const Graph* graph = nullptr;
  LAPWING_TRY(find(comm, &graph));
  copy_edges(graph->in(), maxindegree, sources, sourceweights);
  copy_edges(graph->out(), maxoutdegree, destinations, destweights);
  return {};
}

}  // namespace lapwing::mpi
