/* A few figures in a few seconds, to compare MPI libraries: quick [MEASUREMENT...]; all when none is named. Two ranks.

     latency    half a round trip of 8 B, 64 KiB, 1 MiB (median)
     bandwidth  a stream of 1 MiB messages
     rate       8 B messages per second, 64 outstanding
     ssend      MPI_Ssend of 64 KiB to a rank that has posted its receive and computes for 50 ms (median)
     overlap    what is left of an exchange of 1 MiB, and of an MPI_Iallreduce of 1 MiB, after 25 ms of computing (median)
     wait       processor time of a rank that waits 3 s in MPI_Recv, and in MPI_Barrier
     idle       wake-ups per second of all threads while the program only computes

   Prints "name value unit" lines. Uses only what the standard ABI offers. */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int rank;

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}
static void report(const char* name, double value, const char* unit) {
  printf("%s %.6g %s\n", name, value, unit);
  fflush(stdout);
}
static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  volatile double work = 0;
  while (MPI_Wtime() < end)
    for (int i = 0; i < 1000; ++i) work += i;
}

static void latency(void) {
  static const struct {
    const char* name;
    int bytes, rounds;
  } cases[] = {{"latency_8B", 8, 4000}, {"latency_64KiB", 65536, 1000}, {"latency_1MiB", 1 << 20, 200}};
  for (int c = 0; c < 3; ++c) {
    char* buffer = calloc(1, (size_t)cases[c].bytes);
    double* times = malloc(sizeof(double) * (size_t)cases[c].rounds);
    for (int i = -cases[c].rounds / 10; i < cases[c].rounds; ++i) {
      const double begin = MPI_Wtime();
      if (rank == 0) {
        MPI_Send(buffer, cases[c].bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, cases[c].bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(buffer, cases[c].bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, cases[c].bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
      }
      if (i >= 0) times[i] = (MPI_Wtime() - begin) / 2 * 1e6;
    }
    if (rank == 0) report(cases[c].name, median(times, cases[c].rounds), "us");
    free(times);
    free(buffer);
  }
}

/* `windows` times 64 messages in flight, then a word back. Returns the seconds one window took (median). */
static double stream(int bytes, int windows) {
  enum { kWindow = 64 };
  char* buffer = calloc(kWindow, (size_t)bytes);
  double* times = malloc(sizeof(double) * (size_t)windows);
  MPI_Request requests[kWindow];
  for (int w = -2; w < windows; ++w) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < kWindow; ++i) {
      if (rank == 0)
        MPI_Isend(buffer + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[i]);
      else
        MPI_Irecv(buffer + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
      MPI_Recv(NULL, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    if (w >= 0) times[w] = MPI_Wtime() - begin;
  }
  const double result = median(times, windows);
  free(times);
  free(buffer);
  return result;
}
static void bandwidth(void) {
  const double window = stream(1 << 20, 20);
  if (rank == 0) report("bandwidth_1MiB", 64.0 * (1 << 20) / window / 1e6, "MB/s");
}
static void rate(void) {
  const double window = stream(8, 1000);
  if (rank == 0) report("rate_8B", 64 / window / 1e6, "M/s");
}

static void ssend(void) {
  enum { kRounds = 15, kBytes = 65536 };
  char* buffer = calloc(1, kBytes);
  double times[kRounds];
  for (int i = 0; i < kRounds; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      compute(0.010); /* the receiver has posted and computes */
      const double begin = MPI_Wtime();
      MPI_Ssend(buffer, kBytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
      times[i] = (MPI_Wtime() - begin) * 1e6;
    } else {
      MPI_Request request;
      MPI_Irecv(buffer, kBytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &request);
      compute(0.050);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  if (rank == 0) report("ssend_64KiB_to_computing", median(times, kRounds), "us");
  free(buffer);
}

/* Time spent in starting and finishing; the computation between is not counted. */
static void overlap(void) {
  enum { kRounds = 15, kBytes = 1 << 20 };
  char *out = calloc(1, kBytes), *in = calloc(1, kBytes);
  double exchange[kRounds], reduction[kRounds];
  for (int i = 0; i < 2 * kRounds; ++i) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (i < kRounds) {
      MPI_Irecv(in, kBytes, MPI_BYTE, 1 - rank, 6, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(out, kBytes, MPI_BYTE, 1 - rank, 6, MPI_COMM_WORLD, &requests[1]);
    } else {
      MPI_Iallreduce(out, in, kBytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    }
    const double started = MPI_Wtime();
    compute(0.025);
    const double computed = MPI_Wtime();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    *(i < kRounds ? &exchange[i] : &reduction[i - kRounds]) = (MPI_Wtime() - computed + started - begin) * 1e6;
  }
  if (rank == 0) report("exchange_1MiB_beside_computing", median(exchange, kRounds), "us");
  if (rank == 0) report("iallreduce_1MiB_beside_computing", median(reduction, kRounds), "us");
  free(out);
  free(in);
}

static double processor_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec + 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}
/* The other rank sleeps outside MPI, as a rank does that waits for a disk. */
static void wait_for(int in_barrier) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime(), used = processor_seconds();
  if (rank == 1) sleep(3);
  if (in_barrier) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
  }
  if (rank == 0)
    report(in_barrier ? "wait_in_barrier" : "wait_in_recv", 100 * (processor_seconds() - used) / (MPI_Wtime() - begin), "%core");
}
static void wait_without_burning(void) {
  wait_for(0);
  wait_for(1);
}

/* Voluntary context switches of all threads of this process. */
static long wake_ups(void) {
  long sum = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
    char path[512], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    FILE* status = task->d_name[0] != '.' ? fopen(path, "r") : NULL;
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
      long count = 0;
      if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1) sum += count;
    }
    if (status != NULL) fclose(status);
  }
  if (tasks != NULL) closedir(tasks);
  return sum;
}
static void idle(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  compute(0.1); /* what is still to be settled after the barrier is not idleness */
  const long before = wake_ups();
  compute(2);
  const double per_second = (double)(wake_ups() - before) / 2;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) report("wake_ups_while_computing", per_second, "1/s");
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } all[] = {{"latency", latency}, {"bandwidth", bandwidth},        {"rate", rate},
             {"ssend", ssend},     {"overlap", overlap},     {"wait", wait_without_burning},
             {"idle", idle}};
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    fprintf(stderr, "quick: needs 2 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (unsigned m = 0; m < sizeof all / sizeof *all; ++m) {
    int wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted |= strcmp(argv[i], all[m].name) == 0;
    if (wanted) all[m].run();
  }
  return MPI_Finalize();
}
