/* A tool's MPI_Send, Barrier and Init take the place of the library's, and reach them by their PMPI names. */
#include "check.h"

static int sends, barriers, inits;

int MPI_Init(int* argc, char*** argv) {
  ++inits;
  return PMPI_Init(argc, argv);
}
int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buffer, count, type, dest, tag, comm);
}
int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int main(int argc, char** argv) {
  int rank, size, value = -1;
  MPI_Request request;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Irecv(&value, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(value == (rank + size - 1) % size);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(PMPI_Barrier(MPI_COMM_WORLD));
  /* The library does not call itself by the names that a tool replaces. */
  OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
  OK(MPI_Finalize());
  return inits == 1 && sends == 1 && barriers == 1 ? 0 : 1;
}
