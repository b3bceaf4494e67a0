/* A preconditioned conjugate gradient, in the manner of HPCG: a 27-point operator on a box of points, one block for each
   rank. An iteration multiplies by the operator three times, once for the method and twice in the preconditioner, each
   time after an exchange of ghosts with all neighbours (dimension by dimension, so that edges and corners come along), and
   adds up three scalar products with MPI_Allreduce. In between it computes for some hundred microseconds to milliseconds,
   which leaves nothing of the library in the cache: coefficients are stored, 216 bytes a point.

   Or pipelined, so that no scalar product is waited for at once (Ghysels and Vanroose, Hiding global synchronization latency in
   the preconditioned conjugate gradient algorithm, 2014, algorithm 4): all three of an iteration are one MPI_Iallreduce, on its
   way while the next preconditioner and product are computed, for five more vectors.

   The preconditioner is three sweeps of damped Jacobi, which does not depend on how the box is cut, so that one rank and
   several must find the same: each rank also solves the whole box alone, and compares.

   Reported by the points of a block's edge: floating-point operations a second of all ranks together. What the pipelined form
   computes beyond the usual one does not count, so that the ratio of the rates is that of the times. */
#include "grid.h"

#include <math.h>

static Sizes sizes;
static const Option options[] = {{"--points", "LIST", "edge of a rank's block (16,32)", .sizes = &sizes}, {0}};
static const Program program = {"conjugate_gradient",
                                "A conjugate gradient like HPCG's: GFLOP/s of all ranks, by points of a block's edge.",
                                options};

enum { kIterations = 50, kSweeps = 3, kNeighbours = 27, kMostRanks = 256 /* each solves the whole box once */ };
static const double kDamping = 0.6, kTolerance = 1e-9;

typedef struct {
  Grid grid;
  double* coefficients; /* kNeighbours for each own point, in order */
  double *solution, *right, *residual, *direction, *conditioned, *product, *scratch; /* fields */
  /* Of the pipelined form, by the letters of the paper: w = A conditioned, m = M w, n = A m, z = A q, q = M s, s = A direction. */
  double *w, *m, *n, *z, *q, *s;
} Problem;

/* ---- Own points ---- */

/* Runs for each row of own points, from the place `first` up to but without `end`. */
#define FOR_ROWS(grid, first)                    \
  for (int z = 1; z <= (grid)->points[2]; ++z)   \
    for (int y = 1; y <= (grid)->points[1]; ++y) \
      for (size_t first = place(grid, 1, y, z), end = first + (size_t)(grid)->points[0]; first < end; first = end)

/* to = a * x + b * y */
static void combine(const Grid* grid, double* to, double a, const double* x, double b, const double* y_field) {
  FOR_ROWS(grid, first) {
    for (size_t i = first; i < end; ++i) to[i] = a * x[i] + b * y_field[i];
  }
}

static double own_scalar_product(const Grid* grid, const double* x, const double* y_field) {
  double sum = 0;
  FOR_ROWS(grid, first) {
    for (size_t i = first; i < end; ++i) sum += x[i] * y_field[i];
  }
  return sum;
}

static double scalar_product(const Grid* grid, const double* x, const double* y_field) {
  const double sum = own_scalar_product(grid, x, y_field);
  double all;
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, grid->comm);
  return all;
}

/* ---- The operator ---- */

static void get_ghosts(Grid* grid, double* field) {
  for (int d = 0; d < 3; ++d) {
    start_exchange(grid, field, d);
    finish_exchange(grid, field, d, d);
  }
}

static void multiply(Problem* problem, double* to, double* from) {
  const Grid* grid = &problem->grid;
  const size_t row = (size_t)grid->width[0], plane = row * (size_t)grid->width[1];
  const double* c = problem->coefficients;
  get_ghosts(&problem->grid, from);
  FOR_ROWS(grid, first) {
    for (size_t i = first; i < end; ++i, c += kNeighbours) {
      double sum = 0;
      for (int k = 0; k < kNeighbours; k += 3) {
        const double* x = from + i + (size_t)(k / 9) * plane + (size_t)(k / 3 % 3) * row - plane - row;
        sum += c[k] * x[-1] + c[k + 1] * x[0] + c[k + 2] * x[1];
      }
      to[i] = sum;
    }
  }
}

/* to = what some sweeps of damped Jacobi make of `from`, beginning with nothing. */
static void precondition(Problem* problem, double* to, const double* from) {
  const Grid* grid = &problem->grid;
  const double step = kDamping / 26;
  combine(grid, to, step, from, 0, from);
  for (int sweep = 1; sweep < kSweeps; ++sweep) {
    multiply(problem, problem->scratch, to);
    FOR_ROWS(grid, first) {
      for (size_t i = first; i < end; ++i) to[i] += step * (from[i] - problem->scratch[i]);
    }
  }
}

/* ---- The method ---- */

/* From nothing; returns the square of the residual's norm. */
static double solve(Problem* problem, int iterations) {
  const Grid* grid = &problem->grid;
  combine(grid, problem->solution, 0, problem->right, 0, problem->right);
  combine(grid, problem->residual, 1, problem->right, 0, problem->right);
  double before = 0, norm = 0;
  for (int i = 0; i < iterations; ++i) {
    precondition(problem, problem->conditioned, problem->residual);
    const double now = scalar_product(grid, problem->residual, problem->conditioned);
    combine(grid, problem->direction, 1, problem->conditioned, i == 0 ? 0 : now / before, problem->direction);
    before = now;
    multiply(problem, problem->product, problem->direction);
    const double length = now / scalar_product(grid, problem->direction, problem->product);
    combine(grid, problem->solution, 1, problem->solution, length, problem->direction);
    combine(grid, problem->residual, 1, problem->residual, -length, problem->product);
    norm = scalar_product(grid, problem->residual, problem->residual);
  }
  return norm;
}

/* The same, pipelined. The vectors that belong to the direction follow from those of the residual. */
static double solve_pipelined(Problem* problem, int iterations) {
  const Grid* grid = &problem->grid;
  double *r = problem->residual, *u = problem->conditioned, *w = problem->w, *m = problem->m, *n = problem->n;
  double *p = problem->direction, *s = problem->s, *q = problem->q, *z = problem->z;
  combine(grid, problem->solution, 0, problem->right, 0, problem->right);
  combine(grid, r, 1, problem->right, 0, problem->right);
  precondition(problem, u, r);
  multiply(problem, w, u);
  double before = 0, length = 0;
  for (int i = 0; i < iterations; ++i) {
    /* The last is the residual's norm, by which a program would end. */
    const double own[3] = {own_scalar_product(grid, r, u), own_scalar_product(grid, w, u), own_scalar_product(grid, r, r)};
    double all[3];
    MPI_Request request;
    MPI_Iallreduce(own, all, 3, MPI_DOUBLE, MPI_SUM, grid->comm, &request);
    precondition(problem, m, w);
    multiply(problem, n, m);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double share = i == 0 ? 0 : all[0] / before;
    length = i == 0 ? all[0] / all[1] : all[0] / (all[1] - share * all[0] / length);
    before = all[0];
    combine(grid, z, 1, n, share, z);
    combine(grid, q, 1, m, share, q);
    combine(grid, s, 1, w, share, s);
    combine(grid, p, 1, u, share, p);
    combine(grid, problem->solution, 1, problem->solution, length, p);
    combine(grid, r, 1, r, -length, s);
    combine(grid, u, 1, u, -length, q);
    combine(grid, w, 1, w, -length, z);
  }
  return scalar_product(grid, r, r);
}

/* Of an iteration, for each point: the multiplications, the vectors of a sweep, three scalar products, three sums. */
static double operations(const Grid* grid) {
  const double points = (double)grid->points[0] * grid->points[1] * grid->points[2];
  return points * (kSweeps * 2.0 * kNeighbours + (kSweeps - 1) * 3.0 + 1 + 3 * 2.0 + 3 * 2.0);
}

/* ---- The problem ---- */

/* 26 for a point itself, -1 for each neighbour that is in the box: those outside are zero. */
static void set_coefficients(Problem* problem) {
  const Grid* grid = &problem->grid;
  double* c = problem->coefficients;
  FOR_ROWS(grid, first) {
    for (int x = 1; x <= grid->points[0]; ++x) {
      for (int k = 0; k < kNeighbours; ++k) {
        const int at[3] = {x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1};
        bool inside = true;
        for (int d = 0; d < 3; ++d) {
          const int global = at[d] - 1 + grid->at[d] * grid->points[d];
          inside = inside && global >= 0 && global < grid->ranks[d] * grid->points[d];
        }
        *c++ = k == kNeighbours / 2 ? 26 : inside ? -1 : 0;
      }
    }
  }
}

/* The right side depends on where a point is in the whole box, and on nothing else. */
static void set_right(Problem* problem) {
  const Grid* grid = &problem->grid;
  FOR_ROWS(grid, first) {
    for (size_t i = first; i < end; ++i) {
      const int x = (int)(i - first) + 1;
      const unsigned global = (unsigned)(x + grid->at[0] * grid->points[0]) * 73856093u ^
                              (unsigned)(y + grid->at[1] * grid->points[1]) * 19349663u ^
                              (unsigned)(z + grid->at[2] * grid->points[2]) * 83492791u;
      problem->right[i] = (double)(global % 1000) / 1000;
    }
  }
}

static Problem make_problem(MPI_Comm comm, const int* blocks, const int* points) {
  Problem problem = {.grid = make_grid(comm, blocks, points, false)};
  const size_t own = (size_t)points[0] * (size_t)points[1] * (size_t)points[2];
  problem.coefficients = allocate(sizeof(double) * kNeighbours * own);
  double** fields[] = {&problem.solution, &problem.right,   &problem.residual, &problem.direction, &problem.conditioned,
                       &problem.product,  &problem.scratch, &problem.w,        &problem.m,         &problem.n,
                       &problem.z,        &problem.q,       &problem.s};
  for (unsigned i = 0; i < sizeof fields / sizeof *fields; ++i) *fields[i] = make_field(&problem.grid);
  set_coefficients(&problem);
  set_right(&problem);
  return problem;
}

static void free_problem(Problem* problem) {
  double* fields[] = {problem->coefficients, problem->solution, problem->right,   problem->residual, problem->direction,
                      problem->conditioned,  problem->product,  problem->scratch, problem->w,        problem->m,
                      problem->n,            problem->z,        problem->q,       problem->s};
  for (unsigned i = 0; i < sizeof fields / sizeof *fields; ++i) free(fields[i]);
  free_grid(&problem->grid);
}

/* ---- Verifying ---- */

static double largest_difference(const Problem* problem, const Problem* whole) {
  const Grid *grid = &problem->grid, *all = &whole->grid;
  double largest = 0;
  FOR_ROWS(grid, first) {
    const double* other = whole->solution + place(all, 1 + grid->at[0] * grid->points[0],
                                                  y + grid->at[1] * grid->points[1], z + grid->at[2] * grid->points[2]);
    for (size_t i = first; i < end; ++i) largest = fmax(largest, fabs(problem->solution[i] - other[i - first]));
  }
  return largest;
}

typedef struct {
  const char* series;
  double (*solve)(Problem*, int); /* iterations; returns the square of the residual's norm */
} Form;

static const Form forms[] = {{"27 points, Jacobi", solve}, {"27 points, Jacobi, pipelined", solve_pipelined}};
enum { kForms = sizeof forms / sizeof *forms };

/* Each rank also solves the whole box alone, in the usual form. */
static void verify(const Form* form, Problem* problem) {
  const int one[3] = {1, 1, 1};
  int all[3];
  for (int d = 0; d < 3; ++d) all[d] = problem->grid.ranks[d] * problem->grid.points[d];
  Problem whole = make_problem(MPI_COMM_SELF, one, all);
  const double start = scalar_product(&problem->grid, problem->right, problem->right);
  const double norm = form->solve(problem, kIterations), alone = solve(&whole, kIterations);
  const double difference = largest_difference(problem, &whole);
  free_problem(&whole);
  if (norm < 1e-3 * start && fabs(norm - alone) < kTolerance * start && difference < kTolerance) return;
  fprintf(stderr, "rank %d: the residual is %g of %g, that of one rank %g, the solutions differ by %g\n", rank, norm,
          start, alone, difference);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Measuring ---- */

typedef struct {
  const Form* form;
  Problem* problem;
} Run;

static void run(void* context, int times) {
  const Run* run = context;
  run->form->solve(run->problem, times);
}

static void measure_form(const Form* form, Problem* problem, int edge) {
  Run context = {form, problem};
  Samples times = {0};
  verify(form, problem);
  measure_in(MPI_COMM_WORLD, run, &context, quick ? 0.3 : 1.0, 20e-3, &times);
  samples_to_rates(&times, operations(&problem->grid) * size / 1e9);
  char series[64];
  name_series(series, sizeof series, form->series);
  report(&program, (Figure){series, "GFLOP/s", "higher", edge, "points of an edge", "count"}, &times);
  free(times.values);
}

static void answer_for(const int* blocks, int edge) {
  const int points[3] = {edge, edge, edge};
  Problem problem = make_problem(MPI_COMM_WORLD, blocks, points);
  for (int form = 0; form < kForms; ++form) measure_form(&forms[form], &problem, edge);
  free_problem(&problem);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 1, kMostRanks);
  default_sizes(&sizes, "8,16,32", "16,32");
  int blocks[3] = {0, 0, 0};
  MPI_Dims_create(size, 3, blocks);
  for (int i = 0; i < sizes.count; ++i) answer_for(blocks, (int)sizes.values[i]);
  return MPI_Finalize();
}
