/* Collectives of the soak test: started blocking or not, checked number by number. */
#ifndef LAPWING_TEST_SOAK_COLLECTIVES_H
#define LAPWING_TEST_SOAK_COLLECTIVES_H

#include "soak_support.h"

typedef enum {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kAlltoallv,
  kReduceScatter,
  kScan,
  kExscan,
  kCollectives
} CollectiveKind;

typedef struct {
  CollectiveKind kind;
  MPI_Comm comm;
  int count, root, op; /* op: see operator_of() */
  unsigned seed;
  int64_t *in, *out;
  int *counts, *places; /* of alltoallv */
} Collective;

static inline MPI_Op operator_of(const Collective* c) {
  const MPI_Op operators[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR};
  return operators[c->op];
}

/* What rank `from` gives, for rank `to` where that matters. */
static inline int64_t given(const Collective* c, int from, int to, int i) {
  return (int64_t)from * 3 + (int64_t)to * 7 + i + (int64_t)(c->seed % 1000);
}

/* Of the ranks first ... last (inclusive). */
static inline int64_t reduced(const Collective* c, int last, int to, int i) {
  int64_t result = given(c, 0, to, i);
  for (int rank = 1; rank <= last; ++rank) {
    const int64_t next = given(c, rank, to, i);
    switch (c->op) {
      case 0: result += next; break;
      case 1: result = next > result ? next : result; break;
      case 2: result = next < result ? next : result; break;
      default: result ^= next; break;
    }
  }
  return result;
}

/* From the plan: the same on all ranks. */
static inline Collective plan_collective(Worker* worker, MPI_Comm comm) {
  Collective c = {.comm = comm};
  Random* plan = &worker->plan;
  const int most = (1 << (4 + below(plan, 13))) / worker->size; /* 16 ... 64 Ki numbers of all ranks together */
  c.kind = (CollectiveKind)below(plan, kCollectives);
  c.count = below(plan, most < 1 ? 2 : most + 1);
  c.root = below(plan, worker->size);
  c.op = below(plan, 4);
  c.seed = (unsigned)next_random(plan);
  const size_t numbers = (size_t)worker->size * (size_t)c.count + 1;
  c.in = calloc(numbers, sizeof *c.in);
  c.out = calloc(numbers, sizeof *c.out);
  c.counts = malloc(2 * (size_t)worker->size * sizeof *c.counts);
  c.places = c.counts + worker->size;
  for (int to = 0; to < worker->size; ++to) {
    c.counts[to] = c.count;
    c.places[to] = to * c.count;
    for (int i = 0; i < c.count; ++i) c.in[to * c.count + i] = given(&c, worker->rank, to, i);
  }
  if (c.kind == kBcast && worker->rank != c.root) memset(c.in, 0, numbers * sizeof *c.in);
  return c;
}

/* One call by its blocking or its non-blocking name. */
#define EITHER(Name, name, ...) (request == NULL ? MPI_##Name(__VA_ARGS__) : MPI_I##name(__VA_ARGS__, request))

/* Without a request: the blocking call. */
static inline void start_collective(const Collective* c, MPI_Request* request) {
  const MPI_Datatype type = MPI_INT64_T;
  const MPI_Op op = operator_of(c);
  const int n = c->count;
  int code = MPI_SUCCESS;
  switch (c->kind) {
    case kBarrier:
      code = EITHER(Barrier, barrier, c->comm);
      break;
    case kBcast:
      code = EITHER(Bcast, bcast, c->in, n, type, c->root, c->comm);
      break;
    case kReduce:
      code = EITHER(Reduce, reduce, c->in, c->out, n, type, op, c->root, c->comm);
      break;
    case kAllreduce:
      code = EITHER(Allreduce, allreduce, c->in, c->out, n, type, op, c->comm);
      break;
    case kGather:
      code = EITHER(Gather, gather, c->in, n, type, c->out, n, type, c->root, c->comm);
      break;
    case kScatter:
      code = EITHER(Scatter, scatter, c->in, n, type, c->out, n, type, c->root, c->comm);
      break;
    case kAllgather:
      code = EITHER(Allgather, allgather, c->in, n, type, c->out, n, type, c->comm);
      break;
    case kAlltoall:
      code = EITHER(Alltoall, alltoall, c->in, n, type, c->out, n, type, c->comm);
      break;
    case kAlltoallv:
      code = EITHER(Alltoallv, alltoallv, c->in, c->counts, c->places, type, c->out, c->counts, c->places, type,
                    c->comm);
      break;
    case kReduceScatter:
      code = EITHER(Reduce_scatter_block, reduce_scatter_block, c->in, c->out, n, type, op, c->comm);
      break;
    case kScan:
      code = EITHER(Scan, scan, c->in, c->out, n, type, op, c->comm);
      break;
    case kExscan:
      code = EITHER(Exscan, exscan, c->in, c->out, n, type, op, c->comm);
      break;
    case kCollectives:
      break;
  }
  CHECK(code == MPI_SUCCESS);
}

/* The block that `from` gave to `to`, as it must lie at `numbers`. */
static inline void check_block(Worker* worker, const Collective* c, const int64_t* numbers, int from, int to) {
  for (int i = 0; i < c->count; ++i) SOUND(worker, numbers[i] == given(c, from, to, i));
}
static inline void check_reduced(Worker* worker, const Collective* c, int last, int to) {
  for (int i = 0; i < c->count; ++i) SOUND(worker, c->out[i] == reduced(c, last, to, i));
}

static inline void check_collective(Worker* worker, Collective* c) {
  const int me = worker->rank, size = worker->size;
  const int blocks = c->kind == kGather && me != c->root ? 0 : size;
  switch (c->kind) {
    case kBarrier:
    case kCollectives:
      break;
    case kBcast:
      check_block(worker, c, c->in, c->root, 0);
      break;
    case kReduce:
      if (me == c->root) check_reduced(worker, c, size - 1, 0);
      break;
    case kAllreduce:
      check_reduced(worker, c, size - 1, 0);
      break;
    case kGather:
    case kAllgather:
      for (int from = 0; from < blocks; ++from) check_block(worker, c, c->out + from * c->count, from, 0);
      break;
    case kScatter:
      check_block(worker, c, c->out, c->root, me);
      break;
    case kAlltoall:
    case kAlltoallv:
      for (int from = 0; from < blocks; ++from) check_block(worker, c, c->out + from * c->count, from, me);
      break;
    case kReduceScatter:
      check_reduced(worker, c, size - 1, me);
      break;
    case kScan:
      check_reduced(worker, c, me, 0);
      break;
    case kExscan:
      if (me > 0) check_reduced(worker, c, me - 1, 0);
      break;
  }
  free(c->in);
  free(c->out);
  free(c->counts);
}

#endif
