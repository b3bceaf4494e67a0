/* What progress costs (PIOMan, table 2): a poll that finds nothing; the wake-up of a rank that sleeps in MPI_Recv;
   and what a program that only computes loses to the library: time of a fixed number of increments, wake-ups of all
   threads, processor time of the threads that are not its own. */
#include "ranks.h"

static const Option options[] = {{0}};
static const Program program = {"progress_cost",
                                "Cost of a poll, of a wake-up, and of computing beside an idle library.", options};

static const long kIncrements = 100000000;
static const char kWork[] = "100 M increments";

static void report_single(const char* series, const char* unit, Samples* samples) {
  report(&program, (Figure){.series = series, .unit = unit, .better = "lower"}, samples);
}

/* ---- A poll ---- */

static void polls(void) {
  enum { kPolls = 1000 };
  MPI_Request request;
  Samples test = {0}, probe = {0};
  int found;
  MPI_Irecv(NULL, 0, MPI_BYTE, 1, kAnswerTag, MPI_COMM_WORLD, &request); /* its message comes last */
  for (int i = 0; i < 300; ++i) {
    const double begin = now();
    for (int j = 0; j < kPolls; ++j) MPI_Test(&request, &found, MPI_STATUS_IGNORE);
    const double half = now();
    for (int j = 0; j < kPolls; ++j) MPI_Iprobe(1, kDataTag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    if (i < 50) continue;
    add_sample(&test, (half - begin) * 1e6 / kPolls);
    add_sample(&probe, (now() - half) * 1e6 / kPolls);
  }
  MPI_Send(NULL, 0, MPI_BYTE, 1, kDataTag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  report_single("MPI_Test that finds nothing", "us", &test);
  report_single("MPI_Iprobe that finds nothing", "us", &probe);
}

/* The other rank waits meanwhile. */
static void be_polled(void) {
  MPI_Recv(NULL, 0, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(NULL, 0, MPI_BYTE, 0, kAnswerTag, MPI_COMM_WORLD);
}

/* ---- A wake-up ---- */

/* A round trip to a rank in MPI_Recv; the rank that asks spins for the answer. */
static double round_trip(void) {
  MPI_Request request;
  int word = 0, done = 0;
  const double begin = now();
  MPI_Irecv(&word, 1, MPI_INT, 1, kAnswerTag, MPI_COMM_WORLD, &request);
  MPI_Send(&word, 1, MPI_INT, 1, kDataTag, MPI_COMM_WORLD);
  while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return (now() - begin) * 1e6;
}

static void wake_ups(int rounds) {
  Samples one_way = {0}, wake_up = {0};
  double fastest = 1e9; /* when neither rank had the time to fall asleep */
  for (int i = 0; i < 10 * rounds; ++i) {
    const double took = round_trip();
    if (took < fastest) fastest = took;
  }
  for (int i = 0; i < rounds; ++i) {
    compute_for(0.005); /* the other rank waits all the time, this one is outside MPI */
    const double took = round_trip();
    add_sample(&one_way, took - fastest / 2);
    add_sample(&wake_up, took - fastest);
  }
  report_single("one way to a rank asleep in MPI_Recv", "us", &one_way);
  report_single("wake-up of a rank asleep in MPI_Recv", "us", &wake_up);
}

static void be_woken(int rounds) {
  int word;
  for (int i = 0; i < 11 * rounds; ++i) {
    MPI_Recv(&word, 1, MPI_INT, 0, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 0, kAnswerTag, MPI_COMM_WORLD);
  }
}

/* ---- Computing ---- */

typedef struct {
  const char* when;
  Samples times, switches, others;
} Computing;

static Computing compute_when(const char* when, double seconds) {
  Computing result = {.when = when};
  increment(kIncrements); /* what still has to settle is not meant */
  const long switches = voluntary_switches();
  const double used = processor_seconds() - own_thread_seconds(), begin = now();
  while (now() - begin < seconds) {
    const double start = now();
    increment(kIncrements);
    add_sample(&result.times, (now() - start) * 1e3);
  }
  const double took = now() - begin;
  const double others = processor_seconds() - own_thread_seconds() - used;
  add_sample(&result.others, others > 0 ? 100 * others / took : 0);
  add_sample(&result.switches, (double)(voluntary_switches() - switches) / took);
  if (rank != 0) compute_for(0.1); /* so that the end of this disturbs no rank that is still counting */
  return result;
}

static void report_computing(Computing* computing) {
  const struct {
    const char *what, *unit;
    Samples* samples;
  } all[] = {{kWork, "ms", &computing->times},
             {"wake-ups", "1/s", &computing->switches},
             {"other threads", "% of a core", &computing->others}};
  for (unsigned i = 0; i < sizeof all / sizeof *all && rank == 0; ++i) {
    char series[64];
    snprintf(series, sizeof series, "%s, %s", all[i].what, computing->when);
    report_single(series, all[i].unit, all[i].samples);
  }
}

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(&program, argc, argv);
  const double seconds = quick ? 0.5 : 2;
  const int rounds = quick ? 60 : 300;
  Computing before = {0};
  if (!line.stop) before = compute_when("before MPI_Init", seconds);
  start_threads(&program, &line, MPI_THREAD_SINGLE, 2, 2);

  if (rank == 0) {
    polls();
    wake_ups(rounds);
  } else {
    be_polled();
    be_woken(rounds);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Computing idle = compute_when("nothing in flight", seconds);
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Irecv(NULL, 0, MPI_BYTE, 1 - rank, kDataTag, MPI_COMM_WORLD, &request);
  Computing posted = compute_when("a receive posted", seconds);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(NULL, 0, MPI_BYTE, 1 - rank, kDataTag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  report_computing(&before);
  report_computing(&idle);
  report_computing(&posted);
  return MPI_Finalize();
}
