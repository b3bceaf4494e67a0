/* A flood of small messages to a rank that receives nothing: its memory stays under the bound (LAPWING_UNEXPECTED_LIMIT in
   list.txt), and afterwards all messages are there, in order. */
#include "check.h"

static int rank, size;

enum { kEach = 200000, kWords = 16 };

/* The most memory that this process ever had, in bytes. */
static size_t peak_memory(void) {
  char line[256];
  size_t kilobytes = 0;
  FILE* file = fopen("/proc/self/status", "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %zu", &kilobytes) == 1) break;
  fclose(file);
  CHECK(kilobytes > 0);
  return kilobytes * 1024;
}

/* All are posted before the receiver leaves the barrier and receives the first one. */
static void send_all(int each) {
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)each);
  unsigned(*cells)[kWords] = malloc((size_t)each * sizeof *cells);
  for (int i = 0; i < each; ++i) {
    const int words = i % 7 == 0 ? 1 : kWords;
    cells[i][0] = cells[i][words - 1] = (unsigned)i;
    OK(MPI_Isend(cells[i], words, MPI_UNSIGNED, 0, 1, MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Waitall(each, requests, MPI_STATUSES_IGNORE));
  free(cells);
  free(requests);
}

static void receive_all(int each) {
  unsigned cells[kWords], *next = calloc((size_t)size, sizeof(unsigned));
  const size_t before = peak_memory();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (long i = 0; i < (long)each * (size - 1); ++i) {
    MPI_Status status;
    int count;
    OK(MPI_Recv(cells, kWords, MPI_UNSIGNED, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_UNSIGNED, &count));
    const unsigned number = next[status.MPI_SOURCE]++;
    CHECK(cells[0] == number && cells[count - 1] == number && count == (number % 7 == 0 ? 1 : kWords));
  }
  const char* limit = getenv("LAPWING_UNEXPECTED_LIMIT");
  const size_t bound = limit && limit[0] == '4' ? 4 << 20 : 256 << 20, grown = peak_memory() - before;
#ifdef __SANITIZE_ADDRESS__
  const size_t around = 512 << 20; /* it keeps freed memory for a while */
#else
  const size_t around = (4 << 20) + (size_t)(size - 1) * (4 << 20); /* the rings in shared memory */
#endif
  CHECK(grown < bound + around);
  free(next);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int each = argc > 1 ? atoi(argv[1]) : kEach;
  if (rank == 0)
    receive_all(each);
  else
    send_all(each);
  OK(MPI_Finalize());
  return 0;
}
