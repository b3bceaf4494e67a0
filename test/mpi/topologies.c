/* Cartesian, graph and distributed graph topologies. */
#include "check.h"

static int rank, size;

/* As a variable, or the compiler takes the sentinel for an array that is too short. */
static int* volatile no_weights = MPI_WEIGHTS_EMPTY;

static void grids(void) {
  for (int ndims = 1; ndims <= 4; ++ndims) {
    int dims[4] = {0}, periods[4] = {1, 0, 1, 0}, coords[4], back[4], product = 1, n, kind, me;
    MPI_Comm grid;
    OK(MPI_Dims_create(size, ndims, dims));
    for (int i = 0; i < ndims; ++i) {
      product *= dims[i];
      if (i > 0) CHECK(dims[i] <= dims[i - 1]);
    }
    CHECK(product == size);
    OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 1, &grid));
    OK(MPI_Topo_test(grid, &kind));
    CHECK(kind == MPI_CART);
    OK(MPI_Cartdim_get(grid, &n));
    CHECK(n == ndims);
    OK(MPI_Comm_rank(grid, &me));
    int got[4], wraps[4];
    OK(MPI_Cart_get(grid, 4, got, wraps, coords));
    for (int i = 0; i < ndims; ++i) CHECK(got[i] == dims[i] && !wraps[i] == !periods[i]);
    OK(MPI_Cart_coords(grid, me, ndims, back));
    CHECK(memcmp(coords, back, sizeof(int) * (size_t)ndims) == 0);
    OK(MPI_Cart_rank(grid, coords, &n));
    CHECK(n == me);
    for (int d = 0; d < ndims; ++d) {
      int source, destination, token = rank, got_token = -2;
      OK(MPI_Cart_shift(grid, d, 1, &source, &destination));
      CHECK((destination == MPI_PROC_NULL) == (!periods[d] && coords[d] == dims[d] - 1));
      OK(MPI_Sendrecv(&token, 1, MPI_INT, destination, d, &got_token, 1, MPI_INT, source, d, grid, MPI_STATUS_IGNORE));
      CHECK(source == MPI_PROC_NULL ? got_token == -2 : got_token == source); /* ranks are not reordered */
      /* The lines along this dimension. */
      int remain[4] = {0}, line_size, line_rank;
      MPI_Comm line;
      remain[d] = 1;
      OK(MPI_Cart_sub(grid, remain, &line));
      OK(MPI_Comm_size(line, &line_size));
      OK(MPI_Comm_rank(line, &line_rank));
      CHECK(line_size == dims[d] && line_rank == coords[d]);
      OK(MPI_Comm_free(&line));
    }
    MPI_Comm copy;
    OK(MPI_Comm_dup(grid, &copy));
    OK(MPI_Topo_test(copy, &kind));
    CHECK(kind == MPI_CART);
    OK(MPI_Comm_free(&copy));
    int mapped;
    OK(MPI_Cart_map(MPI_COMM_WORLD, ndims, dims, periods, &mapped));
    CHECK(mapped == me);
    OK(MPI_Comm_free(&grid));
  }
}

static void small_grids(void) {
  MPI_Comm grid, sub;
  int dims[1] = {1}, periods[1] = {1}, n;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid));
  CHECK((grid == MPI_COMM_NULL) == (rank > 0));
  if (rank == 0) OK(MPI_Comm_free(&grid));
  OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &grid));
  CHECK((grid == MPI_COMM_NULL) == (rank > 0));
  if (rank == 0) {
    OK(MPI_Cartdim_get(grid, &n));
    CHECK(n == 0);
    OK(MPI_Cart_sub(grid, NULL, &sub));
    OK(MPI_Comm_size(sub, &n));
    CHECK(n == 1);
    OK(MPI_Comm_free(&sub));
    OK(MPI_Comm_free(&grid));
  }
}

static void graphs(void) {
  int index[64], edges[128], got_index[64], got_edges[128], n, m;
  for (int i = 0; i < size; ++i) {
    edges[2 * i] = (i + size - 1) % size;
    edges[2 * i + 1] = (i + 1) % size;
    index[i] = 2 * i + 2;
  }
  MPI_Comm graph;
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
  OK(MPI_Graphdims_get(graph, &n, &m));
  CHECK(n == size && m == 2 * size);
  OK(MPI_Graph_get(graph, n, m, got_index, got_edges));
  CHECK(memcmp(index, got_index, sizeof(int) * (size_t)n) == 0 &&
        memcmp(edges, got_edges, sizeof(int) * (size_t)m) == 0);
  OK(MPI_Graph_neighbors_count(graph, size - 1, &n));
  CHECK(n == 2);
  OK(MPI_Graph_neighbors(graph, size - 1, 2, got_edges));
  CHECK(got_edges[0] == (2 * size - 2) % size && got_edges[1] == 0);
  OK(MPI_Comm_free(&graph));
}

static void adjacent_graphs(void) {
  const int sources[2] = {(rank + 2 * size - 2) % size, (rank + size - 1) % size};
  const int destinations[2] = {(rank + 1) % size, (rank + 2) % size};
  const int near[2] = {1, 2}, far[2] = {3, 4};
  int in, out, weighted, a[2], b[2], c[2], d[2];
  MPI_Comm graph;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, near, 2, destinations, far, MPI_INFO_NULL, 0, &graph));
  OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == 2 && out == 2 && weighted);
  OK(MPI_Dist_graph_neighbors(graph, 2, a, b, 2, c, d));
  CHECK(memcmp(a, sources, sizeof a) == 0 && memcmp(b, near, sizeof b) == 0);
  CHECK(memcmp(c, destinations, sizeof c) == 0 && memcmp(d, far, sizeof d) == 0);
  OK(MPI_Comm_free(&graph));
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, no_weights, 0, NULL, no_weights, MPI_INFO_NULL, 0,
                                    &graph));
  OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == 0 && out == 0 && weighted);
  OK(MPI_Comm_free(&graph));
}

/* Rank 0 knows all edges: i -> i + 1 with weight i, and i -> 0 with weight 100 + i. */
static void told_graphs(void) {
  int sources[64], degrees[64], destinations[128], weights[128], in, out, weighted;
  for (int i = 0; i < size; ++i) {
    sources[i] = i;
    degrees[i] = 2;
    destinations[2 * i] = (i + 1) % size;
    destinations[2 * i + 1] = 0;
    weights[2 * i] = i;
    weights[2 * i + 1] = 100 + i;
  }
  MPI_Comm graph;
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, sources, degrees, destinations, weights, MPI_INFO_NULL,
                           0, &graph));
  OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(out == 2 && weighted && in == (rank == 0 ? size + 1 : 1));
  int from[65], from_weight[65], to[2], to_weight[2];
  OK(MPI_Dist_graph_neighbors(graph, in, from, from_weight, out, to, to_weight));
  CHECK(to[0] == (rank + 1) % size && to_weight[0] == rank && to[1] == 0 && to_weight[1] == 100 + rank);
  if (rank > 0) CHECK(from[0] == rank - 1 && from_weight[0] == rank - 1);
  OK(MPI_Comm_free(&graph));
}

/* Every rank tells the same two edges of each rank, to itself and to the next, with its own number as weight: they come in the order of the tellers. */
static void graphs_told_by_all(void) {
  int sources[64], degrees[64], destinations[128], weights[128], in, out, weighted, from[128], from_weight[128], to[128], to_weight[128], own = 0;
  for (int i = 0; i < size; ++i) {
    sources[i] = i;
    degrees[i] = 2;
    destinations[2 * i] = i;
    destinations[2 * i + 1] = (i + 1) % size;
    weights[2 * i] = weights[2 * i + 1] = rank;
  }
  MPI_Comm graph;
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, size, sources, degrees, destinations, weights, MPI_INFO_NULL, 0, &graph));
  OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
  CHECK(in == 2 * size && out == 2 * size && weighted);
  OK(MPI_Dist_graph_neighbors(graph, in, from, from_weight, out, to, to_weight));
  for (int i = 0; i < 2 * size; ++i) {
    CHECK(from_weight[i] == i / 2 && to_weight[i] == i / 2);
    CHECK(to[i] == (i % 2 == 0 ? rank : (rank + 1) % size));
    CHECK(from[i] == rank || from[i] == (rank + size - 1) % size);
    own += from[i] == rank;
  }
  CHECK(own == (size == 1 ? 2 : size));
  OK(MPI_Comm_free(&graph));
}

/* Again and again by the same addresses, with other values, counts and places behind them. */
static void same_calls(void) {
  MPI_Comm ring;
  int period = 1;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &ring));
  const int neighbors[2] = {(rank + size - 1) % size, (rank + 1) % size};
  int out[2 * 8], in[2 * 8], counts[2], places[2];
  for (int turn = 0; turn < 20; ++turn) {
    const int count = 1 + turn % 3;
    for (int i = 0; i < 16; ++i) {
      out[i] = 1000 * rank + 100 * turn + i;
      in[i] = -1;
    }
    for (int i = 0; i < 2; ++i) {
      counts[i] = count;
      places[i] = (turn % 2 == 0 ? i : 1 - i) * 8;
    }
    OK(MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, ring));
    for (int i = 0; i < 2; ++i) {
      for (int k = 0; k < 8; ++k)
        CHECK(in[places[i] + k] == (k < count ? 1000 * neighbors[i] + 100 * turn + places[1 - i] + k : -1));
    }
    OK(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, ring));
    for (int i = 0; i < 2; ++i) CHECK(in[i] == 1000 * neighbors[i] + 100 * turn);
    OK(MPI_Neighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, ring));
    for (int i = 0; i < 2; ++i) CHECK(in[2 * i] == 1000 * neighbors[i] + 100 * turn + 2 * (1 - i));
  }
  OK(MPI_Comm_free(&ring));
}

static void errors(void) {
  MPI_Comm made;
  int dims[2] = {size, 2}, periods[2] = {0, 0}, n;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  made = MPI_COMM_WORLD;
  FAILS(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &made), MPI_ERR_TOPOLOGY);
  CHECK(made == MPI_COMM_NULL);
  dims[0] = -1;
  FAILS(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &made), MPI_ERR_DIMS);
  FAILS(MPI_Dims_create(7, 2, (int[]){2, 0}), MPI_ERR_DIMS);
  FAILS(MPI_Cartdim_get(MPI_COMM_WORLD, &n), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Graphdims_get(MPI_COMM_WORLD, &n, &n), MPI_ERR_TOPOLOGY);
  OK(MPI_Topo_test(MPI_COMM_WORLD, &n));
  CHECK(n == MPI_UNDEFINED);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  grids();
  small_grids();
  graphs();
  adjacent_graphs();
  told_graphs();
  graphs_told_by_all();
  same_calls();
  errors();
  OK(MPI_Finalize());
  return 0;
}
