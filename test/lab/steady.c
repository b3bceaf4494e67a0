/* Goes on exchanging checked messages until a file exists: steady FILE [SECONDS_AT_MOST]. Ranks agree on the end. Writes FILE.started
   when messages flow between all, so that a test can do its mischief in the middle. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 100000 };

static void fail(const char* what) {
  fprintf(stderr, "steady: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void exchange(int rank, int size, int round) {
  static unsigned char out[kBytes], in[kBytes];
  for (int distance = 1; distance < size; ++distance) {
    const int to = (rank + distance) % size, from = (rank + size - distance) % size;
    memset(out, rank * 31 + round, sizeof out);
    MPI_Sendrecv(out, kBytes, MPI_BYTE, to, round % 100, in, kBytes, MPI_BYTE, from, round % 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kBytes; i += 997)
      if (in[i] != (unsigned char)(from * 31 + round)) fail("a message is not what was sent");
  }
}

int main(int argc, char** argv) {
  int rank, size, go_on = 1;
  MPI_Init(&argc, &argv);
  if (argc < 2) fail("usage: steady FILE [SECONDS_AT_MOST]");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double end = MPI_Wtime() + (argc > 2 ? atof(argv[2]) : 30);
  for (int round = 0; go_on; ++round) {
    exchange(rank, size, round);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size * (size - 1) / 2) fail("a wrong sum");
    if (rank == 0 && round == 0) {
      char name[1024];
      snprintf(name, sizeof name, "%s.started", argv[1]);
      fclose(fopen(name, "w"));
    }
    go_on = access(argv[1], F_OK) != 0;
    if (rank == 0 && go_on && MPI_Wtime() > end) fail("the file never came");
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("steady: done\n");
  return MPI_Finalize();
}
