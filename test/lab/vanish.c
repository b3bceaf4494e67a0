/* Two ranks, of which the host of the second one will vanish or stop: vanish MODE FILE. Writes FILE.started after the first message.

     talk    they exchange small messages until FILE exists
     push    rank 0 sends large messages, which fill every buffer on the way, until FILE exists
     tell    the same with small messages, so that rank 1 sends nothing but acknowledgements
     wait    rank 0 waits for a message that rank 1 sends when FILE exists
     probe   the same, for a message from any source, with MPI_Probe
     first   the same as wait, and they have not exchanged anything before
     anyone  the same as first, from any source
     away    each waits for a message of the other that does not come, prints why that ends, and goes on: rank 0, which writes FILE.lost, until FILE
             exists */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLarge = 1 << 20, kMore = 1, kLast = 2 };

static char buffer[kLarge];

static int ends(const char* file) {
  return access(file, F_OK) == 0;
}

static void write_file(const char* file, const char* what) {
  char name[1024];
  snprintf(name, sizeof name, "%s.%s", file, what);
  fclose(fopen(name, "w"));
}

static void lose_the_other(int rank, const char* file) {
  char text[MPI_MAX_ERROR_STRING];
  int length, class;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Recv(buffer, 1, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("rank %d is told, class %s: %s\n", rank, class == MPI_ERR_PROC_ABORTED ? "MPI_ERR_PROC_ABORTED" : "of another kind", text);
  fflush(stdout);
  if (rank == 0) write_file(file, "lost");
  while (rank == 0 && !ends(file)) usleep(20000);
}

static void stream(int rank, const char* file, int bytes, int answered) {
  MPI_Status status;
  for (int tag = kMore; tag != kLast;) {
    if (rank == 0) {
      tag = ends(file) ? kLast : kMore;
      MPI_Send(buffer, bytes, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
    } else {
      MPI_Recv(buffer, bytes, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      tag = status.MPI_TAG;
    }
    if (!answered) continue;
    if (rank == 1) MPI_Send(buffer, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(buffer, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &status);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3 || size != 2) {
    fprintf(stderr, "usage: mpiexec -n 2 vanish talk|push|tell|wait|probe|first|anyone|away FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int anyone = strcmp(argv[1], "anyone") == 0, first = strcmp(argv[1], "first") == 0 || anyone;
  const int probe = strcmp(argv[1], "probe") == 0;
  if (!first)
    MPI_Sendrecv(&size, 1, MPI_INT, 1 - rank, 0, &size, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) write_file(argv[2], "started");
  if (strcmp(argv[1], "away") == 0) {
    lose_the_other(rank, argv[2]);
  } else if (first || probe || strcmp(argv[1], "wait") == 0) {
    while (rank == 1 && !ends(argv[2])) usleep(20000);
    if (rank == 1) MPI_Send(buffer, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    if (rank == 0 && probe) MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Recv(buffer, 1, MPI_CHAR, anyone ? MPI_ANY_SOURCE : 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    stream(rank, argv[2], strcmp(argv[1], "push") == 0 ? kLarge : 8, strcmp(argv[1], "talk") == 0);
  }
  return MPI_Finalize();
}
