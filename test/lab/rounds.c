/* Computes and exchanges for a fixed number of rounds: rounds FILE ROUNDS [MICROSECONDS [BYTES]]. In each round every rank exchanges messages of BYTES
   with its neighbours in a ring, computes for MICROSECONDS of its processor's time meanwhile, and then waits for the messages, each byte of which it checks.
   Writes FILE when messages flow. Rank 0 prints how long the rounds took, in seconds: what they take longer when the network breaks is what a program
   sees of that. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void fail(const char* what) {
  fprintf(stderr, "rounds: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double processor_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void compute(double seconds) {
  const double end = processor_time() + seconds;
  volatile double x = 1;
  while (processor_time() < end)
    for (int i = 0; i < 1000; ++i) x = x * 1.0000001;
}

static unsigned char pattern(int rank, int round) {
  return (unsigned char)(rank * 31 + round);
}

static void one_round(int round, double seconds, int bytes, unsigned char* out, unsigned char* in) {
  int rank, size;
  MPI_Request requests[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  memset(out, pattern(rank, round), (size_t)bytes);
  MPI_Irecv(in, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[1]);
  compute(seconds);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < bytes; ++i)
    if (in[i] != pattern(from, round)) fail("a message is not what was sent");
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 3) fail("usage: rounds FILE ROUNDS [MICROSECONDS [BYTES]]");
  const int rounds = atoi(argv[2]), bytes = argc > 4 ? atoi(argv[4]) : 65536;
  const double seconds = (argc > 3 ? atof(argv[3]) : 2000) / 1e6;
  unsigned char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
  one_round(0, seconds, bytes, out, in);
  if (rank == 0) fclose(fopen(argv[1], "w"));
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int round = 1; round <= rounds; ++round) one_round(round, seconds, bytes, out, in);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("rounds: %.3f\n", MPI_Wtime() - began);
  free(out);
  free(in);
  return MPI_Finalize();
}
