/* The first messages after computing. Programs compute for some milliseconds, then exchange a little, and compute
   again: a conjugate gradient reduces a scalar, a stencil exchanges its edges. A benchmark's loop, in which a message
   follows a message, never meets what these programs pay: the thread that was to move messages meanwhile has been put
   to sleep, or is in the way, and memory that the library needs is no longer in the cache.

   Each rank makes a fixed number of increments, and with --memory walks through that much memory at the end, then makes
   one exchange or five: MPI_Allreduce of 8 bytes, or MPI_Sendrecv of 1 KiB round a ring. With jitter, each rank computes
   each time for up to so much longer, by a fixed sequence of pseudo-random numbers.

   Reported by the time of computing: the time of the exchanges at the rank that waited least, the one that came last
   (the others also wait for the computing of the last); and the whole of a phase over its computing alone, timed before.
   The second shows what communication takes from the computing as well. */
#include "ranks.h"

#include <math.h>
#include <string.h>

static long memory = 0; /* KiB */
static long jitter_percent = 10;
static long only_us = 0;
static const Option options[] = {
    {"--memory", "KIB", "memory that the computing walks through (none)", .number = &memory},
    {"--jitter", "PERCENT", "the second jitter, after 0 (10)", .number = &jitter_percent},
    {"--computing", "US", "only this time of computing, us", .number = &only_us},
    {0}};
static const Program program = {
    "phases", "Small exchanges after computing: 20 us to 50 ms of computing, one exchange or five.", options};

enum { kEdge = 1024, kMostPhases = 4000, kWarmUp = 3 };
static const double computings[] = {20e-6, 100e-6, 500e-6, 2e-3, 5e-3, 10e-3, 50e-3};

typedef struct {
  const char* name;
  void (*run)(void);
} Exchange;

static double in, out;
static char edge_in[kEdge], edge_out[kEdge];

static void allreduce(void) {
  MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void sendrecv(void) {
  MPI_Sendrecv(edge_out, kEdge, MPI_BYTE, (rank + 1) % size, kDataTag, edge_in, kEdge, MPI_BYTE,
               (rank + size - 1) % size, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static const Exchange exchanges[] = {{"allreduce 8 B", allreduce}, {"sendrecv 1 KiB", sendrecv}};

/* What a wrong answer would look like: checked once per point. */
static void check(void) {
  out = rank + 1;
  memset(edge_out, 'a' + rank % 26, kEdge);
  allreduce();
  sendrecv();
  const char expected = (char)('a' + (rank + size - 1) % size % 26);
  if (in == size * (size + 1) / 2.0 && edge_in[0] == expected && edge_in[kEdge - 1] == expected) return;
  fprintf(stderr, "rank %d: an exchange brought something else than was sent\n", rank);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- Computing ---- */

static volatile char* walked;

static void compute(long increments) {
  increment(increments);
  for (long i = 0; i < memory * 1024; i += 64) ++walked[i];
}

/* Between 0 and 1; the same in every run. */
static double random_part(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return (double)(*state >> 8) / (double)(1 << 24);
}

/* ---- Phases ---- */

typedef struct {
  const Exchange* exchange;
  int times; /* exchanges in a row */
  double computing, jitter;
  long increments;
} Point;

/* Seconds of each phase's exchanges at this rank, and of each whole phase. */
static void run_phases(const Point* point, int phases, double* exchanging, double* whole) {
  unsigned seed = 17u + (unsigned)rank * 1000003u;
  for (int i = -kWarmUp; i < phases; ++i) {
    const double longer = 1 + point->jitter * random_part(&seed);
    const double begin = now();
    compute((long)((double)point->increments * longer));
    const double computed = now();
    for (int k = 0; k < point->times; ++k) point->exchange->run();
    const double end = now();
    if (i < 0) continue;
    exchanging[i] = end - computed;
    whole[i] = end - begin;
  }
}

static double alone(const Point* point) {
  Samples samples = {0};
  for (int i = 0; i < 9; ++i) {
    const double begin = now();
    compute((long)((double)point->increments * (1 + point->jitter / 2)));
    add_sample(&samples, now() - begin);
  }
  const double value = median(&samples);
  free(samples.values);
  return value;
}

static void report_phases(const Point* point, int phases, const double* least, const double* whole, double computing) {
  char series[128], suffix[96] = "";
  if (point->jitter > 0) snprintf(suffix, sizeof suffix, ", jitter %ld %%", jitter_percent);
  if (memory > 0) snprintf(suffix + strlen(suffix), sizeof suffix - strlen(suffix), ", %ld KiB", memory);
  if (size > 2) snprintf(suffix + strlen(suffix), sizeof suffix - strlen(suffix), ", %d ranks", size);
  Samples times = {0}, relative = {0};
  for (int i = 0; i < phases; ++i) {
    add_sample(&times, 1e6 * least[i]);
    add_sample(&relative, whole[i] / computing);
  }
  const double x = round(1e6 * point->computing);
  snprintf(series, sizeof series, "%s x %d%s", point->exchange->name, point->times, suffix);
  report(&program, (Figure){series, "us", "lower", x, "computing", "us"}, &times);
  snprintf(series, sizeof series, "%s x %d%s, whole over computing", point->exchange->name, point->times, suffix);
  report(&program, (Figure){series, "ratio", "lower", x, "computing", "us"}, &relative);
  free(times.values);
  free(relative.values);
}

static void answer_for(const Point* point) {
  const double budget = quick ? 0.1 : 0.25;
  const double wanted = budget / point->computing;
  const int phases = wanted < 15 ? 15 : wanted > kMostPhases ? kMostPhases : (int)wanted;
  static double exchanging[kMostPhases], whole[kMostPhases], least[kMostPhases];
  MPI_Barrier(MPI_COMM_WORLD);
  const double computing = alone(point); /* every rank at once: so they do it in the phases */
  check();
  run_phases(point, phases, exchanging, whole);
  MPI_Reduce(exchanging, least, phases, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) report_phases(point, phases, least, whole, computing);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 1 << 20);
  walked = allocate((size_t)memory * 1024 + 1);
  MPI_Comm comm = MPI_COMM_WORLD;
  const long increments_per_10ms = agree_in(&comm, increments_for(10e-3));
  for (unsigned c = 0; c < sizeof computings / sizeof *computings; ++c) {
    const double computing = only_us > 0 ? 1e-6 * (double)only_us : computings[c];
    if (only_us > 0 && c > 0) break;
    if (quick && only_us == 0 && c % 2 == 0) continue; /* 100 us, 2 ms, 10 ms */
    for (unsigned e = 0; e < 2; ++e) {
      for (int times = 1; times <= 5; times += 4) {
        for (int jittered = 0; jittered < 2; ++jittered) {
          if (quick && jittered == (times == 5)) continue; /* one with jitter, five without */
          answer_for(&(Point){&exchanges[e], times, computing, jittered ? 0.01 * (double)jitter_percent : 0,
                              (long)(computing / 10e-3 * (double)increments_per_10ms)});
        }
      }
    }
  }
  free((void*)walked);
  return MPI_Finalize();
}
