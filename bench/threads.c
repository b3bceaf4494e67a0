/* Do several threads of a rank communicate at once: the message rate of 1, 2 and 4 threads a rank under
   MPI_THREAD_MULTIPLE, thread i talking to thread i of the other rank with a tag of its own, or in a communicator of
   its own. And what the thread level costs a program with one thread: its latency, to be compared between --level
   single and --level multiple. */
#include "ranks.h"

#include <pthread.h>
#include <string.h>

enum { kMostThreads = 4, kWindowSize = 64, kThreadTag = 10 };

static const char* level = "multiple";
static const char* const levels[] = {"single", "multiple", NULL};
static const Option options[] = {
    {"--level", "single|multiple", "thread level to start with; single: latency only (multiple)", .text = &level,
     .choices = levels},
    {0}};
static const Program program = {
    "threads", "Message rate by threads under MPI_THREAD_MULTIPLE, and latency by thread level.", options};

static void latency(bool multiple) {
  Samples times = {0};
  Pair pair = make_pair(MPI_COMM_WORLD, 8, 1);
  measure_in(MPI_COMM_WORLD, ping_pong, &pair, quick ? 0.4 : 1, 50e-6, &times);
  scale_samples(&times, 1e6 / 2);
  const char* series = multiple ? "latency 8 B, MPI_THREAD_MULTIPLE" : "latency 8 B, MPI_THREAD_SINGLE";
  report(&program, (Figure){.series = series, .unit = "us", .better = "lower"}, &times);
  free_pair(&pair);
}

typedef struct {
  int count; /* of threads */
  Pair pairs[kMostThreads];
} Team;

typedef struct {
  Pair* pair;
  int times;
} Work;

static void* stream_in_thread(void* context) {
  const Work* work = context;
  stream_window(work->pair, work->times);
  return NULL;
}

/* Every thread streams so many windows; all are joined. */
static void stream_in_team(void* context, int times) {
  Team* team = context;
  pthread_t threads[kMostThreads];
  Work work[kMostThreads];
  for (int i = 0; i < team->count; ++i) {
    work[i] = (Work){&team->pairs[i], times};
    if (i > 0 && pthread_create(&threads[i], NULL, stream_in_thread, &work[i]) != 0) {
      fprintf(stderr, "rank %d: no thread could be started\n", rank);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  stream_in_thread(&work[0]);
  for (int i = 1; i < team->count; ++i) pthread_join(threads[i], NULL);
}

static void message_rate(const char* series, int threads, bool own_communicators) {
  Team team = {.count = threads};
  Samples times = {0};
  for (int i = 0; i < threads; ++i) {
    MPI_Comm comm = MPI_COMM_WORLD;
    if (own_communicators) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    team.pairs[i] = make_pair(comm, 8, kWindowSize);
    if (own_communicators) continue;
    team.pairs[i].tag = kThreadTag + 2 * i;
    team.pairs[i].answer_tag = kThreadTag + 2 * i + 1;
  }
  measure_in(MPI_COMM_WORLD, stream_in_team, &team, quick ? 0.4 : 1.2, 20e-3, &times);
  for (int i = 0; i < threads; ++i) {
    if (!team.pairs[i].first) check_received(&team.pairs[i], kWindowSize);
    if (own_communicators) MPI_Comm_free(&team.pairs[i].comm);
    free_pair(&team.pairs[i]);
  }
  samples_to_rates(&times, (double)threads * kWindowSize / 1e6);
  report(&program, (Figure){series, "M/s", "higher", threads, "threads per rank", ""}, &times);
}

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(&program, argc, argv);
  const bool multiple = strcmp(level, "multiple") == 0;
  start_threads(&program, &line, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, 2, 2);
  latency(multiple);
  for (int threads = 1; threads <= kMostThreads && multiple; threads *= 2) {
    message_rate("own tag", threads, false);
    message_rate("own communicator", threads, true);
  }
  return MPI_Finalize();
}
