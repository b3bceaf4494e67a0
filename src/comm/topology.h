// Virtual topologies: which ranks are neighbours (MPI 5.0, chapter 8). Immutable; kept in Communicator::topology.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "comm/communicator.h"
#include "mpi.h"

namespace lapwing::comm {

class Topology : public Extra {
 public:
  enum class Kind { kCartesian = MPI_CART, kGraph = MPI_GRAPH, kDistributedGraph = MPI_DIST_GRAPH };

  Kind kind() const noexcept { return kind_; }
  virtual std::unique_ptr<Topology> clone() const = 0;
  // Ranks that `rank` receives from, and sends to, in the order that neighbourhood collectives use. A cartesian
  // topology has MPI_PROC_NULL at its borders, and the same rank may come several times.
  virtual std::vector<int> neighbours_in(int rank) const = 0;
  virtual std::vector<int> neighbours_out(int rank) const = 0;
  // How many they are, without making the list.
  virtual std::size_t indegree(int rank) const noexcept = 0;
  virtual std::size_t outdegree(int rank) const noexcept = 0;

 protected:
  explicit Topology(Kind kind) noexcept : kind_(kind) {}

 private:
  Kind kind_;
};

// The last dimension varies fastest.
class CartesianTopology final : public Topology {
 public:
  CartesianTopology(std::vector<int> dims, std::vector<bool> periodic)
      : Topology(Kind::kCartesian), dims_(std::move(dims)), periodic_(std::move(periodic)) {}

  int dimensions() const noexcept { return static_cast<int>(dims_.size()); }
  int extent(int dimension) const noexcept { return dims_[static_cast<std::size_t>(dimension)]; }
  bool periodic(int dimension) const noexcept { return periodic_[static_cast<std::size_t>(dimension)]; }
  int size() const noexcept;

  void coordinates(int rank, std::span<int> coords) const noexcept;
  // Coordinates outside a periodic dimension wrap around; outside another one they are MPI_ERR_ARG.
  Status rank_at(std::span<const int> coords, int* rank) const;
  // The rank that sends to `rank` and the one that it sends to when all shift by `displacement` along one dimension.
  void shift(int rank, int dimension, int displacement, int* source, int* destination) const noexcept;
  // MPI_Cart_sub: the topology of a subgrid, and the colour and key by which its members come together.
  struct SubGrid {
    std::unique_ptr<CartesianTopology> topology;
    int color = 0;
    int key = 0;
  };
  SubGrid subgrid(int rank, const std::vector<bool>& remain) const;

  std::unique_ptr<Topology> clone() const override;
  std::vector<int> neighbours_in(int rank) const override;
  std::vector<int> neighbours_out(int rank) const override { return neighbours_in(rank); }
  std::size_t indegree(int) const noexcept override { return 2 * dims_.size(); }
  std::size_t outdegree(int) const noexcept override { return 2 * dims_.size(); }

 private:
  int neighbour(int rank, int dimension, std::int64_t displacement) const noexcept;
  std::vector<int> dims_;
  std::vector<bool> periodic_;
};

class GraphTopology final : public Topology {
 public:
  // `index[i]` is the number of edges of the ranks 0 to i, as in MPI_Graph_create.
  GraphTopology(std::vector<int> index, std::vector<int> edges)
      : Topology(Kind::kGraph), index_(std::move(index)), edges_(std::move(edges)) {}

  const std::vector<int>& index() const noexcept { return index_; }
  const std::vector<int>& edges() const noexcept { return edges_; }
  std::span<const int> neighbours(int rank) const noexcept;

  std::unique_ptr<Topology> clone() const override;
  std::vector<int> neighbours_in(int rank) const override;
  std::vector<int> neighbours_out(int rank) const override { return neighbours_in(rank); }
  std::size_t indegree(int rank) const noexcept override { return neighbours(rank).size(); }
  std::size_t outdegree(int rank) const noexcept override { return neighbours(rank).size(); }

 private:
  std::vector<int> index_;
  std::vector<int> edges_;
};

// Each process knows only its own edges.
class DistributedGraphTopology final : public Topology {
 public:
  struct Edges {
    std::vector<int> ranks;
    std::vector<int> weights;  // as many as ranks; empty when unweighted
  };
  DistributedGraphTopology(Edges in, Edges out, bool weighted)
      : Topology(Kind::kDistributedGraph), in_(std::move(in)), out_(std::move(out)), weighted_(weighted) {}

  const Edges& in() const noexcept { return in_; }
  const Edges& out() const noexcept { return out_; }
  bool weighted() const noexcept { return weighted_; }

  std::unique_ptr<Topology> clone() const override;
  std::vector<int> neighbours_in(int rank) const override;  // `rank` is the own one
  std::vector<int> neighbours_out(int rank) const override;
  std::size_t indegree(int) const noexcept override { return in_.ranks.size(); }
  std::size_t outdegree(int) const noexcept override { return out_.ranks.size(); }

 private:
  Edges in_;
  Edges out_;
  bool weighted_;
};

// Null when the communicator has none.
Topology* topology_of(const Communicator& communicator) noexcept;
// For neighbourhood collectives: of this process. Empty when the communicator has no topology.
//
// Slots of a cartesian topology: 2d is the neighbour at -1 and 2d + 1 the one at +1 along dimension d. What is sent to
// slot 2d arrives at the other's slot 2d + 1 and the reverse; that matters when both are the same process (extent 1 or
// 2).
std::vector<int> neighbours_in(const Communicator& communicator);
std::vector<int> neighbours_out(const Communicator& communicator);
std::size_t indegree(const Communicator& communicator) noexcept;
std::size_t outdegree(const Communicator& communicator) noexcept;

// MPI_Dims_create: fills the zeros of `dims` with factors as close to each other as possible, in non-increasing order.
Status balance_dimensions(int nodes, std::span<int> dims);

}  // namespace lapwing::comm
