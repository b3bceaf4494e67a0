#include "comm/topology.h"

namespace lapwing::comm {

int CartesianTopology::size() const noexcept {
  int product = 1;
  for (const int dim : dims_) product *= dim;
  return product;
}

void CartesianTopology::coordinates(int rank, std::span<int> coords) const noexcept {
  int rest = rank;
  for (std::size_t i = dims_.size(); i-- > 0;) {
    if (i < coords.size()) coords[i] = rest % dims_[i];
    rest /= dims_[i];
  }
}

Status CartesianTopology::rank_at(std::span<const int> coords, int* rank) const {
  std::int64_t position = 0;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    std::int64_t coordinate = coords[i];
    if (periodic_[i]) {
      coordinate = (coordinate % dims_[i] + dims_[i]) % dims_[i];
    } else if (coordinate < 0 || coordinate >= dims_[i]) {
      return Status::error(MPI_ERR_ARG,
                           "coordinate %d of dimension %zu is outside 0..%d, and the dimension is not periodic",
                           coords[i], i, dims_[i] - 1);
    }
    position = position * dims_[i] + coordinate;
  }
  *rank = static_cast<int>(position);
  return {};
}

int CartesianTopology::neighbour(int rank, int dimension, std::int64_t displacement) const noexcept {
  const std::size_t along = static_cast<std::size_t>(dimension);
  std::int64_t below = 1;  // the distance in rank between two neighbours along this dimension
  for (std::size_t i = along + 1; i < dims_.size(); ++i) below *= dims_[i];
  const std::int64_t extent = dims_[along];
  const std::int64_t here = rank / below % extent;
  std::int64_t there = here + displacement;
  if (periodic_[along]) {
    there = (there % extent + extent) % extent;
  } else if (there < 0 || there >= extent) {
    return MPI_PROC_NULL;
  }
  return static_cast<int>(rank + (there - here) * below);
}

void CartesianTopology::shift(int rank, int dimension, int displacement, int* source, int* destination) const noexcept {
  *source = neighbour(rank, dimension, -std::int64_t{displacement});
  *destination = neighbour(rank, dimension, displacement);
}

CartesianTopology::SubGrid CartesianTopology::subgrid(int rank, const std::vector<bool>& remain) const {
  std::vector<int> coords(dims_.size());
  coordinates(rank, coords);
  SubGrid result;
  std::vector<int> dims;
  std::vector<bool> periodic;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    int& number = remain[i] ? result.key : result.color;
    number = number * dims_[i] + coords[i];
    if (!remain[i]) continue;
    dims.push_back(dims_[i]);
    periodic.push_back(periodic_[i]);
  }
  result.topology = std::make_unique<CartesianTopology>(std::move(dims), std::move(periodic));
  return result;
}

std::unique_ptr<Topology> CartesianTopology::clone() const {
  return std::make_unique<CartesianTopology>(dims_, periodic_);
}

std::vector<int> CartesianTopology::neighbours_in(int rank) const {
  std::vector<int> result;
  for (int dimension = 0; dimension < dimensions(); ++dimension) {
    result.push_back(neighbour(rank, dimension, -1));
    result.push_back(neighbour(rank, dimension, +1));
  }
  return result;
}

std::span<const int> GraphTopology::neighbours(int rank) const noexcept {
  const std::size_t begin = rank == 0 ? 0 : static_cast<std::size_t>(index_[static_cast<std::size_t>(rank) - 1]);
  const std::size_t end = static_cast<std::size_t>(index_[static_cast<std::size_t>(rank)]);
  return std::span<const int>(edges_).subspan(begin, end - begin);
}

std::unique_ptr<Topology> GraphTopology::clone() const {
  return std::make_unique<GraphTopology>(index_, edges_);
}

std::vector<int> GraphTopology::neighbours_in(int rank) const {
  const auto all = neighbours(rank);
  return {all.begin(), all.end()};
}

std::unique_ptr<Topology> DistributedGraphTopology::clone() const {
  return std::make_unique<DistributedGraphTopology>(in_, out_, weighted_);
}

std::vector<int> DistributedGraphTopology::neighbours_in(int rank) const {
  (void)rank;
  return in_.ranks;
}

std::vector<int> DistributedGraphTopology::neighbours_out(int rank) const {
  (void)rank;
  return out_.ranks;
}

Topology* topology_of(const Communicator& communicator) noexcept {
  return static_cast<Topology*>(communicator.topology.get());
}

std::vector<int> neighbours_in(const Communicator& communicator) {
  const Topology* topology = topology_of(communicator);
  return topology != nullptr ? topology->neighbours_in(communicator.rank()) : std::vector<int>{};
}

std::vector<int> neighbours_out(const Communicator& communicator) {
  const Topology* topology = topology_of(communicator);
  return topology != nullptr ? topology->neighbours_out(communicator.rank()) : std::vector<int>{};
}

std::size_t indegree(const Communicator& communicator) noexcept {
  const Topology* topology = topology_of(communicator);
  return topology != nullptr ? topology->indegree(communicator.rank()) : 0;
}

std::size_t outdegree(const Communicator& communicator) noexcept {
  const Topology* topology = topology_of(communicator);
  return topology != nullptr ? topology->outdegree(communicator.rank()) : 0;
}

}  // namespace lapwing::comm
