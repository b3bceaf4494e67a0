/* What messages of one rank cost ranks that do not take part (paper 3, section 4.3). Rank 0 and the first rank of the second half play
   ping-pong for some time, then are silent for as long; all others compute all the while. Told are half of a round trip beside computing,
   and how much slower the computing ranks are while the two talk: the median over the turns of the slowest rank's. */
#include "ranks.h"

static long turns = 8;
static Sizes sizes;
static const Option options[] = {{"--turns", "COUNT", "of talk and silence (8)", .number = &turns},
                                 {"--sizes", "LIST", "message sizes (64,1M)", .sizes = &sizes},
                                 {0}};
static const Program program = {
    "idle_cores", "How much slower ranks compute while two others exchange messages, by message size.", options};

/* Increments a second, for so long. */
static double compute(double seconds) {
  const double began = now(), end = began + seconds;
  double done = 0;
  for (; now() < end; done += 10000) increment(10000);
  return done / (now() - began);
}

/* Round trips for so long; the first of the pair ends them by a message with another tag. */
static double talk(const Pair* pair, double seconds) {
  const double began = now();
  long trips = 0;
  MPI_Status status;
  do {
    const bool last = pair->first && now() - began > seconds;
    if (pair->first)
      MPI_Send(pair->out, pair->bytes, MPI_BYTE, pair->peer, last ? kAnswerTag : kDataTag, MPI_COMM_WORLD);
    MPI_Recv(pair->in, pair->bytes, MPI_BYTE, pair->peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (!pair->first) MPI_Send(pair->out, pair->bytes, MPI_BYTE, pair->peer, status.MPI_TAG, MPI_COMM_WORLD);
    ++trips;
  } while (status.MPI_TAG != kAnswerTag);
  return (now() - began) / (double)trips / 2;
}

static void answer_for(size_t bytes) {
  const double seconds = quick ? 0.15 : 0.4;
  const bool talks = rank == 0 || rank == size / 2;
  Pair pair = make_pair(MPI_COMM_SELF, bytes, 1);
  pair.first = rank == 0, pair.peer = rank == 0 ? size / 2 : 0;
  Samples slower = {0}, half_trips = {0};
  for (int turn = -1; turn < turns; ++turn) { /* the first makes the connection */
    double rates[2], slowest = 0;
    for (int loud = 0; loud < 2; ++loud) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (!talks) rates[loud] = compute(seconds);
      if (talks && loud) rates[loud] = talk(&pair, seconds);
      if (talks && !loud) sleep_for(seconds);
    }
    const double own = talks ? 0 : rates[0] / rates[1];
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank != 0 || turn < 0) continue;
    add_sample(&slower, slowest);
    add_sample(&half_trips, 1e6 * rates[1]);
  }
  report(
      &program,
      (Figure){"time of computing, over that without messages", "ratio", "lower", (double)bytes, "message size", "B"},
      &slower);
  report(&program, (Figure){"one way, others compute", "us", "lower", (double)bytes, "message size", "B"}, &half_trips);
  free_pair(&pair);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 4, 1024);
  default_sizes(&sizes, "64,1M", "64,1M");
  for (int s = 0; s < sizes.count; ++s) answer_for(sizes.values[s]);
  return MPI_Finalize();
}
