/* A halo exchange as stencil programs have it: each rank computes a block of points from their six neighbours, and gets
   the layer around its block from other ranks before each step. The box is periodic; it is cut by MPI_Dims_create.

   Three ways: MPI_Sendrecv, one layer after the other; MPI_Irecv and MPI_Isend of all layers and MPI_Waitall; the same,
   with the points that need no ghosts computed in between.

   Reported by the points of a block's edge: the time of a step. Verified first: some steps of each way must give, bit by
   bit, what each rank computes alone for the whole box. */
#include "grid.h"

static Sizes sizes;
static const Option options[] = {{"--points", "LIST", "edge of a rank's block (16-128)", .sizes = &sizes}, {0}};
static const Program program = {
    "halo", "Time of a step of a stencil with its halo exchange, by points of a block's edge.", options};

enum { kVerifiedSteps = 6 };

typedef struct {
  Grid grid;
  double *now, *next; /* fields */
} Box;

/* ---- Computing ---- */

/* The points from `from` up to but without `to` in each dimension. */
static void compute_part(Box* box, const int* from, const int* to) {
  const size_t row = (size_t)box->grid.width[0], plane = row * (size_t)box->grid.width[1];
  for (int z = from[2]; z < to[2]; ++z) {
    for (int y = from[1]; y < to[1]; ++y) {
      const double* a = box->now + place(&box->grid, 0, y, z);
      double* b = box->next + place(&box->grid, 0, y, z);
      for (int x = from[0]; x < to[0]; ++x)
        b[x] = 0.4 * a[x] + 0.1 * ((a[x - 1] + a[x + 1]) + (a[x - row] + a[x + row]) + (a[x - plane] + a[x + plane]));
    }
  }
}

static void compute_all(Box* box) {
  const int from[3] = {1, 1, 1}, *points = box->grid.points;
  compute_part(box, from, (int[]){points[0] + 1, points[1] + 1, points[2] + 1});
}

static void compute_inside(Box* box) {
  const int from[3] = {2, 2, 2};
  compute_part(box, from, box->grid.points);
}

/* What compute_inside() leaves: two layers in each dimension, without what the dimensions before had. */
static void compute_rim(Box* box) {
  int from[3] = {1, 1, 1}, to[3];
  for (int d = 0; d < 3; ++d) to[d] = box->grid.points[d] + 1;
  for (int d = 2; d >= 0; --d) {
    const int first = from[d], end = to[d];
    to[d] = first + 1;
    compute_part(box, from, to);
    from[d] = end - 1, to[d] = end;
    if (end - 1 > first) compute_part(box, from, to);
    from[d] = first + 1, to[d] = end - 1;
  }
}

/* ---- A step, in three ways ---- */

static void in_turn(Box* box) {
  for (int d = 0; d < 3; ++d) exchange_in_turn(&box->grid, box->now, d);
  compute_all(box);
}

static void at_once(Box* box) {
  for (int d = 0; d < 3; ++d) start_exchange(&box->grid, box->now, d);
  finish_exchange(&box->grid, box->now, 0, 2);
  compute_all(box);
}

static void in_between(Box* box) {
  for (int d = 0; d < 3; ++d) start_exchange(&box->grid, box->now, d);
  compute_inside(box);
  finish_exchange(&box->grid, box->now, 0, 2);
  compute_rim(box);
}

static const struct {
  const char* name;
  void (*step)(Box*);
} ways[] = {
    {"MPI_Sendrecv", in_turn}, {"MPI_Isend, MPI_Irecv, MPI_Waitall", at_once}, {"computing in between", in_between}};
enum { kWays = sizeof ways / sizeof *ways };

static void run_steps(Box* box, int way, int steps) {
  for (int i = 0; i < steps; ++i) {
    ways[way].step(box);
    double* computed = box->next;
    box->next = box->now, box->now = computed;
  }
}

/* ---- The box ---- */

/* Values that depend on where a point is in the whole box, and on nothing else. */
static void begin_anew(Box* box) {
  const Grid* grid = &box->grid;
  for (int z = 1; z <= grid->points[2]; ++z)
    for (int y = 1; y <= grid->points[1]; ++y)
      for (int x = 1; x <= grid->points[0]; ++x) {
        const unsigned global = (unsigned)(x + grid->at[0] * grid->points[0]) * 73856093u ^
                                (unsigned)(y + grid->at[1] * grid->points[1]) * 19349663u ^
                                (unsigned)(z + grid->at[2] * grid->points[2]) * 83492791u;
        box->now[place(grid, x, y, z)] = (double)(global % 1000) / 1000;
      }
}

static Box make_box(MPI_Comm comm, const int* blocks, const int* points) {
  Box box = {.grid = make_grid(comm, blocks, points, true)};
  box.now = make_field(&box.grid);
  box.next = make_field(&box.grid);
  begin_anew(&box);
  return box;
}

static void free_box(Box* box) {
  free(box->now);
  free(box->next);
  free_grid(&box->grid);
}

/* ---- Verifying ---- */

static bool same_block(const Box* box, const Box* whole) {
  const Grid *grid = &box->grid, *all = &whole->grid;
  for (int z = 1; z <= grid->points[2]; ++z)
    for (int y = 1; y <= grid->points[1]; ++y) {
      const int at[3] = {grid->at[0] * grid->points[0], grid->at[1] * grid->points[1], grid->at[2] * grid->points[2]};
      const double* own = box->now + place(grid, 1, y, z);
      if (memcmp(own, whole->now + place(all, at[0] + 1, at[1] + y, at[2] + z),
                 sizeof(double) * (size_t)grid->points[0]) != 0)
        return false;
    }
  return true;
}

/* Each rank also computes the whole box alone. */
static void verify(const int* blocks) {
  const int points[3] = {6, 5, 4}, one[3] = {1, 1, 1};
  int all[3];
  for (int d = 0; d < 3; ++d) all[d] = blocks[d] * points[d];
  for (int way = 0; way < kWays; ++way) {
    Box box = make_box(MPI_COMM_WORLD, blocks, points), whole = make_box(MPI_COMM_SELF, one, all);
    run_steps(&box, way, kVerifiedSteps);
    run_steps(&whole, 0, kVerifiedSteps);
    if (!same_block(&box, &whole)) {
      fprintf(stderr, "rank %d: %s: the result differs from that of one rank\n", rank, ways[way].name);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free_box(&box);
    free_box(&whole);
  }
}

/* ---- Measuring ---- */

typedef struct {
  Box* box;
  int way;
} Work;

static void run(void* context, int times) {
  const Work* work = context;
  run_steps(work->box, work->way, times);
}

static void answer_for(const int* blocks, int edge) {
  const int points[3] = {edge, edge, edge};
  Box box = make_box(MPI_COMM_WORLD, blocks, points);
  for (int way = 0; way < kWays; ++way) {
    Samples times = {0};
    measure_in(MPI_COMM_WORLD, run, &(Work){&box, way}, quick ? 0.1 : 0.4, 5e-3, &times);
    scale_samples(&times, 1e6);
    char series[64];
    name_series(series, sizeof series, ways[way].name);
    report(&program, (Figure){series, "us", "lower", edge, "points of an edge", "count"}, &times);
    free(times.values);
  }
  free_box(&box);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 1 << 20);
  default_sizes(&sizes, "16-128", "16,64");
  int blocks[3] = {0, 0, 0};
  MPI_Dims_create(size, 3, blocks);
  verify(blocks);
  for (int i = 0; i < sizes.count; ++i) answer_for(blocks, (int)sizes.values[i]);
  return MPI_Finalize();
}
