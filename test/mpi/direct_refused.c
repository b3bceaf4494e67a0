/* A buffer that the kernel does not copy from or to for another process, as memory of a device is none, in a gather that copies directly: the rank
   whose buffer it is gets MPI_ERR_BUFFER with the setting that helps, the root, which has not all then, an error too, and the others go on, and so do
   all afterwards.
   For LAPWING_ALGORITHM=gather=area_direct. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kBytes = 1 << 18, kWarm = 400 }; /* a communicator copies directly after some hundred rounds */

static int rank, size;

/* Whether this machine lets ranks read each other's memory at all; the same on all of them. */
static int may_read(void) {
  struct {
    long pid, address, value;
  } own = {getpid(), 0, 4711 + rank}, next;
  long found = 0;
  own.address = (long)&own.value;
  OK(MPI_Sendrecv(&own, 3, MPI_LONG, (rank + size - 1) % size, 0, &next, 3, MPI_LONG, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const struct iovec here = {&found, sizeof found}, there = {(void*)next.address, sizeof found};
  int all = process_vm_readv((pid_t)next.pid, &here, 1, &there, 1, 0) == (ssize_t)sizeof found && found == next.value;
  OK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  return all;
}

static void gather_whole(char* from, char* all) {
  fill_pattern(from, kBytes, (unsigned)rank);
  OK(MPI_Gather(from, kBytes, MPI_CHAR, all, kBytes, MPI_CHAR, 0, MPI_COMM_WORLD));
  for (int i = 0; rank == 0 && i < size; ++i) CHECK(is_pattern(all + (size_t)i * kBytes, kBytes, (unsigned)i));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (!may_read()) {
    OK(MPI_Finalize());
    return 77;
  }
  char* const own = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const all = malloc((size_t)size * kBytes);
  CHECK(own != MAP_FAILED && all != NULL);
  for (int i = 0; i < kWarm; ++i) OK(MPI_Barrier(MPI_COMM_WORLD));
  gather_whole(own, all);
  for (int turn = 0; turn < 3; ++turn) {
    if (rank == 1) CHECK(mprotect(own, kBytes, PROT_NONE) == 0);
    const int code = MPI_Gather(own, kBytes, MPI_CHAR, all, kBytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 1) {
      char text[MPI_MAX_ERROR_STRING];
      int length;
      FAILS(code, MPI_ERR_BUFFER);
      OK(MPI_Error_string(code, text, &length));
      CHECK(strstr(text, "MPI_Gather") != NULL && strstr(text, "rank 0") != NULL && strstr(text, "LAPWING_SINGLE_COPY=off") != NULL);
      CHECK(mprotect(own, kBytes, PROT_READ | PROT_WRITE) == 0);
    } else if (rank == 0) {
      FAILS(code, MPI_ERR_OTHER);
    } else {
      OK(code);
    }
    gather_whole(own, all);
  }
  free(all);
  OK(MPI_Finalize());
  return 0;
}
