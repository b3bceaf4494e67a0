/* Calls of collectives that do not match: each must give an error that names both ranks and both calls, and no rank may wait for ever.
 * Rank 0 makes one call, the others make another one. Every case has a communicator of its own, because what follows on it fails too. */
#include "check.h"

enum { kInts = 100, kMany = 262144 };

static int rank, size;
static int in[kInts * 16], out[kInts * 16], many[kMany + 16], got_many[kMany + 16];

typedef int (*Call)(MPI_Comm comm);
typedef struct {
  const char* name;
  Call first, others;
  const char *word, *other_word; /* of the error's text */
  int class;
  enum { kAtOnce, kInBarrier, kInBarrierOfSome } found; /* kInBarrier: the calls themselves need not meet a reader, but the next one does */
  enum { kAnywhere, kTwoRanks, kSharedAreas } where; /* elsewhere some ranks would wait for others that have given up */
} Case;

static int barrier(MPI_Comm c) { return MPI_Barrier(c); }
static int sum(MPI_Comm c) { return MPI_Allreduce(in, out, 50, MPI_INT, MPI_SUM, c); }
static int more_sums(MPI_Comm c) { return MPI_Allreduce(in, out, kInts, MPI_INT, MPI_SUM, c); }
static int no_sum(MPI_Comm c) { return MPI_Allreduce(in, out, 0, MPI_INT, MPI_SUM, c); }
static int maximum(MPI_Comm c) { return MPI_Allreduce(in, out, 50, MPI_INT, MPI_MAX, c); }
static int sum_of_floats(MPI_Comm c) { return MPI_Allreduce(in, out, 50, MPI_FLOAT, MPI_SUM, c); }
static int bcast_of_0(MPI_Comm c) { return MPI_Bcast(out, 50, MPI_INT, 0, c); }
static int bcast_of_1(MPI_Comm c) { return MPI_Bcast(out, 50, MPI_INT, 1, c); }
static int long_bcast(MPI_Comm c) { return MPI_Bcast(many, kMany, MPI_INT, 0, c); }
static int less_long_bcast(MPI_Comm c) { return MPI_Bcast(many, kMany - 1, MPI_INT, 0, c); }
static int reduce_to_0(MPI_Comm c) { return MPI_Reduce(in, out, 50, MPI_INT, MPI_SUM, 0, c); }
static int reduce_to_1(MPI_Comm c) { return MPI_Reduce(in, out, 50, MPI_INT, MPI_SUM, 1, c); }
static int allgather(MPI_Comm c) { return MPI_Allgather(in, 2, MPI_INT, out, 2, MPI_INT, c); }
static int alltoall(MPI_Comm c) { return MPI_Alltoall(in, 2, MPI_INT, out, 2, MPI_INT, c); }
static int gather_2(MPI_Comm c) { return MPI_Gather(in, 2, MPI_INT, out, 2, MPI_INT, 0, c); }
static int gather_1(MPI_Comm c) { return MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, c); }
static int scatter_2(MPI_Comm c) { return MPI_Scatter(in, 2, MPI_INT, out, 2, MPI_INT, 0, c); }
static int scatter_1(MPI_Comm c) { return MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 0, c); }
static int scan(MPI_Comm c) { return MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, c); }
static int exscan(MPI_Comm c) { return MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, c); }
static int allgatherv(MPI_Comm c, int first) {
  int counts[16], places[16];
  for (int i = 0; i < size; ++i) counts[i] = i == 0 ? first : 1, places[i] = 2 * i;
  return MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, c);
}
static int allgatherv_1(MPI_Comm c) { return allgatherv(c, 1); }
static int allgatherv_2(MPI_Comm c) { return allgatherv(c, 2); }

static int wait(int status, MPI_Request* request) {
  return status != MPI_SUCCESS ? status : MPI_Wait(request, MPI_STATUS_IGNORE);
}
static int later_barrier(MPI_Comm c) {
  MPI_Request r;
  return wait(MPI_Ibarrier(c, &r), &r);
}
static int later_sum(MPI_Comm c) {
  MPI_Request r;
  return wait(MPI_Iallreduce(in, out, 50, MPI_INT, MPI_SUM, c, &r), &r);
}
static int persistent(MPI_Comm c, int count) {
  MPI_Request r;
  int status = MPI_SUCCESS;
  OK(MPI_Allreduce_init(in, out, count, MPI_INT, MPI_SUM, c, MPI_INFO_NULL, &r));
  for (int i = 0; i < 2 && status == MPI_SUCCESS; ++i) status = wait(MPI_Start(&r), &r);
  MPI_Request_free(&r);
  return status;
}
static int persistent_sum(MPI_Comm c) { return persistent(c, 50); }
static int more_persistent_sums(MPI_Comm c) { return persistent(c, kInts); }

static const Case cases[] = {
    {"calls", barrier, sum, "MPI_Barrier", "MPI_Allreduce(MPI_SUM, 32-bit integers, 200 bytes)", MPI_ERR_OTHER, kAtOnce, kAnywhere},
    {"a rooted call", barrier, bcast_of_1, "MPI_Barrier", "MPI_Bcast(root 1, 200 bytes)", MPI_ERR_OTHER, kAtOnce, kAnywhere},
    {"counts", sum, more_sums, "200 bytes", "400 bytes", 0, kAtOnce, kAnywhere},
    {"a count of none", no_sum, sum, "", "", 0, kInBarrierOfSome, kSharedAreas},
    {"operations", sum, maximum, "MPI_SUM", "MPI_MAX", MPI_ERR_OP, kAtOnce, kAnywhere},
    {"types", sum, sum_of_floats, "32-bit integers", "32-bit floats", MPI_ERR_TYPE, kAtOnce, kAnywhere},
    {"roots that both send", bcast_of_0, bcast_of_1, "", "", MPI_ERR_OTHER, kInBarrier, kAnywhere},
    {"roots that neither reads", reduce_to_1, reduce_to_0, "root 1", "root 0", 0, kInBarrier, kAnywhere},
    {"all to all", allgather, alltoall, "MPI_Allgather(8 bytes)", "MPI_Alltoall(8 bytes)", MPI_ERR_OTHER, kAtOnce, kAnywhere},
    {"too little to gather", gather_2, gather_1, "8 bytes", "4 bytes", 0, kAtOnce, kAnywhere},
    {"too much to gather", gather_1, gather_2, "4 bytes", "8 bytes", 0, kAtOnce, kAnywhere},
    {"too little to scatter", scatter_1, scatter_2, "4 bytes", "8 bytes", 0, kAtOnce, kAnywhere},
    {"scans", scan, exscan, "MPI_Scan", "MPI_Exscan", MPI_ERR_OTHER, kAtOnce, kAnywhere},
    {"sums of counts", allgatherv_1, allgatherv_2, "MPI_Allgatherv", "bytes", 0, kAtOnce, kTwoRanks},
    {"long ones", long_bcast, less_long_bcast, "256 KiB or more", "256 KiB or more", 0, kAtOnce, kTwoRanks},
    {"ones that do not block", later_barrier, later_sum, "MPI_Barrier", "MPI_Allreduce", MPI_ERR_OTHER, kAtOnce, kAnywhere},
    {"persistent ones", persistent_sum, more_persistent_sums, "200 bytes", "400 bytes", 0, kAtOnce, kTwoRanks},
};

/* What one rank got, and how often any rank got an error. */
static void judge(const Case* c, int code) {
  int failed = code != MPI_SUCCESS, failures = 0;
  if (failed) {
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    OK(MPI_Error_string(code, text, &length));
    OK(MPI_Error_class(code, &class));
    const int wrong_class = c->class != 0 && class != c->class && c->found == kAtOnce;
    if (wrong_class || strstr(text, " is in MPI_") == NULL || strstr(text, c->word) == NULL ||
        strstr(text, c->other_word) == NULL) {
      fprintf(stderr, "rank %d, %s: class %d, \"%s\"\n", rank, c->name, class, text);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  OK(MPI_Allreduce(&failed, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  if (failures == 0) {
    fprintf(stderr, "%s: no rank got an error\n", c->name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void try_case(const Case* c) {
  const char* transports = getenv("LAPWING_TRANSPORTS");
  const int areas = transports != NULL && strcmp(transports, "shm") == 0;
  if ((c->where == kTwoRanks && size != 2) || (c->where == kSharedAreas && !areas)) return;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Barrier(comm));
  int code = rank == 0 ? c->first(comm) : c->others(comm);
  Case judged = *c;
  if (c->found != kAtOnce) {
    judged.word = judged.other_word = "";
    const int then = c->found == kInBarrier || code == MPI_SUCCESS ? MPI_Barrier(comm) : code;
    if (then != MPI_SUCCESS) code = then; /* the text is that of the last error */
  }
  judge(&judged, code);
  OK(MPI_Comm_free(&comm));
}

/* Blocks of which the two ranks have other lengths, one short and one long: those go other ways where ranks share memory. The rank that
 * receives is told, and its sender goes on. */
static int gatherv(int sent, int expected, MPI_Comm c) {
  int counts[16], places[16];
  for (int i = 0; i < size; ++i) counts[i] = i == 1 ? expected : 1, places[i] = i < 2 ? i : kMany + i;
  return MPI_Gatherv(many, rank == 1 ? sent : 1, MPI_INT, got_many, counts, places, MPI_INT, 0, c);
}
static int scatterv(int sent, int expected, MPI_Comm c) {
  int counts[16], places[16];
  for (int i = 0; i < size; ++i) counts[i] = i == 1 ? sent : 1, places[i] = i;
  return MPI_Scatterv(many, counts, places, MPI_INT, got_many, rank == 1 ? expected : 1, MPI_INT, 0, c);
}
static int alltoallv(int sent, int expected, MPI_Comm c) {
  int out_counts[16], in_counts[16], out_places[16], in_places[16];
  for (int i = 0; i < size; ++i) {
    out_counts[i] = rank == 0 && i == 1 ? sent : 1;
    in_counts[i] = rank == 1 && i == 0 ? expected : 1;
    out_places[i] = i, in_places[i] = i == 0 ? 0 : kMany + i;
  }
  return MPI_Alltoallv(many, out_counts, out_places, MPI_INT, got_many, in_counts, in_places, MPI_INT, c);
}

static void check_lengths_across_the_limit(void) {
  static int (*const calls[])(int sent, int expected, MPI_Comm) = {gatherv, scatterv, alltoallv};
  const char* transports = getenv("LAPWING_TRANSPORTS");
  if (transports == NULL || strcmp(transports, "shm") != 0 || size < 2) return;
  for (int i = 0; i < 3; ++i) {
    for (int too_long = 0; too_long <= 1; ++too_long) {
      const int receives = rank == (i == 0 ? 0 : 1);
      MPI_Comm comm;
      OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
      OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
      const int code = calls[i](too_long ? kMany : 2, too_long ? 2 : kMany, comm);
      if (!receives) OK(code);
      if (receives) FAILS(code, too_long ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT);
      OK(calls[i](kMany, kMany, comm)); /* and the next one is in order again */
      OK(calls[i](2, 2, comm));
      OK(MPI_Comm_free(&comm));
    }
  }
}

/* What differs and is right. */
static void check_what_may_differ(void) {
  MPI_Datatype four, pair;
  int counts[16], places[16], mine[4] = {rank, rank + 1, rank + 2, rank + 3}, got[64];
  OK(MPI_Type_contiguous(4, MPI_INT, &four));
  OK(MPI_Type_vector(2, 2, 4, MPI_INT, &pair));
  OK(MPI_Type_commit(&four));
  OK(MPI_Type_commit(&pair));
  if (rank == 0)
    OK(MPI_Bcast(mine, 1, four, 0, MPI_COMM_WORLD));
  else if (rank == 1)
    OK(MPI_Bcast(got, 1, pair, 0, MPI_COMM_WORLD));
  else
    OK(MPI_Bcast(got, 16, MPI_BYTE, 0, MPI_COMM_WORLD));
  if (rank == 0)
    OK(MPI_Gather(MPI_IN_PLACE, 7, MPI_DATATYPE_NULL, got, 4, MPI_INT, 0, MPI_COMM_WORLD));
  else
    OK(MPI_Gather(mine, 1, four, NULL, 99, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) counts[i] = i % 3, places[i] = 3 * i;
  OK(MPI_Gatherv(mine, counts[rank], MPI_INT, got, counts, places, MPI_INT, 0, MPI_COMM_WORLD));
  OK(MPI_Allreduce(mine, got, 1, rank == 0 ? MPI_INT : MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allgather(mine, rank % 2 ? 4 : 1, rank % 2 ? MPI_INT : four, got, 4, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Type_free(&four));
  OK(MPI_Type_free(&pair));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int turn = 0; turn < 2; ++turn) {
    check_lengths_across_the_limit();
    check_what_may_differ();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) try_case(&cases[i]);
  }
  OK(MPI_Finalize());
  return 0;
}
