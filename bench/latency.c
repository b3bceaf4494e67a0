/* How long a message takes: half a round trip of blocking sends and receives between two ranks. */
#include "ranks.h"

static Sizes sizes;
static const Option options[] = {{"--sizes", "LIST", "message sizes (8-4M)", .sizes = &sizes}, MEMORY_OPTION, {0}};
static const Program program = {
    "latency", "Half a round trip of MPI_Send and MPI_Recv between two ranks, by message size.", options};

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  default_sizes(&sizes, "8-4M", "8,1K,64K,1M,4M");
  Samples times = {0};
  for (int s = 0; s < sizes.count; ++s) {
    Pair pair = make_pair(MPI_COMM_WORLD, sizes.values[s], 1);
    measure_in(MPI_COMM_WORLD, ping_pong, &pair, 0.4, 50e-6, &times);
    check_received(&pair, 1);
    scale_samples(&times, 1e6 / 2);
    report(&program, (Figure){"one way", "us", "lower", (double)sizes.values[s], "message size", "B"}, &times);
    free_pair(&pair);
  }
  return MPI_Finalize();
}
