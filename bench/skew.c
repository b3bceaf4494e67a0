/* What do ranks that are late cost, with blocking collectives and with non-blocking ones (non-blocking collectives,
   sections 1 and 2: a blocking collective makes every rank wait for the last one in each step, a non-blocking one
   leaves room for a rank to catch up)? In each step a rank computes, and a collective takes the result:

   - blocking: the collective follows the computing;
   - pipelined: the collective of a step is started after its computing and waited for after that of the next step.

   A step's computing is a base time and a delay, seeded, so that every library gets the same ones:

   - random: exponentially distributed, by rank and step; its mean is the amplitude times the base;
   - one late: in each step one rank, drawn anew, is later by the amplitude times the base.

   Reported by the amplitude: the time of a step of either form at the rank that takes longest, all starting together;
   the ideal, which is the largest mean computing of a rank when ranks do not communicate, timed in turn with the forms;
   both forms over it; and the time of a step that a rank spends in MPI, the mean of all ranks. */
#include "ranks.h"

#include <math.h>

static Sizes sizes;
static long base_microseconds = 500;
static const Option options[] = {{"--sizes", "LIST", "message sizes (8,64K)", .sizes = &sizes},
                                 {"--base", "N", "computing of a step, us (500)", .number = &base_microseconds},
                                 {0}};
static const Program program = {
    "skew", "Blocking and pipelined non-blocking collectives under injected delays: time of a step.", options};

enum { kSteps = 24, kQuickSteps = 12, kMostRanks = 256 };

/* ---- Operations: one in flight while the next one's buffers are in use ---- */

typedef struct {
  size_t bytes;
  char *out, *in; /* a block of `bytes` for each rank */
} Buffers;

typedef struct {
  const char* name;
  void (*call)(Buffers*, int step);
  void (*start)(Buffers*, int step, MPI_Request* request);
  bool sized;
} Operation;

static int numbers_in(const Buffers* buffers) {
  return (int)(buffers->bytes / sizeof(double));
}

static void call_allreduce(Buffers* buffers, int step) {
  (void)step;
  MPI_Allreduce(buffers->out, buffers->in, numbers_in(buffers), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void start_allreduce(Buffers* buffers, int step, MPI_Request* request) {
  (void)step;
  MPI_Iallreduce(buffers->out, buffers->in, numbers_in(buffers), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
}

/* Every rank in turn, for two steps (one with each buffer): a fixed root would receive nothing, and run ahead. */
static int root_of(int step) {
  return step / 2 % size;
}

static char* broadcast(Buffers* buffers, int step) {
  return root_of(step) == rank ? buffers->out : buffers->in;
}

static void call_bcast(Buffers* buffers, int step) {
  MPI_Bcast(broadcast(buffers, step), (int)buffers->bytes, MPI_BYTE, root_of(step), MPI_COMM_WORLD);
}

static void start_bcast(Buffers* buffers, int step, MPI_Request* request) {
  MPI_Ibcast(broadcast(buffers, step), (int)buffers->bytes, MPI_BYTE, root_of(step), MPI_COMM_WORLD, request);
}

static void call_alltoall(Buffers* buffers, int step) {
  (void)step;
  const int count = (int)buffers->bytes;
  MPI_Alltoall(buffers->out, count, MPI_BYTE, buffers->in, count, MPI_BYTE, MPI_COMM_WORLD);
}

static void start_alltoall(Buffers* buffers, int step, MPI_Request* request) {
  (void)step;
  const int count = (int)buffers->bytes;
  MPI_Ialltoall(buffers->out, count, MPI_BYTE, buffers->in, count, MPI_BYTE, MPI_COMM_WORLD, request);
}

static void call_barrier(Buffers* buffers, int step) {
  (void)buffers, (void)step;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void start_barrier(Buffers* buffers, int step, MPI_Request* request) {
  (void)buffers, (void)step;
  MPI_Ibarrier(MPI_COMM_WORLD, request);
}

static const Operation operations[] = {{"allreduce", call_allreduce, start_allreduce, true},
                                       {"bcast", call_bcast, start_bcast, true},
                                       {"alltoall", call_alltoall, start_alltoall, true},
                                       {"barrier", call_barrier, start_barrier, false}};

/* ---- Delays, in units of the base ---- */

/* From above 0 to 1, the same on every machine. */
static double draw(unsigned step, unsigned which) {
  unsigned mixed = (step + 1) * 73856093u ^ (which + 1) * 19349663u;
  mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
  mixed = (mixed ^ mixed >> 12) * 0x297a2d39u;
  return ((double)(mixed ^ mixed >> 15) + 1) / 4294967296.0;
}

static double random_delay(int step) {
  return -log(draw((unsigned)step, (unsigned)rank));
}

static double one_late(int step) {
  const int late = (int)(draw((unsigned)step, kMostRanks) * size) % size;
  return late == rank ? 1 : 0;
}

typedef struct {
  const char* name;
  double (*of)(int step);
} Delay;

static const Delay delays[] = {{"random", random_delay}, {"one late", one_late}};

/* ---- One run of all steps ---- */

typedef struct {
  const Operation* operation;
  Buffers buffers[2]; /* of even and odd steps */
  int steps;
  long* increments; /* of each step */
} Job;

typedef struct {
  double step, in_mpi; /* seconds a step */
} Times;

static Times compute_alone(Job* job) {
  const double begin = now();
  for (int step = 0; step < job->steps; ++step) increment(job->increments[step]);
  return (Times){(now() - begin) / job->steps, 0};
}

static Times run_blocking(Job* job) {
  const double begin = now();
  double in_mpi = 0;
  for (int step = 0; step < job->steps; ++step) {
    increment(job->increments[step]);
    const double called = now();
    job->operation->call(&job->buffers[step % 2], step);
    in_mpi += now() - called;
  }
  return (Times){(now() - begin) / job->steps, in_mpi / job->steps};
}

static Times run_pipelined(Job* job) {
  const double begin = now();
  double in_mpi = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  for (int step = 0; step < job->steps; ++step) {
    increment(job->increments[step]);
    const double called = now();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    job->operation->start(&job->buffers[step % 2], step, &request);
    in_mpi += now() - called;
  }
  const double called = now();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  in_mpi += now() - called;
  return (Times){(now() - begin) / job->steps, in_mpi / job->steps};
}

/* All ranks begin together. The longest step of a rank, and the mean time in MPI; the same at all ranks. */
static Times run_together(Times (*run)(Job*), Job* job) {
  MPI_Barrier(MPI_COMM_WORLD);
  const Times own = run(job);
  Times all;
  MPI_Allreduce(&own.step, &all.step, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&own.in_mpi, &all.in_mpi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  all.in_mpi /= size;
  return all;
}

/* ---- A job ---- */

static void plan(Job* job, const Delay* delay, double amplitude) {
  static double per_second; /* increments, when all ranks compute */
  if (per_second == 0) per_second = (double)increments_for(1);
  for (int step = 0; step < job->steps; ++step)
    job->increments[step] = (long)(per_second * (double)base_microseconds * 1e-6 * (1 + amplitude * delay->of(step)));
}

static Job make_job(const Operation* operation, size_t bytes) {
  const int steps = quick ? kQuickSteps : kSteps;
  Job job = {operation, {{0}}, steps, allocate(sizeof(long) * (size_t)steps)};
  for (int i = 0; i < 2; ++i) {
    const size_t all = bytes * (size_t)size;
    job.buffers[i] = (Buffers){bytes, allocate(all), allocate(all)};
    double* numbers = (double*)job.buffers[i].out;
    for (size_t at = 0; at < all / sizeof(double); ++at) numbers[at] = 1;
  }
  return job;
}

/* What arrives is all ones, or their sums. */
static void verify(const Job* job) {
  const double expected = job->operation->call == call_allreduce ? size : 1;
  const size_t blocks = job->operation->call == call_alltoall ? (size_t)size : 1;
  if (!job->operation->sized) return;
  for (int i = 0; i < 2; ++i) {
    const double* numbers = (const double*)job->buffers[i].in;
    for (size_t at = 0; at < blocks * job->buffers[i].bytes / sizeof(double); ++at) {
      if (numbers[at] == expected) continue;
      fprintf(stderr, "rank %d: %s of %zu bytes brought other content than it should\n", rank, job->operation->name,
              job->buffers[i].bytes);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

static void free_job(Job* job) {
  for (int i = 0; i < 2; ++i) {
    free(job->buffers[i].out);
    free(job->buffers[i].in);
  }
  free(job->increments);
}

/* ---- Measuring ---- */

typedef struct {
  const char *what, *unit;
  Samples samples;
} Line;

enum { kBlocking, kPipelined, kIdeal, kBlockingRatio, kPipelinedRatio, kBlockingInMpi, kPipelinedInMpi, kLines };

static void report_lines(Line* lines, const Job* job, const Delay* delay, double amplitude) {
  char operation[32], name[96], series[128];
  const size_t bytes = job->buffers[0].bytes;
  if (!job->operation->sized)
    snprintf(operation, sizeof operation, "%s", job->operation->name);
  else if (bytes % 1024 == 0)
    snprintf(operation, sizeof operation, "%s %zu KiB", job->operation->name, bytes / 1024);
  else
    snprintf(operation, sizeof operation, "%s %zu B", job->operation->name, bytes);
  for (int i = 0; i < kLines; ++i) {
    snprintf(name, sizeof name, "%s, %s, %s", operation, delay->name, lines[i].what);
    name_series(series, sizeof series, name);
    const char* better = i == kIdeal ? "none" : "lower";
    const Figure figure = {series, lines[i].unit, better, amplitude * 100, "injected delay, %", "count"};
    if (rank == 0) report(&program, figure, &lines[i].samples);
    free(lines[i].samples.values);
  }
}

static void answer_at(Job* job, const Delay* delay, double amplitude) {
  Line lines[kLines] = {{"blocking", "us", {0}},
                        {"pipelined", "us", {0}},
                        {"ideal", "us", {0}},
                        {"blocking over ideal", "ratio", {0}},
                        {"pipelined over ideal", "ratio", {0}},
                        {"blocking, in MPI", "us", {0}},
                        {"pipelined, in MPI", "us", {0}}};
  const int runs = quick ? 3 : 5;
  plan(job, delay, amplitude);
  for (int run = 0; run < runs; ++run) {
    const double ideal = run_together(compute_alone, job).step;
    const Times blocking = run_together(run_blocking, job), pipelined = run_together(run_pipelined, job);
    add_sample(&lines[kBlocking].samples, blocking.step * 1e6);
    add_sample(&lines[kPipelined].samples, pipelined.step * 1e6);
    add_sample(&lines[kIdeal].samples, ideal * 1e6);
    add_sample(&lines[kBlockingRatio].samples, blocking.step / ideal);
    add_sample(&lines[kPipelinedRatio].samples, pipelined.step / ideal);
    add_sample(&lines[kBlockingInMpi].samples, blocking.in_mpi * 1e6);
    add_sample(&lines[kPipelinedInMpi].samples, pipelined.in_mpi * 1e6);
  }
  verify(job);
  report_lines(lines, job, delay, amplitude);
}

static void answer_for(const Operation* operation, size_t bytes) {
  static const double amplitudes[] = {0, 0.1, 0.3, 1};
  Job job = make_job(operation, bytes);
  for (unsigned d = 0; d < sizeof delays / sizeof *delays; ++d)
    for (unsigned a = 0; a < sizeof amplitudes / sizeof *amplitudes; ++a) answer_at(&job, &delays[d], amplitudes[a]);
  free_job(&job);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, kMostRanks);
  default_sizes(&sizes, "8,64K", "64K");
  for (int s = 0; s < sizes.count; ++s) {
    const bool fits = sizes.values[s] > 0 && sizes.values[s] % sizeof(double) == 0;
    if (!fits) leave("skew: sizes are multiples of 8 bytes\n", 2);
  }
  for (unsigned o = 0; o < sizeof operations / sizeof *operations; ++o)
    for (int s = 0; s < sizes.count; ++s)
      if (operations[o].sized || s == 0) answer_for(&operations[o], sizes.values[s]);
  return MPI_Finalize();
}
