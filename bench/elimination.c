/* Gaussian elimination with row partial pivoting, blocking and with double buffers (non-blocking collectives, section 4.3,
   listings 2 and 3). Columns go round the ranks, the right side is everywhere. Step k takes column k out of all rows below
   it; the rank that has the column chooses the pivot, and tells the others what each row is to be multiplied by:

   - as printed in the paper, one multiplier after the other, 8 bytes each: with MPI_Bcast, or with MPI_Ibcast of the next
     while a row is computed;
   - by columns, the pivot and all multipliers of a step at once: with MPI_Bcast, or with look-ahead: who has column k + 1
     takes column k out of it first, and starts MPI_Ibcast of it, while all ranks compute the rest of step k.

   Reported by the number of equations: the time of both forms, and the blocking one's over the other's, which are run in
   turn. Each result is verified against the solution from which the right side was made. */
#include "ranks.h"

#include <math.h>
#include <string.h>

static Sizes columns_sizes, printed_sizes;
static const Option options[] = {
    {"--equations", "LIST", "equations, by columns (128,256,512,1K,2K)", .sizes = &columns_sizes},
    {"--printed-equations", "LIST", "equations, one multiplier at a time (64,128,256)", .sizes = &printed_sizes},
    {0}};
static const Program program = {"elimination",
                                "Gaussian elimination with blocking and with double-buffered broadcasts: milliseconds, by "
                                "number of equations.",
                                options};

enum { kMostEquations = 16384, kLeastRuns = 3, kMostRanks = 4096 };
static const double kTolerance = 1e-6;

typedef struct {
  int equations, columns;  /* columns: those of this rank, `size` apart */
  double *original, *rows; /* own columns, row after row: rows[i * columns + j] is in column rank + j * size */
  double *original_right, *right;
  double* panels[2]; /* of a step by columns: the pivot's row, then the multipliers of the rows below k */
} System;

/* ---- Where a column is ---- */

static int owner(int column) {
  return column % size;
}

/* The first own column whose number is `column` or more, counted among the own ones. */
static int first_own(int column) {
  return column <= rank ? 0 : (column - rank + size - 1) / size;
}

static double* own_row(const System* system, int row) {
  return system->rows + (size_t)row * (size_t)system->columns;
}

/* ---- The steps that both forms consist of ---- */

static int choose_pivot(const System* system, int k) {
  const int column = first_own(k);
  int pivot = k;
  for (int i = k + 1; i < system->equations; ++i) {
    if (fabs(own_row(system, i)[column]) > fabs(own_row(system, pivot)[column])) pivot = i;
  }
  return pivot;
}

static void exchange_rows(System* system, int k, int pivot) {
  if (pivot == k) return;
  double *upper = own_row(system, k), *lower = own_row(system, pivot);
  for (int j = 0; j < system->columns; ++j) {
    const double kept = upper[j];
    upper[j] = lower[j];
    lower[j] = kept;
  }
  const double kept = system->right[k];
  system->right[k] = system->right[pivot];
  system->right[pivot] = kept;
}

/* Takes row k out of row i, in the own columns from `first` up to but without `end`. */
static void subtract_row(System* system, int i, int k, double multiplier, int first, int end) {
  double* restrict row = own_row(system, i);
  const double* restrict upper = own_row(system, k);
  for (int j = first; j < end; ++j) row[j] -= multiplier * upper[j];
}

/* ---- As printed ---- */

static double multiplier(const System* system, int i, int k) {
  const int column = first_own(k);
  return own_row(system, i)[column] / own_row(system, k)[column];
}

/* A row of the innermost loop. Column k itself stays as it is: later rows' multipliers are made of it. */
static void compute_row(System* system, int i, int k, double by) {
  subtract_row(system, i, k, by, first_own(k + 1), system->columns);
  system->right[i] -= by * system->right[k];
}

static void pivot_as_printed(System* system, int k) {
  int pivot = owner(k) == rank ? choose_pivot(system, k) : 0;
  MPI_Bcast(&pivot, 1, MPI_INT, owner(k), MPI_COMM_WORLD);
  exchange_rows(system, k, pivot);
}

/* Listing 2. */
static void printed_blocking(System* system) {
  for (int k = 0; k < system->equations - 1; ++k) {
    pivot_as_printed(system, k);
    for (int i = k + 1; i < system->equations; ++i) {
      double by = owner(k) == rank ? multiplier(system, i, k) : 0;
      MPI_Bcast(&by, 1, MPI_DOUBLE, owner(k), MPI_COMM_WORLD);
      compute_row(system, i, k, by);
    }
  }
}

/* Listing 3: the next row's multiplier is on its way while a row is computed. */
static void printed_double_buffered(System* system) {
  for (int k = 0; k < system->equations - 1; ++k) {
    pivot_as_printed(system, k);
    double by = owner(k) == rank ? multiplier(system, k + 1, k) : 0;
    MPI_Bcast(&by, 1, MPI_DOUBLE, owner(k), MPI_COMM_WORLD);
    for (int i = k + 1; i < system->equations; ++i) {
      const bool more = i + 1 < system->equations;
      double next = more && owner(k) == rank ? multiplier(system, i + 1, k) : 0;
      MPI_Request request = MPI_REQUEST_NULL;
      if (more) MPI_Ibcast(&next, 1, MPI_DOUBLE, owner(k), MPI_COMM_WORLD, &request);
      compute_row(system, i, k, by);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      by = next;
    }
  }
}

/* ---- By columns ---- */

/* What a panel has: the pivot's row, and a multiplier for each row below k. */
static int panel_length(const System* system, int k) {
  return system->equations - k;
}

/* At the rank that has column k. The multipliers are those of the rows as they stand after the exchange. */
static void make_panel(const System* system, int k, double* panel) {
  const int column = first_own(k), pivot = choose_pivot(system, k);
  const double divisor = own_row(system, pivot)[column];
  panel[0] = pivot;
  for (int i = k + 1; i < system->equations; ++i) panel[i - k] = own_row(system, i == pivot ? k : i)[column] / divisor;
}

/* Step k in the own columns from `first` up to but without `end`, the rows being exchanged. */
static void compute_columns(System* system, int k, const double* panel, int first, int end) {
  for (int i = k + 1; i < system->equations; ++i) subtract_row(system, i, k, panel[i - k], first, end);
}

static void compute_right(System* system, int k, const double* panel) {
  for (int i = k + 1; i < system->equations; ++i) system->right[i] -= panel[i - k] * system->right[k];
}

static void columns_blocking(System* system) {
  double* panel = system->panels[0];
  for (int k = 0; k < system->equations - 1; ++k) {
    if (owner(k) == rank) make_panel(system, k, panel);
    MPI_Bcast(panel, panel_length(system, k), MPI_DOUBLE, owner(k), MPI_COMM_WORLD);
    exchange_rows(system, k, (int)panel[0]);
    compute_columns(system, k, panel, first_own(k + 1), system->columns);
    compute_right(system, k, panel);
  }
}

static void columns_look_ahead(System* system) {
  if (owner(0) == rank) make_panel(system, 0, system->panels[0]);
  MPI_Bcast(system->panels[0], panel_length(system, 0), MPI_DOUBLE, owner(0), MPI_COMM_WORLD);
  for (int k = 0; k < system->equations - 1; ++k) {
    const double* panel = system->panels[k % 2];
    double* next = system->panels[(k + 1) % 2];
    int first = first_own(k + 1);
    MPI_Request request = MPI_REQUEST_NULL;
    exchange_rows(system, k, (int)panel[0]);
    if (k + 2 < system->equations) {
      if (owner(k + 1) == rank) {
        compute_columns(system, k, panel, first, first + 1);
        ++first;
        make_panel(system, k + 1, next);
      }
      MPI_Ibcast(next, panel_length(system, k + 1), MPI_DOUBLE, owner(k + 1), MPI_COMM_WORLD, &request);
    }
    compute_columns(system, k, panel, first, system->columns);
    compute_right(system, k, panel);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/* ---- The system ---- */

/* From -0.5 to 0.5, without a pattern that elimination would notice. */
static double coefficient(int row, int column) {
  unsigned mixed = (unsigned)row * 73856093u ^ (unsigned)column * 19349663u;
  mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
  mixed = (mixed ^ mixed >> 12) * 0x297a2d39u;
  return (double)(mixed ^ mixed >> 15) / 4294967296.0 - 0.5;
}

static double solution(int column) {
  return 1 + column % 7;
}

static System make_system(int equations) {
  System system = {.equations = equations, .columns = (equations - rank + size - 1) / size};
  const size_t own = sizeof(double) * (size_t)equations * (size_t)system.columns, all = sizeof(double) * (size_t)equations;
  double** parts[] = {&system.original, &system.rows};
  double** vectors[] = {&system.original_right, &system.right, &system.panels[0], &system.panels[1]};
  for (unsigned i = 0; i < sizeof parts / sizeof *parts; ++i) *parts[i] = allocate(own);
  for (unsigned i = 0; i < sizeof vectors / sizeof *vectors; ++i) *vectors[i] = allocate(all);
  for (int i = 0; i < equations; ++i) {
    for (int j = 0; j < system.columns; ++j)
      system.original[(size_t)i * (size_t)system.columns + (size_t)j] = coefficient(i, rank + j * size);
    system.original_right[i] = 0;
    for (int column = 0; column < equations; ++column) system.original_right[i] += coefficient(i, column) * solution(column);
  }
  return system;
}

static void free_system(System* system) {
  double* parts[] = {system->original, system->rows,      system->original_right,
                     system->right,    system->panels[0], system->panels[1]};
  for (unsigned i = 0; i < sizeof parts / sizeof *parts; ++i) free(parts[i]);
}

static void restore(System* system) {
  const size_t equations = (size_t)system->equations;
  memcpy(system->rows, system->original, sizeof(double) * equations * (size_t)system->columns);
  memcpy(system->right, system->original_right, sizeof(double) * equations);
}

/* ---- Verifying: substitution from the last equation up ---- */

static void verify(System* system) {
  double largest = 0;
  for (int k = system->equations - 1; k >= 0; --k) {
    const int column = first_own(k);
    double x = owner(k) == rank ? system->right[k] / own_row(system, k)[column] : 0;
    MPI_Bcast(&x, 1, MPI_DOUBLE, owner(k), MPI_COMM_WORLD);
    largest = fmax(largest, fabs(x - solution(k)));
    /* The right side above is everywhere, the column is not. */
    double* taken = system->panels[0];
    for (int i = 0; i < k; ++i) taken[i] = owner(k) == rank ? own_row(system, i)[column] * x : 0;
    MPI_Bcast(taken, k, MPI_DOUBLE, owner(k), MPI_COMM_WORLD);
    for (int i = 0; i < k; ++i) system->right[i] -= taken[i];
  }
  if (largest < kTolerance) return;
  fprintf(stderr, "rank %d: an unknown of %d equations is off by %g\n", rank, system->equations, largest);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Measuring ---- */

typedef struct {
  const char* name;
  void (*blocking)(System*);
  void (*hidden)(System*);
} Form;

static const Form by_columns = {"by columns", columns_blocking, columns_look_ahead};
static const Form as_printed = {"as printed", printed_blocking, printed_double_buffered};

/* Seconds from the first rank's start to the last rank's end. */
static double time_of(void (*eliminate)(System*), System* system) {
  restore(system);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  eliminate(system);
  MPI_Barrier(MPI_COMM_WORLD);
  return now() - begin;
}

static void report_in(const Form* form, const char* what, const char* unit, const char* better, int equations,
                      Samples* samples) {
  char name[64], series[96];
  snprintf(name, sizeof name, "%s, %s", form->name, what);
  name_series(series, sizeof series, name);
  report(&program, (Figure){series, unit, better, equations, "equations", "count"}, samples);
}

static void answer_for(const Form* form, int equations) {
  System system = make_system(equations);
  Samples blocking = {0}, hidden = {0}, gain = {0};
  time_of(form->blocking, &system);
  verify(&system);
  time_of(form->hidden, &system);
  verify(&system);
  const double end = now() + (quick ? 0.3 : 1.5);
  for (long again = 1, run = 0; again; ++run) {
    const double one = time_of(form->blocking, &system), other = time_of(form->hidden, &system);
    if (rank == 0) {
      add_sample(&blocking, one * 1e3);
      add_sample(&hidden, other * 1e3);
      add_sample(&gain, one / other);
    }
    MPI_Comm world = MPI_COMM_WORLD;
    again = agree_in(&world, run + 1 < kLeastRuns || now() < end);
  }
  report_in(form, "blocking", "ms", "lower", equations, &blocking);
  report_in(form, "double-buffered", "ms", "lower", equations, &hidden);
  report_in(form, "blocking over double-buffered", "ratio", "higher", equations, &gain);
  free(blocking.values);
  free(hidden.values);
  free(gain.values);
  free_system(&system);
}

static void answer_all(const Form* form, const Sizes* sizes) {
  for (int i = 0; i < sizes->count; ++i) {
    if (sizes->values[i] < 2 || sizes->values[i] > kMostEquations) leave("elimination: from 2 to 16384 equations\n", 2);
    answer_for(form, (int)sizes->values[i]);
  }
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 1, kMostRanks);
  default_sizes(&columns_sizes, "128,256,512,1K,2K", "256,512,1K");
  default_sizes(&printed_sizes, "64,128,256", "128");
  answer_all(&by_columns, &columns_sizes);
  answer_all(&as_printed, &printed_sizes);
  return MPI_Finalize();
}
