/* Blocks of different lengths that ranks of a host leave in place, or copy from each other's memory: calls enough that a communicator begins with
   that and each rank tries it, in each of the collectives that may; short, long and empty blocks side by side. Every byte is checked, and what was
   sent is written over as soon as the call has returned. */
#include "check.h"

enum { kMostRanks = 8, kMostInts = 70000 };

static int rank, size;
static int *out, *in;
static MPI_Datatype sparse, dense; /* four ints each; the first has one to pass over behind each of them */

static int value(int from, int to, int call, int i) { return from * 1000003 + to * 10007 + call * 101 + i; }

/* How many ints a block has, a multiple of four: none, some, about as many as where direct copies begin, or more than fit into a post. */
static int length(int from, int to, int call) {
  static const int lengths[] = {0, 8, 1020, 1024, 1500, 6000, 20000, kMostInts};
  const int kind = (from * 5 + to * 3 + call) % 8;
  return kind == 7 && call % 4 != 0 ? 2000 : lengths[kind];
}

static void fill(int* ints, int n, int from, int to, int call) {
  for (int i = 0; i < n; ++i) ints[i] = value(from, to, call, i);
}
static void check(const int* ints, int n, int stride, int from, int to, int call) {
  for (int i = 0; i < n; ++i) CHECK(ints[i * stride] == value(from, to, call, i));
}
static void spoil(void) { memset(out, 0x5a, (size_t)size * kMostInts * sizeof(int)); }

/* The receiver describes what comes as ints, as fours, or as every second int. */
typedef struct {
  MPI_Datatype type;
  int ints, stride;
} Shape;
static Shape shape(int call) {
  const Shape shapes[] = {{MPI_INT, 1, 1}, {dense, 4, 1}, {sparse, 4, 2}};
  return shapes[call % 3];
}

static void finish(int blocking, MPI_Request* request) {
  if (!blocking) OK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static void scatterv(MPI_Comm comm, int root, int call) {
  int counts[kMostRanks], places[kMostRanks];
  const int n = length(root, rank, call), in_place = rank == root && call % 5 == 0, blocking = call % 6 != 1;
  const Shape to = shape(call + rank);
  MPI_Request request;
  for (int i = 0; i < size; ++i) counts[i] = length(root, i, call), places[i] = i * kMostInts;
  for (int i = 0; rank == root && i < size; ++i) fill(out + places[i], counts[i], root, i, call);
  void* target = in_place ? MPI_IN_PLACE : (void*)in;
  if (blocking)
    OK(MPI_Scatterv(out, counts, places, MPI_INT, target, n / to.ints, to.type, root, comm));
  else
    OK(MPI_Iscatterv(out, counts, places, MPI_INT, target, n / to.ints, to.type, root, comm, &request));
  finish(blocking, &request);
  spoil();
  if (!in_place) check(in, n, to.stride, root, rank, call);
}

static void gatherv(MPI_Comm comm, int root, int call) {
  int counts[kMostRanks], places[kMostRanks];
  const int n = length(rank, root, call), in_place = rank == root && call % 5 == 0, blocking = call % 6 != 2;
  const Shape to = shape(call);
  MPI_Request request;
  for (int i = 0; i < size; ++i) counts[i] = length(i, root, call) / to.ints, places[i] = i * kMostInts / to.ints;
  fill(in_place ? in + (size_t)rank * kMostInts * (size_t)to.stride : out, in_place && to.stride != 1 ? 0 : n, rank, root, call);
  for (int i = 0; in_place && to.stride != 1 && i < n; ++i) in[(size_t)rank * kMostInts * 2 + (size_t)i * 2] = value(rank, root, call, i);
  const void* source = in_place ? MPI_IN_PLACE : (void*)out;
  if (blocking)
    OK(MPI_Gatherv(source, n, MPI_INT, in, counts, places, to.type, root, comm));
  else
    OK(MPI_Igatherv(source, n, MPI_INT, in, counts, places, to.type, root, comm, &request));
  finish(blocking, &request);
  spoil();
  for (int i = 0; rank == root && i < size; ++i)
    check(in + (size_t)i * kMostInts * (size_t)to.stride, length(i, root, call), to.stride, i, root, call);
}

static void alltoallv(MPI_Comm comm, int call) {
  int out_counts[kMostRanks], in_counts[kMostRanks], out_places[kMostRanks], in_places[kMostRanks];
  MPI_Datatype out_types[kMostRanks], in_types[kMostRanks];
  const int blocking = call % 6 != 3, typed = call % 4 == 1;
  MPI_Request request;
  for (int i = 0; i < size; ++i) {
    const Shape to = typed ? shape(call + i) : shape(0);
    out_counts[i] = length(rank, i, call), out_places[i] = i * kMostInts * (typed ? (int)sizeof(int) : 1);
    in_counts[i] = length(i, rank, call) / to.ints, in_places[i] = i * kMostInts * 2 * (typed ? (int)sizeof(int) : 1);
    out_types[i] = MPI_INT, in_types[i] = to.type;
    fill(out + i * kMostInts, out_counts[i], rank, i, call);
  }
  if (typed && blocking)
    OK(MPI_Alltoallw(out, out_counts, out_places, out_types, in, in_counts, in_places, in_types, comm));
  else if (typed)
    OK(MPI_Ialltoallw(out, out_counts, out_places, out_types, in, in_counts, in_places, in_types, comm, &request));
  else if (blocking)
    OK(MPI_Alltoallv(out, out_counts, out_places, MPI_INT, in, in_counts, in_places, MPI_INT, comm));
  else
    OK(MPI_Ialltoallv(out, out_counts, out_places, MPI_INT, in, in_counts, in_places, MPI_INT, comm, &request));
  finish(blocking, &request);
  spoil();
  for (int i = 0; i < size; ++i)
    check(in + (size_t)i * kMostInts * 2, length(i, rank, call), typed ? shape(call + i).stride : 1, i, rank, call);
}

static void alltoallv_in_place(MPI_Comm comm, int call) {
  int counts[kMostRanks], places[kMostRanks];
  for (int i = 0; i < size; ++i) {
    counts[i] = length(rank < i ? rank : i, rank < i ? i : rank, call), places[i] = i * kMostInts;
    fill(in + places[i], counts[i], rank, i, call);
  }
  OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, counts, places, MPI_INT, comm));
  for (int i = 0; i < size; ++i) check(in + places[i], counts[i], 1, i, rank, call);
}

static void allgatherv(MPI_Comm comm, int call) {
  int counts[kMostRanks], places[kMostRanks];
  const int in_place = call % 5 == 0, blocking = call % 6 != 4;
  MPI_Request request;
  for (int i = 0; i < size; ++i) counts[i] = length(i, 0, call), places[i] = i * kMostInts;
  fill(in_place ? in + places[rank] : out, counts[rank], rank, 0, call);
  const void* source = in_place ? MPI_IN_PLACE : (void*)out;
  if (blocking)
    OK(MPI_Allgatherv(source, counts[rank], MPI_INT, in, counts, places, MPI_INT, comm));
  else
    OK(MPI_Iallgatherv(source, counts[rank], MPI_INT, in, counts, places, MPI_INT, comm, &request));
  finish(blocking, &request);
  spoil();
  for (int i = 0; i < size; ++i) check(in + places[i], counts[i], 1, i, 0, call);
}

static void expect(int fails, int code, int class) {
  if (fails)
    FAILS(code, class);
  else
    OK(code);
}

/* Two ranks that disagree on the length of a block that may be left in place: the one that receives is told, and the other one goes on. */
static void disagree(MPI_Comm comm, int sent, int expected) {
  int counts[kMostRanks] = {0}, places[kMostRanks] = {0}, none[kMostRanks] = {0};
  const int class = sent > expected ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT;
  MPI_Comm own;
  OK(MPI_Comm_dup(comm, &own));
  OK(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN));
  for (int i = 0; i < 150; ++i) OK(MPI_Barrier(own));
  for (int turn = 0; turn < 3; ++turn) {
    counts[1] = rank == 0 ? sent : expected;
    const int scattered = MPI_Scatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, 0, own);
    expect(rank == 1, scattered, class);
    counts[1] = expected;
    const int gathered = MPI_Gatherv(out, rank == 1 ? sent : 0, MPI_INT, in, counts, places, MPI_INT, 0, own);
    expect(rank == 0, gathered, class);
    counts[1] = 0, counts[0] = expected;
    none[1] = rank == 0 ? sent : 0;
    int* in_counts = rank == 1 ? counts : (int[kMostRanks]){0};
    const int exchanged = MPI_Alltoallv(out, none, places, MPI_INT, in, in_counts, places, MPI_INT, own);
    expect(rank == 1, exchanged, class);
    counts[0] = counts[1] = 0;
    scatterv(own, turn % size, turn); /* and what follows is in order */
    gatherv(own, turn % size, turn);
    alltoallv(own, turn);
  }
  OK(MPI_Comm_free(&own));
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  MPI_Datatype vector;
  int world;
  MPI_Init(&argc, &argv);
  OK(MPI_Type_vector(4, 1, 2, MPI_INT, &vector));
  OK(MPI_Type_create_resized(vector, 0, 8 * sizeof(int), &sparse));
  OK(MPI_Type_contiguous(4, MPI_INT, &dense));
  OK(MPI_Type_commit(&sparse));
  OK(MPI_Type_commit(&dense));
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  for (int use = 0; use < 2; ++use) { /* the second one has other members */
    OK(MPI_Comm_split(MPI_COMM_WORLD, use == 1 ? world % 2 : 0, -world, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(size <= kMostRanks);
    out = malloc((size_t)size * kMostInts * sizeof(int));
    in = malloc((size_t)size * kMostInts * 2 * sizeof(int));
    for (int i = 0; i < 150; ++i) OK(MPI_Barrier(comm));
    for (int call = 0; call < (use == 0 ? 240 : 120); ++call) {
      scatterv(comm, call % size, call);
      gatherv(comm, call / 2 % size, call);
      alltoallv(comm, call);
      if (call % 3 == 0) allgatherv(comm, call);
      if (call % 7 == 0) alltoallv_in_place(comm, call);
    }
    if (size > 1) {
      disagree(comm, kMostInts, 2);
      disagree(comm, 2, kMostInts);
      disagree(comm, 6000, 5000);
      disagree(comm, 5000, 6000);
    }
    OK(MPI_Comm_free(&comm));
    free(out);
    free(in);
  }
  OK(MPI_Type_free(&vector));
  OK(MPI_Type_free(&sparse));
  OK(MPI_Type_free(&dense));
  MPI_Finalize();
  return 0;
}
