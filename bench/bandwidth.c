/* How much two ranks can move: MPI_Send after MPI_Send in one direction, a window of messages in flight, and windows
   both ways at once. */
#include "ranks.h"

static Sizes sizes;
static long window = 64;
static const Option options[] = {
    {"--sizes", "LIST", "message sizes (1K-4Mx4)", .sizes = &sizes},
    {"--window", "COUNT", "messages in flight (64); 64 MiB of them at most", .number = &window},
    MEMORY_OPTION,
    {0}};
static const Program program = {
    "bandwidth", "Bandwidth between two ranks, by message size: one direction, a window in flight, both directions.",
    options};

static void answer_for(size_t bytes) {
  char name[32];
  snprintf(name, sizeof name, "window %ld", window);
  const struct {
    const char* series;
    void (*run)(void*, int);
    int directions;
  } all[] = {{"one direction", stream_blocking, 1}, {name, stream_window, 1}, {"both directions", stream_both_ways, 2}};
  const size_t most = ((size_t)64 << 20) / bytes < 1 ? 1 : ((size_t)64 << 20) / bytes;
  const int in_flight = (size_t)window < most ? (int)window : (int)most;
  const double batch = (double)in_flight * (double)bytes;
  Samples times = {0};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    Pair pair = make_pair(MPI_COMM_WORLD, bytes, in_flight);
    measure_in(MPI_COMM_WORLD, all[i].run, &pair, quick ? 0.12 : 0.25, 1e-3, &times);
    if (!pair.first || all[i].directions == 2) check_received(&pair, in_flight);
    samples_to_rates(&times, all[i].directions * batch / 1e6);
    report(&program, (Figure){all[i].series, "MB/s", "higher", (double)bytes, "message size", "B"}, &times);
    free_pair(&pair);
  }
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  default_sizes(&sizes, "1K-4Mx4", "4K,64K,1M,4M");
  for (int s = 0; s < sizes.count; ++s) answer_for(sizes.values[s]);
  return MPI_Finalize();
}
