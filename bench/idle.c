/* What a rank takes from the processor while it waits: in MPI_Recv, in MPI_Barrier, in a loop of MPI_Iprobe that
   pauses, and in one that does not. Processor time and wake-ups of all threads of rank 0; rank 1 sleeps outside MPI
   and then ends the wait. */
#include "ranks.h"

#include <unistd.h>

static const Option options[] = {{0}};
static const Program program = {"idle", "Processor time and wake-ups of a rank that waits.", options};

static void end_of_wait(void) {
  MPI_Recv(NULL, 0, MPI_BYTE, 1, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void wait_in_barrier(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}
static void probe(void (*pause)(void)) {
  for (int found = 0; !found; pause()) MPI_Iprobe(1, kDataTag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  end_of_wait();
}
static void sleep_a_millisecond(void) {
  usleep(1000);
}
static void go_on(void) {}
static void probe_with_pauses(void) {
  probe(sleep_a_millisecond);
}
static void probe_without_pauses(void) {
  probe(go_on);
}

static const struct {
  const char* series;
  void (*wait)(void);
} ways[] = {{"MPI_Recv", end_of_wait},
            {"MPI_Barrier", wait_in_barrier},
            {"MPI_Iprobe and usleep(1000)", probe_with_pauses},
            {"MPI_Iprobe without a pause", probe_without_pauses}};

static void answer_for(unsigned way, int samples, double seconds) {
  Samples busy = {0}, wake_ups = {0};
  for (int i = 0; i < samples; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      sleep_for(seconds);
      if (ways[way].wait == wait_in_barrier)
        MPI_Barrier(MPI_COMM_WORLD);
      else
        MPI_Send(NULL, 0, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD);
      continue;
    }
    const long switches = voluntary_switches();
    const double used = processor_seconds(), begin = now();
    ways[way].wait();
    const double took = now() - begin;
    add_sample(&busy, 100 * (processor_seconds() - used) / took);
    add_sample(&wake_ups, (double)(voluntary_switches() - switches) / took);
  }
  char series[64];
  snprintf(series, sizeof series, "wake-ups, %s", ways[way].series);
  report(&program, (Figure){.series = ways[way].series, .unit = "% of a core", .better = "lower"}, &busy);
  report(&program, (Figure){.series = series, .unit = "1/s", .better = "lower"}, &wake_ups);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  for (unsigned way = 0; way < sizeof ways / sizeof *ways; ++way) answer_for(way, quick ? 1 : 3, quick ? 0.6 : 0.8);
  return MPI_Finalize();
}
