/* A real program in small: Jacobi iterations on a strip-wise distributed grid with overlapped halo exchange and a non-blocking
   residual reduction. Every rank checks its part against the serial solution, bit for bit. */
#include "check.h"

#include <math.h>

enum { kColumns = 96, kRows = 120, kSteps = 60 };

static double initial(int row, int column) { return sin(0.1 * row) * cos(0.07 * column) + (row == 40) * 3.0; }

static void relax(const double* from, double* to, int first, int last) {
  for (int i = first; i <= last; ++i)
    for (int j = 1; j < kColumns - 1; ++j)
      to[i * kColumns + j] = 0.25 * (from[(i - 1) * kColumns + j] + from[(i + 1) * kColumns + j] +
                                     from[i * kColumns + j - 1] + from[i * kColumns + j + 1]);
}

static void serial(double* grid) {
  double* next = malloc(sizeof(double) * kRows * kColumns);
  memcpy(next, grid, sizeof(double) * kRows * kColumns);
  for (int step = 0; step < kSteps; ++step) {
    relax(grid, next, 1, kRows - 2);
    double* swap = malloc(sizeof(double) * kRows * kColumns);
    memcpy(swap, next, sizeof(double) * kRows * kColumns);
    memcpy(grid, swap, sizeof(double) * kRows * kColumns);
    free(swap);
  }
  free(next);
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int inner = kRows - 2;
  const int first = 1 + rank * inner / size, last = (rank + 1) * inner / size; /* global rows of this rank */
  const int rows = last - first + 1;
  double* now = calloc((size_t)(rows + 2) * kColumns, sizeof(double));
  double* next = calloc((size_t)(rows + 2) * kColumns, sizeof(double));
  for (int i = 0; i < rows + 2; ++i)
    for (int j = 0; j < kColumns; ++j) now[i * kColumns + j] = next[i * kColumns + j] = initial(first - 1 + i, j);
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

  double residual = 0, total = 0;
  MPI_Request reduction = MPI_REQUEST_NULL;
  for (int step = 0; step < kSteps; ++step) {
    MPI_Request requests[4];
    OK(MPI_Irecv(now, kColumns, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(now + (rows + 1) * kColumns, kColumns, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Isend(now + kColumns, kColumns, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Isend(now + rows * kColumns, kColumns, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[3]));
    relax(now, next, 2, rows - 1);
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    relax(now, next, 1, 1);
    if (rows > 1) relax(now, next, rows, rows);
    OK(MPI_Wait(&reduction, MPI_STATUS_IGNORE));
    residual = 0;
    for (int i = kColumns; i < (rows + 1) * kColumns; ++i) residual = fmax(residual, fabs(next[i] - now[i]));
    OK(MPI_Iallreduce(&residual, &total, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &reduction));
    double* swap = now;
    now = next;
    next = swap;
  }
  OK(MPI_Wait(&reduction, MPI_STATUS_IGNORE));
  CHECK(total >= residual && total > 0);

  double* whole = malloc(sizeof(double) * kRows * kColumns);
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) whole[i * kColumns + j] = initial(i, j);
  serial(whole);
  for (int i = 1; i <= rows; ++i)
    CHECK(memcmp(now + i * kColumns, whole + (first - 1 + i) * kColumns, sizeof(double) * kColumns) == 0);
  free(whole);
  free(now);
  free(next);
  OK(MPI_Finalize());
  return 0;
}
