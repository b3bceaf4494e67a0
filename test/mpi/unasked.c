/* Non-blocking collectives of two hosts, and of one machine over TCP, whose messages leave without being asked for up to some length
   (src/coll/collective_request.cc), and lie in the kernel while the program computes: each rank late in turn, many begun before the other rank begins
   any, short and long ones among each other, persistent ones. */
#include "check.h"

enum { kMost = 300 * 1024, kMany = 24 };

static int rank, size;

typedef struct {
  unsigned char *out, *in;
} Buffers;

static Buffers make_buffers(void) {
  return (Buffers){malloc((size_t)kMost * (size_t)size), malloc((size_t)kMost * (size_t)size)};
}

static void free_buffers(Buffers buffers) {
  free(buffers.out);
  free(buffers.in);
}

enum { kAllgather, kAlltoall, kBcast, kAllreduce, kGather, kOperations };

static unsigned seed_of(int from, int to, int operation) {
  return (unsigned)(from * 7 + to * 3 + operation);
}

static void fill_all(Buffers buffers, int bytes, int operation) {
  int* numbers = (int*)buffers.out;
  memset(buffers.in, 0, (size_t)bytes * (size_t)size);
  if (operation == kAllreduce) {
    for (int i = 0; i < bytes / (int)sizeof(int); ++i) numbers[i] = i % 100 + rank;
  } else if (operation == kAlltoall) {
    for (int to = 0; to < size; ++to) fill_pattern(buffers.out + (size_t)to * (size_t)bytes, bytes, seed_of(rank, to, operation));
  } else {
    fill_pattern(operation == kBcast && rank == 0 ? buffers.in : buffers.out, bytes, seed_of(rank, 0, operation));
  }
}

static void begin(Buffers buffers, int bytes, int operation, MPI_Request* request) {
  void *out = buffers.out, *in = buffers.in;
  switch (operation) {
    case kAllgather: OK(MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, request)); break;
    case kAlltoall: OK(MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, request)); break;
    case kBcast: OK(MPI_Ibcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, request)); break;
    case kAllreduce: OK(MPI_Iallreduce(out, in, bytes / (int)sizeof(int), MPI_INT, MPI_SUM, MPI_COMM_WORLD, request)); break;
    default: OK(MPI_Igather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, request)); break;
  }
}

static void check_all(Buffers buffers, int bytes, int operation) {
  const int* sums = (const int*)buffers.in;
  if (operation == kAllreduce) {
    for (int i = 0; i < bytes / (int)sizeof(int); ++i) CHECK(sums[i] == i % 100 * size + size * (size - 1) / 2);
  } else if (operation == kBcast) {
    CHECK(is_pattern(buffers.in, bytes, seed_of(0, 0, operation)));
  } else if (operation != kGather || rank == 0) {
    for (int from = 0; from < size; ++from)
      CHECK(is_pattern(buffers.in + (size_t)from * (size_t)bytes, bytes, seed_of(from, operation == kAlltoall ? rank : 0, operation)));
  }
}

static void compute(long increments) {
  for (volatile long i = 0; i < increments;) ++i;
}

static void one_late(int late, int bytes, int operation) {
  const Buffers buffers = make_buffers();
  MPI_Request request;
  fill_all(buffers, bytes, operation);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == late) compute(2000000);
  begin(buffers, bytes, operation, &request);
  compute(rank == late ? 0 : 3000000);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_all(buffers, bytes, operation);
  free_buffers(buffers);
}

/* Rank 0 begins all before any other rank does: more than a receiver stores. */
static void many_before_the_other(int bytes) {
  Buffers buffers[kMany];
  MPI_Request requests[kMany];
  char token = 0;
  for (int i = 0; i < kMany; ++i) {
    buffers[i] = make_buffers();
    fill_all(buffers[i], i % 5 == 4 ? 1000 : bytes, i % kOperations);
  }
  if (rank != 0) OK(MPI_Recv(&token, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < kMany; ++i) begin(buffers[i], i % 5 == 4 ? 1000 : bytes, i % kOperations, &requests[i]);
  for (int other = 1; rank == 0 && other < size; ++other) OK(MPI_Send(&token, 1, MPI_BYTE, other, 1, MPI_COMM_WORLD));
  compute(1000000);
  OK(MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kMany; ++i) {
    check_all(buffers[i], i % 5 == 4 ? 1000 : bytes, i % kOperations);
    free_buffers(buffers[i]);
  }
}

static void persistent(int bytes) {
  const Buffers buffers = make_buffers();
  MPI_Request request;
  OK(MPI_Allgather_init(buffers.out, bytes, MPI_BYTE, buffers.in, bytes, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  for (int i = 0; i < 5; ++i) {
    fill_all(buffers, bytes, kAllgather);
    OK(MPI_Start(&request));
    compute(100000);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_all(buffers, bytes, kAllgather);
  }
  OK(MPI_Request_free(&request));
  free_buffers(buffers);
}

int main(int argc, char** argv) {
  static const int sizes[] = {1000, 64 * 1024, 100000, 256 * 1024, kMost};
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    for (int operation = 0; operation < kOperations; ++operation)
      for (int late = 0; late < size; ++late) one_late(late, sizes[s], operation);
    many_before_the_other(sizes[s]);
    persistent(sizes[s]);
  }
  OK(MPI_Finalize());
  return 0;
}
