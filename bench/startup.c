/* What it costs to start and to end, and what a rank and a connection take of memory. With --parts bare the job does
   nothing between MPI_Init_thread and MPI_Finalize: to be timed from outside. */
#include "ranks.h"

#include <string.h>

enum { kMostConnected = 256 }; /* ranks of which each pair connects */

static const char* parts = "all";
static const char* const all_parts[] = {"all", "bare", NULL};
static const Option options[] = {
    {"--parts", "all|bare", "bare: only start and end, no message, no look at memory (all)", .text = &parts,
     .choices = all_parts},
    {0}};
static const Program program = {
    "startup", "Time of MPI_Init_thread and MPI_Finalize, memory per rank and per connection, by ranks.", options};

static void report_by_ranks(const char* series, const char* unit, double value) {
  if (rank == 0) report_one(&program, (Figure){series, unit, "lower", size, "ranks", ""}, value);
}

static double mean(double value) {
  double sum = 0;
  MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  return sum / size;
}

/* A byte from every rank to every rank; each pair has a connection then. */
static void meet_everybody(void) {
  char* bytes = allocate((size_t)size);
  MPI_Request* requests = allocate(sizeof(MPI_Request) * 2 * (size_t)size);
  char byte = 0;
  for (int i = 0; i < size; ++i) {
    const int from = (rank + size - i) % size, to = (rank + i) % size;
    MPI_Irecv(&bytes[from], 1, MPI_CHAR, from, kDataTag, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Isend(&byte, 1, MPI_CHAR, to, kDataTag, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
  free(requests);
  free(bytes);
}

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(&program, argc, argv);
  double begin = now();
  start_threads(&program, &line, MPI_THREAD_SINGLE, 1, 1 << 22);
  double init = now() - begin;
  if (strcmp(parts, "all") == 0) {
    const double started = memory_kib();
    double echo;
    MPI_Sendrecv(&init, 1, MPI_DOUBLE, 0, 0, &echo, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    const double alone = data_kib(); /* with what the first message of a process needs */
    if (size <= kMostConnected) meet_everybody();
    const double connected = data_kib();
    double slowest = init;
    MPI_Reduce(&init, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    init = slowest;
    report_by_ranks("memory per rank", "KiB", mean(started));
    const double growth = mean(connected - alone);
    if (size > 1 && size <= kMostConnected) report_by_ranks("memory per connection", "KiB", growth / (size - 1));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  begin = now();
  MPI_Finalize();
  const double finalize = now() - begin;
  report_by_ranks("MPI_Init_thread", "ms", init * 1e3);
  report_by_ranks("MPI_Finalize", "ms", finalize * 1e3);
  report_by_ranks("MPI_Init_thread and MPI_Finalize", "ms", (init + finalize) * 1e3);
  return 0;
}
