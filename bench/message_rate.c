/* How many small messages a second: windows of non-blocking sends, each window answered by an empty message, and
   MPI_Send after MPI_Send. */
#include "ranks.h"

static Sizes sizes, windows;
static const Option options[] = {
    {"--sizes", "LIST", "message sizes (8-4Kx8)", .sizes = &sizes},
    {"--windows", "LIST", "messages in flight, a series each (4,16,64,256)", .sizes = &windows},
    {0}};
static const Program program = {"message_rate", "Messages per second from one rank to another, by message size.",
                                options};

static void answer_for(const char* series, void (*run)(void*, int), size_t bytes, size_t window) {
  Samples times = {0};
  Pair pair = make_pair(MPI_COMM_WORLD, bytes, (int)window);
  measure_in(MPI_COMM_WORLD, run, &pair, quick ? 0.2 : 0.25, 1e-3, &times);
  if (!pair.first) check_received(&pair, pair.window);
  samples_to_rates(&times, (double)window / 1e6);
  report(&program, (Figure){series, "M/s", "higher", (double)bytes, "message size", "B"}, &times);
  free_pair(&pair);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  default_sizes(&sizes, "8-4Kx8", "8,64,1K");
  default_sizes(&windows, "4,16,64,256", "64");
  for (int s = 0; s < sizes.count; ++s) {
    for (int w = 0; w < windows.count; ++w) {
      char series[32];
      snprintf(series, sizeof series, "window %zu", windows.values[w]);
      answer_for(series, stream_window, sizes.values[s], windows.values[w]);
    }
    answer_for("blocking sends", stream_blocking, sizes.values[s], 64);
  }
  return MPI_Finalize();
}
