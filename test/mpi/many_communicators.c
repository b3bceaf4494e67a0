/* Communicators do not run out: ten thousand made and freed one after another, and two thousand alive at the same time. */
#include "check.h"

enum { kCycles = 10000, kAlive = 2000 };

int main(int argc, char** argv) {
  int rank, size;
  const int scale = argc > 1 ? atoi(argv[1]) : 1;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int i = 0; i < kCycles / scale; ++i) {
    MPI_Comm copy;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    if (i % 1000 == 0) {
      int sum = 0;
      OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy));
      CHECK(sum == size * (size - 1) / 2);
    }
    OK(MPI_Comm_free(&copy));
  }
  const int alive = kAlive / scale;
  MPI_Comm* many = malloc(sizeof(MPI_Comm) * (size_t)alive);
  MPI_Request* requests = malloc(sizeof(MPI_Request) * 2 * (size_t)alive);
  int* received = malloc(sizeof(int) * (size_t)alive);
  int* numbers = malloc(sizeof(int) * (size_t)alive);
  for (int i = 0; i < alive; ++i) OK(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &many[i]));
  /* The same tag on all: only the communicator tells them apart. */
  for (int i = 0; i < alive; ++i)
    OK(MPI_Irecv(&received[i], 1, MPI_INT, (rank + size - 1) % size, 0, many[i], &requests[i]));
  for (int i = alive - 1; i >= 0; --i) {
    numbers[i] = i;
    OK(MPI_Isend(&numbers[i], 1, MPI_INT, (rank + 1) % size, 0, many[i], &requests[alive + i]));
  }
  OK(MPI_Waitall(2 * alive, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < alive; ++i) {
    CHECK(received[i] == i);
    OK(MPI_Comm_free(&many[i]));
  }
  free(many);
  free(requests);
  free(received);
  free(numbers);
  OK(MPI_Finalize());
  return 0;
}
