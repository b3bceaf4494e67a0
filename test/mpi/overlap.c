/* Messages move while the program is outside MPI. The receiver posts its receives and then does not enter MPI until the sender
   says, through a pipe-like file outside MPI, that its synchronous sends have returned. Without asynchronous progress this
   test would never end; it measures no time. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  char name[64];
  int pid = (int)getpid();
  OK(MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD));
  snprintf(name, sizeof name, "/tmp/lapwing-overlap-test-%d", pid);

  enum { kMessages = 4 };
  static const size_t sizes[kMessages] = {8, 65536, 1 << 20, 8 << 20};
  if (rank == 0) {
    MPI_Request requests[kMessages];
    unsigned char* buffers[kMessages];
    for (int i = 0; i < kMessages; ++i) {
      buffers[i] = malloc(sizes[i]);
      OK(MPI_Irecv(buffers[i], (int)sizes[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    volatile double work = 0;
    while (access(name, F_OK) != 0) /* the computation */
      for (int i = 0; i < 1000; ++i) work = work + i;
    unlink(name);
    for (int i = 0; i < kMessages; ++i) {
      int done = 0;
      OK(MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE));
    }
    OK(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kMessages; ++i) {
      CHECK(is_pattern(buffers[i], sizes[i], (unsigned)i));
      free(buffers[i]);
    }
  } else if (rank == 1) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < kMessages; ++i) {
      unsigned char* buffer = malloc(sizes[i]);
      fill_pattern(buffer, sizes[i], (unsigned)i);
      OK(MPI_Ssend(buffer, (int)sizes[i], MPI_BYTE, 0, i, MPI_COMM_WORLD));
      free(buffer);
    }
    FILE* file = fopen(name, "w");
    CHECK(file != NULL);
    fclose(file);
  } else {
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Finalize());
  return 0;
}
