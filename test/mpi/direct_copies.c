/* Blocks that ranks of a host copy from each other's memory: calls enough that a communicator begins with that, tries it and decides, in each of the
   collectives that may; every byte is checked, and what was sent is written over as soon as the call has returned. */
#include "check.h"

static int rank, size;
static int *out, *in;

static int value(int from, int to, int call, int i) { return from * 1000003 + to * 10007 + call * 101 + i; }

static void fill(int blocks, int n, int call, int only_to) {
  for (int b = 0; b < blocks; ++b)
    for (int i = 0; i < n; ++i) out[b * n + i] = value(rank, only_to < 0 ? b : only_to, call, i);
}
static void spoil(int blocks, int n) { memset(out, 0x5a, (size_t)blocks * (size_t)n * sizeof(int)); }

static void gather(MPI_Comm comm, int n, int call, MPI_Datatype type, int stride) {
  const int root = call % size;
  fill(1, n, call, root);
  memset(in, 0, (size_t)size * (size_t)n * (size_t)stride * sizeof(int));
  OK(MPI_Gather(out, n, MPI_INT, in, n / (stride == 1 ? 1 : 4), type, root, comm));
  spoil(1, n);
  for (int from = 0; rank == root && from < size; ++from)
    for (int i = 0; i < n; ++i) CHECK(in[(from * n + i) * stride] == value(from, root, call, i));
}

static void scatter(MPI_Comm comm, int n, int call) {
  const int root = call % size;
  if (rank == root) fill(size, n, call, -1);
  OK(MPI_Scatter(out, n, MPI_INT, in, n, MPI_INT, root, comm));
  spoil(size, n);
  for (int i = 0; i < n; ++i) CHECK(in[i] == value(root, rank, call, i));
}

static void check_received(int n, int call, int to) {
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < n; ++i) CHECK(in[from * n + i] == value(from, to, call, i));
}

static void allgather(MPI_Comm comm, int n, int call, int nonblocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  fill(1, n, call, 0);
  if (nonblocking)
    OK(MPI_Iallgather(out, n, MPI_INT, in, n, MPI_INT, comm, &request));
  else
    OK(MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  spoil(1, n);
  check_received(n, call, 0);
}

static void alltoall(MPI_Comm comm, int n, int call, int in_place) {
  fill(size, n, call, -1);
  if (in_place) memcpy(in, out, (size_t)size * (size_t)n * sizeof(int));
  OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : (void*)out, n, MPI_INT, in, n, MPI_INT, comm));
  spoil(size, n);
  check_received(n, call, rank);
}

static void all_of_them(MPI_Comm comm, int n, MPI_Datatype sparse) {
  for (int call = 0; call < 12 * (size > 4 ? size : 4) + 8; ++call) {
    gather(comm, n, call, MPI_INT, 1);
    if (call % 3 == 0) gather(comm, n, call, sparse, 2);
    scatter(comm, n, call);
    allgather(comm, n, call, 0);
    if (call % 5 == 0) allgather(comm, n, call, 1);
    alltoall(comm, n, call, 0);
    if (call % 7 == 0) alltoall(comm, n, call, 1);
  }
}

int main(int argc, char** argv) {
  enum { kMost = 80000 };
  MPI_Comm comm;
  MPI_Datatype sparse, spaced;
  MPI_Init(&argc, &argv);
  /* Four ints, each with one to pass over behind it. */
  OK(MPI_Type_vector(4, 1, 2, MPI_INT, &sparse));
  OK(MPI_Type_create_resized(sparse, 0, 8 * sizeof(int), &spaced));
  OK(MPI_Type_commit(&spaced));
  for (int use = 0; use < 3; ++use) { /* the second one has other members; the third one may have the area of the first */
    int world;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    OK(MPI_Comm_split(MPI_COMM_WORLD, use == 1 ? world % 2 : 0, -world, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    out = malloc((size_t)size * kMost * sizeof(int));
    in = malloc((size_t)size * kMost * 2 * sizeof(int));
    for (int i = 0; i < 150; ++i) OK(MPI_Barrier(comm));
    all_of_them(comm, 1024, spaced);
    all_of_them(comm, 5000, spaced);
    if (use == 0) all_of_them(comm, 70000, spaced); /* more than one system call takes */
    OK(MPI_Comm_free(&comm));
    free(out);
    free(in);
  }
  OK(MPI_Type_free(&sparse));
  OK(MPI_Type_free(&spaced));
  MPI_Finalize();
  return 0;
}
