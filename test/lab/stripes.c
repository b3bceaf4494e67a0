/* Rank 0 streams long messages to rank 1, which checks every byte: stripes FILE BYTES COUNT [WINDOW]. COUNT messages, or with 0 as many as there is
   time for until FILE exists. Prints the rate. Writes FILE.started after the first window. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMostWindow = 64, kShift = 4096 };

static char* random_bytes(size_t count) {
  char* bytes = malloc(count);
  unsigned long long state = 88172645463325252ull;
  for (size_t i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    bytes[i] = (char)state;
  }
  return bytes;
}

static void started(const char* file) {
  char name[1024];
  snprintf(name, sizeof name, "%s.started", file);
  fclose(fopen(name, "w"));
}

/* Message `number` is the random bytes from another place on. */
static void one_window(int rank, char* source, char** received, int bytes, int window, int first) {
  MPI_Request requests[kMostWindow];
  for (int i = 0; i < window; ++i) {
    if (rank == 0)
      MPI_Isend(source + (first + i) % kShift, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(received[i], bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; rank == 1 && i < window; ++i) {
    if (memcmp(received[i], source + (first + i) % kShift, (size_t)bytes) == 0) continue;
    fprintf(stderr, "stripes: message %d is not what was sent\n", first + i);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  int rank, size, go_on = 1, sent = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 4 || size != 2) {
    fprintf(stderr, "usage: mpiexec -n 2 stripes FILE BYTES COUNT [WINDOW]\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int bytes = atoi(argv[2]), count = atoi(argv[3]), window = argc > 4 ? atoi(argv[4]) : 4;
  char *source = random_bytes((size_t)bytes + kShift), *received[kMostWindow];
  for (int i = 0; i < window; ++i) received[i] = malloc((size_t)bytes);
  one_window(rank, source, received, bytes, window, 0);
  if (rank == 0) started(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (; go_on; sent += window) {
    one_window(rank, source, received, bytes, window, sent);
    go_on = count != 0 ? sent + window < count : access(argv[1], F_OK) != 0;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("stripes: %d messages of %d bytes, %.1f MB/s\n", sent, bytes, 1e-6 * bytes * sent / (MPI_Wtime() - began));
  return MPI_Finalize();
}
