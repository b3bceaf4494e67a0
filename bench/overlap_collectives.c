/* Do collectives and exchanges advance while all ranks compute (non-blocking collectives, sections 3 and 4): every
   rank starts an operation, makes increments, and waits for it.

   Reported by message size, as rank 0 sees it: the operation alone; the time spent in its two calls beside computing;
   what the whole takes longer than the same increments alone; and, for an operation that takes long enough to tell,
   that time over the operation alone: the share that computing did not hide; and the whole over the longer of the two. Computing takes twice as long as the
   operation, and a millisecond at least; all ranks compute at once, and increments alone are timed right before each
   operation (so a library that slows all computing down does not show here, but in progress_cost). */
#include "ranks.h"

#include <math.h>

static Sizes sizes;
static const Option options[] = {{"--sizes", "LIST", "message sizes (8,4K,64K-4Mx4)", .sizes = &sizes}, MEMORY_OPTION, {0}};
static const Program program = {
    "overlap_collectives",
    "What computing does not hide of non-blocking collectives, and of an exchange with neighbours, by message size.",
    options};

typedef struct {
  size_t bytes;
  char *out, *in; /* a block of `bytes` for each rank, and two at least */
  MPI_Request requests[4];
} Job;

/* ---- Operations ---- */

enum { kLeft, kRight }; /* where a block is from, or goes to, when there are two */

static char* block(char* blocks, size_t bytes, int which) {
  return blocks + (size_t)which * bytes;
}

static void start_exchange(Job* job) {
  const int count = (int)job->bytes, left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Irecv(block(job->in, job->bytes, kLeft), count, MPI_BYTE, left, kRight, MPI_COMM_WORLD, &job->requests[0]);
  MPI_Irecv(block(job->in, job->bytes, kRight), count, MPI_BYTE, right, kLeft, MPI_COMM_WORLD, &job->requests[1]);
  MPI_Isend(block(job->out, job->bytes, kLeft), count, MPI_BYTE, left, kLeft, MPI_COMM_WORLD, &job->requests[2]);
  MPI_Isend(block(job->out, job->bytes, kRight), count, MPI_BYTE, right, kRight, MPI_COMM_WORLD, &job->requests[3]);
}

static void start_barrier(Job* job) {
  MPI_Ibarrier(MPI_COMM_WORLD, &job->requests[0]);
}

/* From the last rank, so that rank 0 receives. */
static void start_bcast(Job* job) {
  char* buffer = rank == size - 1 ? job->out : job->in;
  MPI_Ibcast(buffer, (int)job->bytes, MPI_BYTE, size - 1, MPI_COMM_WORLD, &job->requests[0]);
}

static void start_allreduce(Job* job) {
  const int count = (int)(job->bytes / sizeof(double));
  MPI_Iallreduce(job->out, job->in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &job->requests[0]);
}

static void start_allgather(Job* job) {
  const int count = (int)job->bytes;
  MPI_Iallgather(job->out, count, MPI_BYTE, job->in, count, MPI_BYTE, MPI_COMM_WORLD, &job->requests[0]);
}

static void start_alltoall(Job* job) {
  const int count = (int)job->bytes;
  MPI_Ialltoall(job->out, count, MPI_BYTE, job->in, count, MPI_BYTE, MPI_COMM_WORLD, &job->requests[0]);
}

/* ---- Content ---- */

static void fill_bytes(Job* job) {
  const int blocks = size < 2 ? 2 : size;
  for (int i = 0; i < blocks; ++i) fill(block(job->out, job->bytes, i), job->bytes, (unsigned)(rank * blocks + i));
}

static bool has_block(const Job* job, int at, int from, int which) {
  const int blocks = size < 2 ? 2 : size;
  return is_filled(block(job->in, job->bytes, at), job->bytes, (unsigned)(from * blocks + which));
}

static bool has_exchanged(const Job* job) {
  return has_block(job, kLeft, (rank + size - 1) % size, kRight) && has_block(job, kRight, (rank + 1) % size, kLeft);
}

static bool has_broadcast(const Job* job) {
  return rank == size - 1 || has_block(job, 0, size - 1, 0);
}

static bool has_gathered(const Job* job) {
  for (int from = 0; from < size; ++from)
    if (!has_block(job, from, from, 0)) return false;
  return true;
}

static bool has_all(const Job* job) {
  for (int from = 0; from < size; ++from)
    if (!has_block(job, from, from, rank)) return false;
  return true;
}

static void fill_numbers(Job* job) {
  double* numbers = (double*)job->out;
  for (size_t i = 0; i < job->bytes / sizeof(double); ++i) numbers[i] = (double)i + rank;
}

static bool has_sum(const Job* job) {
  const double* sums = (const double*)job->in;
  for (size_t i = 0; i < job->bytes / sizeof(double); ++i)
    if (sums[i] != (double)i * size + size * (size - 1) / 2.0) return false;
  return true;
}

static bool has_nothing(const Job* job) {
  (void)job;
  return true;
}

typedef struct {
  const char* name;
  void (*start)(Job*);
  void (*prepare)(Job*);
  bool (*arrived)(const Job*);
  bool sized;
} Operation;

static const Operation operations[] = {{"exchange", start_exchange, fill_bytes, has_exchanged, true},
                                       {"Ibarrier", start_barrier, fill_bytes, has_nothing, false},
                                       {"Ibcast", start_bcast, fill_bytes, has_broadcast, true},
                                       {"Iallreduce", start_allreduce, fill_numbers, has_sum, true},
                                       {"Iallgather", start_allgather, fill_bytes, has_gathered, true},
                                       {"Ialltoall", start_alltoall, fill_bytes, has_all, true}};

static Job make_job(const Operation* operation, size_t bytes) {
  const size_t blocks = size < 2 ? 2 : (size_t)size;
  Job job = {bytes, allocate_messages(blocks * bytes), allocate_messages(blocks * bytes), {0}};
  for (int i = 0; i < 4; ++i) job.requests[i] = MPI_REQUEST_NULL;
  operation->prepare(&job);
  return job;
}

static void check_and_free(const Operation* operation, Job* job) {
  if (!operation->arrived(job)) {
    fprintf(stderr, "rank %d: %s of %zu bytes brought other content than it should\n", rank, operation->name,
            job->bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free_messages(job->out);
  free_messages(job->in);
}

/* ---- Times ---- */

typedef struct {
  double start, compute, wait; /* seconds */
} Times;

/* One operation, all ranks at once; with computing between its two calls. */
static Times operate(const Operation* operation, Job* job, long increments) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  operation->start(job);
  const double started = now();
  increment(increments);
  const double computed = now();
  MPI_Waitall(4, job->requests, MPI_STATUSES_IGNORE);
  return (Times){started - begin, computed - started, now() - computed};
}

/* Seconds; all ranks get what rank 0 has found. */
static double answer_alone(const Operation* operation, Job* job, double budget, Samples* alone) {
  for (int i = 0; i < 2; ++i) operate(operation, job, 0); /* makes connections */
  const double begin = now();
  for (long more = 1; more;) {
    for (int i = 0; i < 10; ++i) {
      const Times times = operate(operation, job, 0);
      add_sample(alone, times.start + times.wait);
    }
    MPI_Comm world = MPI_COMM_WORLD;
    more = agree_in(&world, now() - begin < budget && alone->count < 4000);
  }
  double result = median(alone);
  MPI_Bcast(&result, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return result;
}

typedef struct {
  Samples in_calls, added;
  Samples whole; /* over the longer of operation and computing */
} Beside;

static void answer_beside(const Operation* operation, Job* job, double budget, double alone, Beside* beside) {
  static double per_second; /* increments, when all ranks compute */
  if (per_second == 0) per_second = (double)increments_for(1);
  const double seconds = fmax(2 * alone, 1e-3);
  MPI_Comm world = MPI_COMM_WORLD;
  const long increments = agree_in(&world, (long)(seconds * per_second));
  const double rounds = budget / (2 * seconds + alone);
  const long count = agree_in(&world, rounds < 7 ? 7 : rounds > 500 ? 500 : (long)rounds);
  for (long i = 0; i < count; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    increment(increments);
    const double computing = now() - begin;
    const Times times = operate(operation, job, increments);
    const double whole = times.start + times.compute + times.wait;
    add_sample(&beside->in_calls, times.start + times.wait);
    add_sample(&beside->added, whole - computing);
    add_sample(&beside->whole, whole / fmax(alone, computing));
  }
}

static void report_by_size(const Operation* operation, size_t bytes, const char* what, const char* unit,
                           Samples* samples) {
  char series[64];
  snprintf(series, sizeof series, "%s, %s", operation->name, what);
  Figure figure = {series, unit, "lower", (double)bytes, "message size", "B"};
  if (!operation->sized) figure.x_name = NULL;
  if (rank == 0) report(&program, figure, samples);
}

static void answer_for(const Operation* operation, size_t bytes) {
  const double budget = quick ? 0.12 : 0.4, enough = 250e-6;
  Samples alone = {0}, share = {0};
  Beside beside = {0};
  Job job = make_job(operation, bytes);
  const double seconds = answer_alone(operation, &job, budget, &alone);
  answer_beside(operation, &job, 2 * budget, seconds, &beside);
  check_and_free(operation, &job);
  if (seconds < enough) beside.whole.count = 0;
  for (int i = 0; i < beside.added.count && seconds >= enough; ++i) add_sample(&share, beside.added.values[i] / seconds);
  scale_samples(&alone, 1e6);
  scale_samples(&beside.in_calls, 1e6);
  scale_samples(&beside.added, 1e6);
  report_by_size(operation, bytes, "alone", "us", &alone);
  report_by_size(operation, bytes, "in its calls beside computing", "us", &beside.in_calls);
  report_by_size(operation, bytes, "added to computing", "us", &beside.added);
  report_by_size(operation, bytes, "share not hidden", "ratio", &share);
  report_by_size(operation, bytes, "whole over the longer of both", "ratio", &beside.whole);
  free(alone.values);
  free(share.values);
  free(beside.in_calls.values);
  free(beside.added.values);
  free(beside.whole.values);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 1 << 22);
  default_sizes(&sizes, "8,4K,64K-4Mx4", "8,64K,1M");
  for (unsigned o = 0; o < sizeof operations / sizeof *operations; ++o)
    for (int s = 0; s < sizes.count; ++s)
      if (operations[o].sized || s == 0) answer_for(&operations[o], sizes.values[s]);
  return MPI_Finalize();
}
