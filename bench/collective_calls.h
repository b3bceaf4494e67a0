/* Every blocking collective from MPI_Bcast to MPI_Barrier, or its non-blocking form, as a call on one set of operands, and
   whether it brought what it should. Blocks of the forms with counts have one length here, too. */
#ifndef LAPWING_BENCH_COLLECTIVE_CALLS_H
#define LAPWING_BENCH_COLLECTIVE_CALLS_H
#include "ranks.h"

#include <ctype.h>

enum { kPeriod = 1000 };
static const size_t kMostMemory = (size_t)16 << 20; /* of one rank's blocks */

/* ---- Operands ---- */

typedef struct {
  size_t bytes;                         /* of a block, or of the operand of a reduction */
  int count, numbers;                   /* of bytes, of doubles */
  int root;
  MPI_Request* request;                 /* not NULL: the non-blocking form is started with it */
  char *out, *in;                       /* a block for each rank */
  int *counts, *displacements, *shares; /* shares: doubles that each rank gets of a scattered reduction */
} Job;

static char* block(const Job* job, char* blocks, int which) {
  return blocks + (size_t)which * job->bytes;
}

static void fill_bytes(Job* job) {
  for (int i = 0; i < size; ++i) fill(block(job, job->out, i), job->bytes, (unsigned)(rank * size + i));
}

/* A broadcast is of one block, which may be longer than those of which there is one for each rank. */
static void fill_first(Job* job) {
  fill(job->out, job->bytes, (unsigned)(rank * size));
}

static void fill_numbers(Job* job) {
  double* numbers = (double*)job->out;
  for (int i = 0; i < job->numbers; ++i) numbers[i] = i % kPeriod + rank;
}

static bool has_block(const Job* job, int at, int from, int which) {
  return is_filled(block(job, job->in, at), job->bytes, (unsigned)(from * size + which));
}

/* The sum of the operands of so many ranks, from the element `first` on. */
static bool has_sum(const Job* job, int first, int count, int ranks) {
  const double* sums = (const double*)job->in;
  for (int i = 0; i < count; ++i)
    if (sums[i] != (double)((first + i) % kPeriod) * ranks + ranks * (ranks - 1) / 2.0) return false;
  return true;
}

/* ---- Collectives, and what they bring ---- */

#define WORLD MPI_COMM_WORLD
#define CALL(Blocking, nonblocking, ...) \
  (j->request == NULL ? MPI_##Blocking(__VA_ARGS__) : MPI_I##nonblocking(__VA_ARGS__, j->request))

static void bcast(const Job* j) {
  CALL(Bcast, bcast, rank == j->root ? j->out : j->in, j->count, MPI_BYTE, j->root, WORLD);
}
static bool has_broadcast(const Job* j) {
  return rank == j->root || has_block(j, 0, j->root, 0);
}

static void scatter(const Job* j) {
  CALL(Scatter, scatter, j->out, j->count, MPI_BYTE, j->in, j->count, MPI_BYTE, j->root, WORLD);
}
static void scatterv(const Job* j) {
  CALL(Scatterv, scatterv, j->out, j->counts, j->displacements, MPI_BYTE, j->in, j->count, MPI_BYTE, j->root, WORLD);
}
static bool has_scattered(const Job* j) {
  return has_block(j, 0, j->root, rank);
}

static void gather(const Job* j) {
  CALL(Gather, gather, j->out, j->count, MPI_BYTE, j->in, j->count, MPI_BYTE, j->root, WORLD);
}
static void gatherv(const Job* j) {
  CALL(Gatherv, gatherv, j->out, j->count, MPI_BYTE, j->in, j->counts, j->displacements, MPI_BYTE, j->root, WORLD);
}
static void allgather(const Job* j) {
  CALL(Allgather, allgather, j->out, j->count, MPI_BYTE, j->in, j->count, MPI_BYTE, WORLD);
}
static void allgatherv(const Job* j) {
  CALL(Allgatherv, allgatherv, j->out, j->count, MPI_BYTE, j->in, j->counts, j->displacements, MPI_BYTE, WORLD);
}
static bool has_gathered_all(const Job* j) {
  for (int from = 0; from < size; ++from)
    if (!has_block(j, from, from, 0)) return false;
  return true;
}
static bool has_gathered(const Job* j) {
  return rank != j->root || has_gathered_all(j);
}

static void alltoall(const Job* j) {
  CALL(Alltoall, alltoall, j->out, j->count, MPI_BYTE, j->in, j->count, MPI_BYTE, WORLD);
}
static void alltoallv(const Job* j) {
  CALL(Alltoallv, alltoallv, j->out, j->counts, j->displacements, MPI_BYTE, j->in, j->counts, j->displacements, MPI_BYTE, WORLD);
}
static bool has_exchanged(const Job* j) {
  for (int from = 0; from < size; ++from)
    if (!has_block(j, from, from, rank)) return false;
  return true;
}

static void allreduce(const Job* j) {
  CALL(Allreduce, allreduce, j->out, j->in, j->numbers, MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_reduced_all(const Job* j) {
  return has_sum(j, 0, j->numbers, size);
}
static void reduce(const Job* j) {
  CALL(Reduce, reduce, j->out, j->in, j->numbers, MPI_DOUBLE, MPI_SUM, j->root, WORLD);
}
static bool has_reduced(const Job* j) {
  return rank != j->root || has_reduced_all(j);
}

/* All shares together are the operand; the first ones have one element more. */
static void reduce_scatter(const Job* j) {
  CALL(Reduce_scatter, reduce_scatter, j->out, j->in, j->shares, MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_share(const Job* j) {
  int first = 0;
  for (int i = 0; i < rank; ++i) first += j->shares[i];
  return has_sum(j, first, j->shares[rank], size);
}
/* What does not go into equal parts is left out. */
static void reduce_scatter_block(const Job* j) {
  CALL(Reduce_scatter_block, reduce_scatter_block, j->out, j->in, j->shares[size - 1], MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_part(const Job* j) {
  return has_sum(j, rank * j->shares[size - 1], j->shares[size - 1], size);
}

static void scan(const Job* j) {
  CALL(Scan, scan, j->out, j->in, j->numbers, MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_scanned(const Job* j) {
  return has_sum(j, 0, j->numbers, rank + 1);
}
static void exscan(const Job* j) {
  CALL(Exscan, exscan, j->out, j->in, j->numbers, MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_scanned_before(const Job* j) {
  return rank == 0 || has_sum(j, 0, j->numbers, rank);
}

static void barrier(const Job* j) {
  (void)j;
  CALL(Barrier, barrier, WORLD);
}
static bool has_nothing(const Job* j) {
  (void)j;
  return true;
}

enum { kRooted = 1, kBlocks = 2, kParts = 4, kUnsized = 8 };
typedef struct {
  const char* name;
  void (*run)(const Job*);
  void (*prepare)(Job*);
  bool (*arrived)(const Job*);
  int traits; /* kBlocks: there is a block for each rank; kParts: an element for each, at least */
} Collective;

static const Collective collectives[] = {
    {"Bcast", bcast, fill_first, has_broadcast, kRooted},
    {"Scatter", scatter, fill_bytes, has_scattered, kRooted | kBlocks},
    {"Scatterv", scatterv, fill_bytes, has_scattered, kRooted | kBlocks},
    {"Gather", gather, fill_bytes, has_gathered, kRooted | kBlocks},
    {"Gatherv", gatherv, fill_bytes, has_gathered, kRooted | kBlocks},
    {"Allgather", allgather, fill_bytes, has_gathered_all, kBlocks},
    {"Allgatherv", allgatherv, fill_bytes, has_gathered_all, kBlocks},
    {"Alltoall", alltoall, fill_bytes, has_exchanged, kBlocks},
    {"Alltoallv", alltoallv, fill_bytes, has_exchanged, kBlocks},
    {"Allreduce", allreduce, fill_numbers, has_reduced_all, 0},
    {"Reduce", reduce, fill_numbers, has_reduced, kRooted},
    {"Reduce_scatter", reduce_scatter, fill_numbers, has_share, 0},
    {"Reduce_scatter_block", reduce_scatter_block, fill_numbers, has_part, kParts},
    {"Scan", scan, fill_numbers, has_scanned, 0},
    {"Exscan", exscan, fill_numbers, has_scanned_before, 0},
    {"Barrier", barrier, fill_bytes, has_nothing, kUnsized}};
enum { kCollectives = sizeof collectives / sizeof *collectives };

/* ---- One call ---- */

/* With room for this length, and as many blocks as go into kMostMemory. */
static inline Job make_job(size_t most_bytes) {
  const size_t room = kMostMemory > most_bytes ? kMostMemory : most_bytes, numbers = sizeof(int) * (size_t)size;
  Job job = {.out = allocate(room), .in = allocate(room)};
  job.counts = allocate(numbers);
  job.displacements = allocate(numbers);
  job.shares = allocate(numbers);
  return job;
}

/* Rank 0 is the root. */
static inline void set_length(Job* job, size_t bytes) {
  job->bytes = bytes;
  job->count = (int)bytes;
  job->numbers = (int)(bytes / sizeof(double));
  job->root = 0;
  for (int i = 0; i < size; ++i) {
    job->counts[i] = job->count;
    job->displacements[i] = i * job->count;
    job->shares[i] = job->numbers / size + (i < job->numbers % size);
  }
}

/* Is this collective to be had of this length? */
static inline bool has_length(const Collective* collective, size_t bytes) {
  if ((collective->traits & kParts) && bytes < sizeof(double) * (size_t)size) return false;
  return !(collective->traits & kBlocks) || bytes * (size_t)size <= kMostMemory;
}

/* What the call is called without its MPI_: Bcast, or Ibcast. */
static inline const char* name_of_call(const Collective* collective, const Job* job) {
  static char name[64];
  snprintf(name, sizeof name, "I%s", collective->name);
  name[1] = (char)tolower((unsigned char)name[1]);
  return job->request == NULL ? collective->name : name;
}

static inline void run_call(const Collective* collective, const Job* job) {
  collective->run(job);
  if (job->request != NULL) MPI_Wait(job->request, MPI_STATUS_IGNORE);
}

/* Aborts unless the call brings what it should. */
static inline void check_call(const Collective* collective, Job* job) {
  collective->prepare(job);
  memset(job->in, 0, job->bytes * (size_t)(collective->traits & kBlocks ? size : 1));
  run_call(collective, job);
  if (collective->arrived(job)) return;
  fprintf(stderr, "rank %d: MPI_%s of %zu bytes from rank %d brought other content than it should\n", rank,
          name_of_call(collective, job), job->bytes, job->root);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void next_root(Job* job) {
  if (++job->root == size) job->root = 0;
}

#endif
