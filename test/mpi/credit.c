/* Small messages to a rank that asks for them in another order, under a limit for unexpected messages that is divided badly
   (LAPWING_UNEXPECTED_LIMIT in list.txt): credit SEED. Nothing gets stuck, and the limit holds. */
#include "check.h"

static int rank, size;

enum { kMessages = 150, kMost = 1500, kFlood = 20000, kMoreTests = 100000 };

/* One-byte messages use the credit up, and the last one is asked for first. */
static void last_first(int sender) {
  enum { kBefore = 60 };
  char bytes[kBefore + 1] = {0};
  MPI_Request requests[kBefore + 1];
  if (rank == sender) {
    for (int i = 0; i <= kBefore; ++i)
      OK(MPI_Isend(&bytes[i], 1, MPI_CHAR, 0, i == kBefore ? 2 : 1, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Waitall(kBefore + 1, requests, MPI_STATUSES_IGNORE));
  } else if (rank == 0) {
    OK(MPI_Recv(bytes, 1, MPI_CHAR, sender, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < kBefore; ++i) OK(MPI_Recv(bytes, 1, MPI_CHAR, sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

/* Random sizes, received in random order. Both sides draw the same numbers. */
static void shuffled(int sender, unsigned seed) {
  static unsigned char data[kMessages][kMost];
  int bytes[kMessages], order[kMessages];
  MPI_Request requests[kMessages];
  srand(seed);
  for (int i = 0; i < kMessages; ++i) {
    bytes[i] = rand() % (i % 2 ? 3 : kMost);
    const int other = rand() % (i + 1);
    order[i] = order[other];
    order[other] = i;
  }
  for (int i = 0; i < kMessages && rank == sender; ++i) {
    for (int j = 0; j < bytes[i]; ++j) data[i][j] = pattern((size_t)j, (unsigned)i);
    OK(MPI_Isend(data[i], bytes[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = 0; i < kMessages && rank == 0; ++i) {
    const int tag = order[i], source = tag % 3 == 0 ? MPI_ANY_SOURCE : sender;
    MPI_Status status;
    int count;
    if (tag % 5 == 0) OK(MPI_Probe(source, tag, MPI_COMM_WORLD, &status));
    OK(MPI_Recv(data[0], kMost, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(status.MPI_SOURCE == sender && count == bytes[tag]);
    for (int j = 0; j < count; ++j) CHECK(data[0][j] == pattern((size_t)j, (unsigned)tag));
  }
  if (rank == sender) OK(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
}

/* The most memory that this process ever had, in bytes. */
static size_t peak_memory(void) {
  char line[256];
  size_t kilobytes = 0;
  FILE* file = fopen("/proc/self/status", "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %zu", &kilobytes) == 1) break;
  fclose(file);
  return kilobytes * 1024;
}

/* Rank 0 waits for a control message and consumes nothing: rank 1, which waits for each of its sends, must come to a stop. They are
   empty, so that none is too long to leave whole. */
static void flood_beside_a_receive_that_waits(void) {
  char word = 0;
  if (rank == 1) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < kFlood; ++i) OK(MPI_Send(&word, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD));
    OK(MPI_Send(&word, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD));
    return;
  }
  MPI_Request control;
  int done = 0;
  if (rank == 0) OK(MPI_Irecv(&word, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &control));
  const size_t before = peak_memory();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank != 0) return;
  for (int i = 0; i < kMoreTests; ++i) OK(MPI_Test(&control, &done, MPI_STATUS_IGNORE));
  CHECK(!done);
#ifdef __SANITIZE_ADDRESS__
  const size_t around = 512 << 20; /* it keeps freed memory for a while */
#else
  const size_t around = 4 << 20;
#endif
  CHECK(peak_memory() - before < around);
  for (int i = 0; i < kFlood; ++i) OK(MPI_Recv(&word, 0, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&control, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  for (int sender = 1; sender < size; ++sender) {
    last_first(sender);
    for (unsigned round = 0; round < 10; ++round) shuffled(sender, seed * 100 + round);
  }
  flood_beside_a_receive_that_waits();
  OK(MPI_Finalize());
  return 0;
}
