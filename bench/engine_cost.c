/* What the event thread costs a program that communicates (LA-MPI-ED, figures 5 to 9): latency, bandwidth and message
   rate. A run is short, because it is to be repeated many times, with and without the thread by turns: the difference
   is smaller than what this minute differs from the next by. */
#include "ranks.h"

static const Option options[] = {{0}};
static const Program program = {
    "engine_cost", "Latency, bandwidth and message rate between two ranks, in a short run that is to be repeated.",
    options};

typedef struct {
  const char *series, *unit;
  void (*run)(void*, int);
  int window;
  double messages;  /* counted: messages a second, in millions, for each of the window */
  double megabytes; /* counted: for each byte of the window */
  const char* sizes;
} What;

static const char kSmall[] = "8,1K", kLarge[] = "4K,64K,1M,4M";
static const What whats[] = {{"latency", "us", ping_pong, 1, 0, 0, "8,1K,64K,1M,4M"},
                             {"bandwidth, one direction", "MB/s", stream_blocking, 64, 0, 1e-6, kLarge},
                             {"bandwidth, window", "MB/s", stream_window, 64, 0, 1e-6, kLarge},
                             {"bandwidth, both directions", "MB/s", stream_both_ways, 64, 0, 2e-6, kLarge},
                             {"message rate, window", "M/s", stream_window, 64, 1e-6, 0, kSmall},
                             {"message rate, blocking sends", "M/s", stream_blocking, 64, 1e-6, 0, kSmall}};

static void answer_for(const What* what, size_t bytes) {
  const size_t most = ((size_t)8 << 20) / bytes;
  const int window = (size_t)what->window < most ? what->window : (int)most;
  const double amount = window * (what->messages + what->megabytes * (double)bytes);
  Samples times = {0};
  Pair pair = make_pair(MPI_COMM_WORLD, bytes, window);
  measure_in(MPI_COMM_WORLD, what->run, &pair, quick ? 0.01 : 0.03, 100e-6, &times);
  if (amount > 0)
    samples_to_rates(&times, amount);
  else
    scale_samples(&times, 1e6 / 2);
  const char* better = amount > 0 ? "higher" : "lower";
  report(&program, (Figure){what->series, what->unit, better, (double)bytes, "message size", "B"}, &times);
  free(times.values);
  free_pair(&pair);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  for (unsigned w = 0; w < sizeof whats / sizeof *whats; ++w) {
    Sizes sizes;
    parse_sizes(whats[w].sizes, &sizes);
    for (int s = 0; s < sizes.count; ++s) answer_for(&whats[w], sizes.values[s]);
  }
  return MPI_Finalize();
}
