/* Long messages between two ranks, for a measurement under loss or beside other traffic (loss.sh): streams SECONDS [KIND]. Each kind for so long:

     exchange   64 KiB by MPI_Sendrecv: median and 99th percentile, us
     stream     1 MiB from rank 0 to rank 1, kWindow under way: MB/s
     both       the same both ways at once: MB/s of both together

   Rank 0 prints "KIND: figures"; without KIND all three. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kExchangeBytes = 64 << 10, kStreamBytes = 1 << 20, kWindow = 8, kMostExchanges = 1 << 20 };

static int rank;
static double seconds;

/* The same at both ranks: rank 0's. */
static int goes_on(double end) {
  int on = MPI_Wtime() < end;
  MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return on;
}

static int compare(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static void exchange(void) {
  static char out[kExchangeBytes], in[kExchangeBytes];
  static double times[kMostExchanges];
  int count = 0;
  const double end = MPI_Wtime() + seconds;
  do {
    const double began = MPI_Wtime();
    MPI_Sendrecv(out, kExchangeBytes, MPI_BYTE, 1 - rank, 0, in, kExchangeBytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    times[count++] = (MPI_Wtime() - began) * 1e6;
  } while (goes_on(end) && count < kMostExchanges);
  qsort(times, (size_t)count, sizeof *times, compare);
  if (rank == 0) printf("exchange: %.0f %.0f\n", times[count / 2], times[(int)(0.99 * count)]);
}

static void stream(const char* name, int both) {
  static char out[kStreamBytes], in[kWindow][kStreamBytes];
  const int sends = both || rank == 0, receives = both || rank == 1;
  double bytes = 0;
  const double began = MPI_Wtime();
  do {
    MPI_Request requests[2 * kWindow];
    int count = 0;
    for (int i = 0; i < kWindow && receives; ++i)
      MPI_Irecv(in[i], kStreamBytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[count++]);
    for (int i = 0; i < kWindow && sends; ++i)
      MPI_Isend(out, kStreamBytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    bytes += (double)count * kStreamBytes;
  } while (goes_on(began + seconds));
  if (rank == 0) printf("%s: %.1f\n", name, bytes / 1e6 / (MPI_Wtime() - began));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  seconds = argc > 1 ? atof(argv[1]) : 2;
  const char* kind = argc > 2 ? argv[2] : "";
  if (*kind == 0 || strcmp(kind, "exchange") == 0) exchange();
  if (*kind == 0 || strcmp(kind, "stream") == 0) stream("stream", 0);
  if (*kind == 0 || strcmp(kind, "both") == 0) stream("both", 1);
  return MPI_Finalize();
}
