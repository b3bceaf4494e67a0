#include "comm/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace lapwing::comm {
namespace {

TEST(Cartesian, RanksAndCoordinatesAreInverse) {
  const CartesianTopology grid({3, 4, 5}, {false, true, false});
  EXPECT_EQ(grid.size(), 60);
  for (int rank = 0; rank < 60; ++rank) {
    int coords[3];
    grid.coordinates(rank, coords);
    EXPECT_EQ((coords[0] * 4 + coords[1]) * 5 + coords[2], rank);
    int back = -1;
    ASSERT_TRUE(grid.rank_at(coords, &back).ok());
    EXPECT_EQ(back, rank);
  }
}

TEST(Cartesian, WrapsPeriodicDimensionsOnly) {
  const CartesianTopology grid({3, 4}, {false, true});
  int rank = -1;
  ASSERT_TRUE(grid.rank_at(std::vector<int>{1, -5}, &rank).ok());
  EXPECT_EQ(rank, 7);
  EXPECT_EQ(grid.rank_at(std::vector<int>{3, 0}, &rank).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(grid.rank_at(std::vector<int>{-1, 0}, &rank).error_class(), MPI_ERR_ARG);
}

TEST(Cartesian, Shifts) {
  const CartesianTopology grid({3, 4}, {false, true});
  int source = 0, destination = 0;
  grid.shift(0, 0, 1, &source, &destination);
  EXPECT_EQ(source, MPI_PROC_NULL);
  EXPECT_EQ(destination, 4);
  grid.shift(0, 1, 1, &source, &destination);
  EXPECT_EQ(source, 3);
  EXPECT_EQ(destination, 1);
  grid.shift(5, 1, -6, &source, &destination);
  EXPECT_EQ(source, 7);
  EXPECT_EQ(destination, 7);
  grid.shift(5, 0, std::numeric_limits<int>::min(), &source, &destination);
  EXPECT_EQ(source, MPI_PROC_NULL);
  EXPECT_EQ(destination, MPI_PROC_NULL);
  const CartesianTopology ring({3}, {true});
  ring.shift(0, 0, std::numeric_limits<int>::min(), &source, &destination);
  EXPECT_EQ(source, 2) << "2^31 is 2 modulo 3";
  EXPECT_EQ(destination, 1);
}

TEST(Cartesian, NeighboursComeByDimensionAndDirection) {
  const CartesianTopology grid({2, 3}, {false, true});
  EXPECT_EQ(grid.neighbours_in(0), (std::vector<int>{MPI_PROC_NULL, 3, 2, 1}));
  EXPECT_EQ(grid.neighbours_out(4), (std::vector<int>{1, MPI_PROC_NULL, 3, 5}));
  const CartesianTopology one({1}, {true});
  EXPECT_EQ(one.neighbours_in(0), (std::vector<int>{0, 0}));
  EXPECT_EQ(grid.indegree(0), 4U) << "those beyond the border count";
  EXPECT_EQ(grid.outdegree(4), grid.neighbours_out(4).size());
}

TEST(Cartesian, SubgridsPartitionTheGrid) {
  const CartesianTopology grid({2, 3, 4}, {true, false, true});
  const auto part = grid.subgrid(23, {true, false, true});
  EXPECT_EQ(part.color, 2);
  EXPECT_EQ(part.key, 7);
  EXPECT_EQ(part.topology->dimensions(), 2);
  EXPECT_EQ(part.topology->extent(1), 4);
  EXPECT_TRUE(part.topology->periodic(0));
  const auto alone = grid.subgrid(23, {false, false, false});
  EXPECT_EQ(alone.color, 23);
  EXPECT_EQ(alone.key, 0);
  EXPECT_EQ(alone.topology->dimensions(), 0);
  EXPECT_EQ(alone.topology->size(), 1);
}

TEST(Graph, ListsNeighbours) {
  const GraphTopology graph({2, 3, 4, 6}, {1, 3, 0, 3, 0, 2});
  EXPECT_EQ(graph.neighbours_in(0), (std::vector<int>{1, 3}));
  EXPECT_EQ(graph.neighbours_in(1), (std::vector<int>{0}));
  EXPECT_EQ(graph.indegree(0), 2U);
  EXPECT_EQ(graph.outdegree(1), 1U);
  EXPECT_EQ(graph.neighbours_out(3), (std::vector<int>{0, 2}));
}

bool is_closer(const std::vector<int>& a, const std::vector<int>& b) {
  const int spread_a = a.front() - a.back(), spread_b = b.front() - b.back();
  if (spread_a != spread_b) return spread_a < spread_b;
  return std::lexicographical_compare(b.rbegin(), b.rend(), a.rbegin(), a.rend());
}

// All products of `count` factors, to compare with.
void best_by_search(int nodes, std::size_t count, int limit, std::vector<int>& prefix, std::vector<int>& best) {
  if (count == 0) {
    if (nodes == 1 && (best.empty() || is_closer(prefix, best))) best = prefix;
    return;
  }
  for (int factor = 1; factor <= std::min(nodes, limit); ++factor) {
    if (nodes % factor != 0) continue;
    prefix.push_back(factor);
    best_by_search(nodes / factor, count - 1, factor, prefix, best);
    prefix.pop_back();
  }
}

TEST(Dimensions, AreBalancedAndOrdered) {
  for (int nodes = 1; nodes <= 200; ++nodes) {
    for (std::size_t count = 1; count <= 4; ++count) {
      std::vector<int> dims(count), prefix, best;
      ASSERT_TRUE(balance_dimensions(nodes, dims).ok());
      best_by_search(nodes, count, nodes, prefix, best);
      EXPECT_EQ(dims, best) << nodes << " nodes";
    }
  }
}

TEST(Dimensions, MatchTheStandardsExamples) {
  const auto balanced = [](int nodes, std::vector<int> dims) {
    EXPECT_TRUE(balance_dimensions(nodes, dims).ok());
    return dims;
  };
  EXPECT_EQ(balanced(6, {0, 0}), (std::vector<int>{3, 2}));
  EXPECT_EQ(balanced(7, {0, 0}), (std::vector<int>{7, 1}));
  EXPECT_EQ(balanced(6, {0, 3, 0}), (std::vector<int>{2, 3, 1}));
  EXPECT_EQ(balanced(5040, {0, 0, 0}), (std::vector<int>{21, 16, 15}));  // not 20, 18, 14, which are as close
  EXPECT_EQ(balanced(98784, {0, 0, 0, 0, 0}), (std::vector<int>{14, 14, 9, 8, 7}));  // not 14, 12, 12, 7, 7
  EXPECT_EQ(balanced(104160, {0, 0, 0}), (std::vector<int>{62, 42, 40}));
  EXPECT_EQ(balanced(104160, {0, 7, 0}), (std::vector<int>{124, 7, 120}));
  EXPECT_EQ(balanced(2095133040, {0, 0, 0, 0, 0}), (std::vector<int>{81, 77, 76, 68, 65}));  // it has the most divisors
  EXPECT_EQ(balanced(64, std::vector<int>(40)).front(), 2);
  EXPECT_EQ(balanced(1 << 30, std::vector<int>(10)), std::vector<int>(10, 8));
  EXPECT_EQ(balanced(2147483647, {0, 0, 0}), (std::vector<int>{2147483647, 1, 1}));
}

TEST(Dimensions, RefuseWhatCannotBe) {
  const auto refused = [](int nodes, std::vector<int> dims) { return balance_dimensions(nodes, dims).error_class(); };
  EXPECT_EQ(refused(7, {0, 3, 0}), MPI_ERR_DIMS);
  EXPECT_EQ(refused(6, {-1, 0}), MPI_ERR_DIMS);
  EXPECT_EQ(refused(6, {2, 2}), MPI_ERR_DIMS);
  EXPECT_EQ(refused(6, {7, 0}), MPI_ERR_DIMS);
  EXPECT_EQ(refused(0, {0}), MPI_ERR_ARG);
}

}  // namespace
}  // namespace lapwing::comm
