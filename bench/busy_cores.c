/* Messages on a machine of which other work wants every core: one process for each core computes all the time, as other users' jobs do on a
   shared machine, or a program's own threads. A rank that gives its core to one of them while it waits has it back after a time slice; a rank that
   never does waits for the end of its own. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks.h"

enum { kMostCores = 1024 };
extern char** environ;

static const Option options[] = {{0}};
static const Program program = {
    "busy_cores", "Time of exchanges and collectives beside processes that keep every core busy, by ranks.", options};

static pid_t others[kMostCores];
static int busy; /* cores */

/* What one of the others does, until rank 0 ends. */
static int compute_on(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sched_setaffinity(0, sizeof cores, &cores);
  while (getppid() != 1) increment(1 << 20);
  return 0;
}

/* The launcher may have bound this rank to one core; the others are to have one each. */
static cpu_set_t allowed_cores(void) {
  cpu_set_t own, all;
  sched_getaffinity(0, sizeof own, &own);
  memset(&all, -1, sizeof all);
  sched_setaffinity(0, sizeof all, &all);
  sched_getaffinity(0, sizeof all, &all);
  sched_setaffinity(0, sizeof own, &own);
  return all;
}

static void occupy_cores(const char* self) {
  const cpu_set_t cores = allowed_cores();
  for (int core = 0; core < kMostCores; ++core) {
    if (!CPU_ISSET(core, &cores)) continue;
    char number[16];
    snprintf(number, sizeof number, "%d", core);
    char* const arguments[] = {(char*)self, "--compute-on", number, NULL};
    if (posix_spawn(&others[busy], "/proc/self/exe", NULL, NULL, arguments, environ) == 0) ++busy;
  }
  if (busy != 0) return;
  fprintf(stderr, "busy_cores: no process can be started to compute beside\n");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void release_cores(void) {
  for (int i = 0; i < busy; ++i) kill(others[i], SIGKILL);
  for (int i = 0; i < busy; ++i) waitpid(others[i], NULL, 0);
}

typedef struct {
  int bytes;
  char *out, *in;
} Buffers;

static void barrier(void* context, int times) {
  (void)context;
  for (int i = 0; i < times; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void* context, int times) {
  const Buffers* buffers = context;
  for (int i = 0; i < times; ++i)
    MPI_Allreduce(buffers->out, buffers->in, buffers->bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
}

static void ring(void* context, int times) {
  const Buffers* buffers = context;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(buffers->out, buffers->bytes, MPI_BYTE, right, 0, buffers->in, buffers->bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void ring_by_iprobe(void* context, int times) {
  const Buffers* buffers = context;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < times; ++i) {
    MPI_Request request;
    int arrived = 0;
    MPI_Isend(buffers->out, buffers->bytes, MPI_BYTE, right, 0, MPI_COMM_WORLD, &request);
    while (!arrived) MPI_Iprobe(left, 0, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
    MPI_Recv(buffers->in, buffers->bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/* Every rank gives the same, so that each has it at the end. */
static void answer_for(const char* series, void (*run)(void*, int), size_t bytes) {
  Buffers buffers = {(int)bytes, allocate(bytes), allocate(bytes)};
  fill(buffers.out, bytes, 1);
  Samples times = {0};
  measure_in(MPI_COMM_WORLD, run, &buffers, quick ? 1 : 3, 50e-3, &times); /* many time slices each */
  if (run != barrier && !is_filled(buffers.in, bytes, 1)) {
    fprintf(stderr, "rank %d: %s has brought other content\n", rank, series);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  scale_samples(&times, 1e6);
  report(&program, (Figure){series, "us", "lower", size, "ranks", ""}, &times);
  free(buffers.out);
  free(buffers.in);
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--compute-on") == 0) return compute_on(atoi(argv[2]));
  start(&program, argc, argv, 2, 1 << 22);
  if (rank == 0) occupy_cores(argv[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  answer_for("ring, 8 B", ring, 8);
  answer_for("ring, 64 KiB", ring, 64 << 10);
  answer_for("ring by Iprobe, 8 B", ring_by_iprobe, 8);
  answer_for("barrier", barrier, 0);
  answer_for("allreduce, 8 B", allreduce, 8);
  if (rank == 0) release_cores();
  return MPI_Finalize();
}
