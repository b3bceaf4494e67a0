/* Collective operations of ranks that share memory: what could go wrong with an area that many use one after the other, at the
   same time, and on many communicators, of which there are more than areas. */
#include "check.h"

enum { kOutstanding = 24, kAlive = 80, kRounds = 6, kSizes = 7 };

static int rank, size;
/* Elements: in a slot, just no more, in a buffer, as much as it holds, and longer (by messages). */
static const int kCounts[kSizes] = {1, 14, 15, 700, 4097, 8192, 9000};
static const int kMost = 9000;

static double sum_of(int i, int element) { return (double)size * (size - 1) / 2 + (double)size * (i + element); }
static void give(double* out, int count, int i) {
  for (int j = 0; j < count; ++j) out[j] = rank + i + j;
}
static void check_sum(const double* in, int count, int i) {
  for (int j = 0; j < count; ++j) CHECK(in[j] == sum_of(i, j));
}

static double* room(int blocks) { return malloc(sizeof(double) * (size_t)blocks * (size_t)kMost); }

/* Several are under way; they end in any order, and their sizes change from one to the next. */
static void overlapping(MPI_Comm comm) {
  double *out = room(kOutstanding), *in = room(kOutstanding);
  MPI_Request requests[kOutstanding];
  for (int i = 0; i < kOutstanding; ++i) {
    const int count = kCounts[i % kSizes], root = i % size;
    double *o = out + i * kMost, *n = in + i * kMost;
    give(o, count, i);
    switch (i % 4) {
      case 0: OK(MPI_Iallreduce(o, n, count, MPI_DOUBLE, MPI_SUM, comm, &requests[i])); break;
      case 1: OK(MPI_Ireduce(o, n, count, MPI_DOUBLE, MPI_SUM, root, comm, &requests[i])); break;
      case 2:
        if (rank == root) give(n, count, i);
        OK(MPI_Ibcast(n, count, MPI_DOUBLE, root, comm, &requests[i]));
        break;
      default: OK(MPI_Ibarrier(comm, &requests[i])); break;
    }
  }
  for (int i = kOutstanding - 1; i >= 0; --i) {
    const int count = kCounts[i % kSizes], root = i % size;
    OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    if (i % 4 == 0 || (i % 4 == 1 && rank == root)) check_sum(in + i * kMost, count, i);
    for (int j = 0; i % 4 == 2 && j < count; ++j) CHECK(in[i * kMost + j] == root + i + j);
  }
  free(out);
  free(in);
}

/* A root may run ahead, and the others be late, in turns: what is posted stays until it has been read. */
static void running_ahead(MPI_Comm comm) {
  double out[600], in[600];
  for (int i = 0; i < 400; ++i) {
    const int root = i / 50 % size, count = i % 3 == 0 ? 600 : 1;
    give(out, count, i);
    if (rank == root) memcpy(in, out, sizeof(double) * (size_t)count);
    OK(MPI_Bcast(in, count, MPI_DOUBLE, root, comm));
    for (int j = 0; j < count; ++j) CHECK(in[j] == root + i + j);
    OK(MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_SUM, root, comm));
    if (rank == root) check_sum(in, count, i);
  }
}

/* Persistent operations start in another order on each rank, beside others. */
static void persistent(MPI_Comm comm) {
  double out[kSizes][16], in[kSizes][16], more = rank, sum;
  MPI_Request requests[kSizes];
  for (int i = 0; i < kSizes; ++i)
    OK(MPI_Allreduce_init(out[i], in[i], 16, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]));
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kSizes; ++i) {
      const int which = (i + rank) % kSizes;
      give(out[which], 16, which + round);
      OK(MPI_Start(&requests[which]));
    }
    OK(MPI_Allreduce(&more, &sum, 1, MPI_DOUBLE, MPI_SUM, comm));
    CHECK(sum == sum_of(0, 0));
    OK(MPI_Waitall(kSizes, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kSizes; ++i) check_sum(in[i], 16, i + round);
  }
  for (int i = 0; i < kSizes; ++i) OK(MPI_Request_free(&requests[i]));
}

/* More of them than there are areas, of all kinds of lengths, started in another order on each rank; most are freed and made again. */
static void many_persistent(MPI_Comm comm) {
  enum { kMany = 50 };
  double *out[kMany], *in[kMany];
  MPI_Request requests[kMany];
  for (int i = 0; i < kMany; ++i) {
    out[i] = room(1);
    in[i] = room(1);
    OK(MPI_Allreduce_init(out[i], in[i], kCounts[i % kSizes], MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]));
  }
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < kMany; ++i) {
      const int which = (i + 7 * rank) % kMany;
      give(out[which], kCounts[which % kSizes], which + round);
      OK(MPI_Start(&requests[which]));
    }
    OK(MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kMany; ++i) {
      const int count = kCounts[i % kSizes];
      check_sum(in[i], count, i + round);
      if ((i + round) % 3 == 0) continue;
      OK(MPI_Request_free(&requests[i]));
      OK(MPI_Allreduce_init(out[i], in[i], count, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]));
    }
  }
  for (int i = 0; i < kMany; ++i) {
    OK(MPI_Request_free(&requests[i]));
    free(out[i]);
    free(in[i]);
  }
}

static void sub(MPI_Comm comm, int color, int expected_size) {
  int me, count, sum = 0;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &count));
  CHECK(count == expected_size);
  const int mine = 100 * color + me;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == 100 * color * count + count * (count - 1) / 2);
}

/* More communicators than there are areas, alive together; those freed give theirs to those made later. */
static void many(void) {
  static MPI_Comm made[kAlive];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kAlive; ++i) {
      const int parts = 1 + i % 3, color = rank % parts;
      OK(MPI_Comm_split(MPI_COMM_WORLD, color, i % 2 ? rank : -rank, &made[i]));
      if (i % 5 == 0) sub(made[i], color, (size - color + parts - 1) / parts);
    }
    for (int i = 0; i < kAlive; ++i) {
      const int parts = 1 + i % 3, color = rank % parts;
      for (int times = 0; times < 3; ++times) sub(made[i], color, (size - color + parts - 1) / parts);
    }
    for (int i = 0; i < kAlive; ++i) OK(MPI_Comm_free(&made[(i * 7) % kAlive]));
  }
  /* Freed with an operation under way, and duplicated without waiting. */
  for (int i = 0; i < 200; ++i) {
    MPI_Comm copy;
    MPI_Request requests[2];
    double out = rank, in = -1;
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &requests[0]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Iallreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, copy, &requests[1]));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    CHECK(in == sum_of(0, 0));
  }
}

static void multiply_add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type; /* (a, b) after (c, d): x -> a x + b; not commutative */
  const long long* x = in;
  long long* y = inout;
  for (int i = 0; i < *count; ++i) {
    const long long a = y[2 * i], b = y[2 * i + 1];
    y[2 * i] = a * x[2 * i] % 10007;
    y[2 * i + 1] = (a * x[2 * i + 1] + b) % 10007;
  }
}

static void own_operations(MPI_Comm comm) {
  MPI_Op op;
  MPI_Datatype pair;
  OK(MPI_Op_create(multiply_add, 0, &op));
  OK(MPI_Type_contiguous(2, MPI_LONG_LONG, &pair));
  OK(MPI_Type_commit(&pair));
  static const int counts[] = {1, 40, 3000};
  for (int c = 0; c < 3; ++c) {
    long long *out = malloc(sizeof(long long) * 6000), *in = malloc(sizeof(long long) * 6000);
    for (int i = 0; i < counts[c]; ++i) out[2 * i] = rank + 2, out[2 * i + 1] = i % 100 + rank;
    MPI_Request request;
    OK(MPI_Iallreduce(out, in, counts[c], pair, op, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < counts[c]; ++i) {
      long long a = 2, b = i % 100;
      for (int r = 1; r < size; ++r) {
        b = ((r + 2) * b + i % 100 + r) % 10007;
        a = (r + 2) * a % 10007;
      }
      CHECK(in[2 * i] % 10007 == a % 10007 && in[2 * i + 1] % 10007 == b % 10007);
    }
    struct { double value; int where; } here = {rank == size / 2 ? 7 : 3, rank}, best;
    OK(MPI_Allreduce(&here, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
    CHECK(best.where == size / 2);
    free(out);
    free(in);
  }
  OK(MPI_Type_free(&pair));
  OK(MPI_Op_free(&op));
}

/* A rank computes while MPI_Iallreduce runs; without another call of the others' the operation ends there. */
static void beside_computing(MPI_Comm comm) {
  for (int i = 0; i < 3; ++i) {
    double *out = room(1), *in = room(1);
    MPI_Request request;
    give(out, kCounts[5], i);
    OK(MPI_Iallreduce(out, in, kCounts[5], MPI_DOUBLE, MPI_SUM, comm, &request));
    if (rank == 0) {
      volatile double x = 0;
      const double until = MPI_Wtime() + 0.03;
      while (MPI_Wtime() < until) x = x + 1;
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_sum(in, kCounts[5], i);
    free(out);
    free(in);
  }
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int i = 0; i < kRounds; ++i) overlapping(MPI_COMM_WORLD);
  running_ahead(MPI_COMM_WORLD);
  persistent(MPI_COMM_WORLD);
  many_persistent(MPI_COMM_WORLD);
  many();
  own_operations(MPI_COMM_WORLD);
  beside_computing(MPI_COMM_WORLD);
  overlapping(MPI_COMM_WORLD);
  OK(MPI_Finalize());
  return 0;
}
