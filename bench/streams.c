/* Long messages between two ranks for so many seconds each, whatever becomes of the network meanwhile: packets that are lost, other traffic beside.

     exchange         64 KiB by MPI_Sendrecv: the median and the 99th percentile
     one direction    1 MiB from rank 0 to rank 1, kWindow under way
     both directions  the same both ways at once: both together

   Unlike those of latency and bandwidth, these times are of single exchanges: what one lost packet costs must not be lost in a mean. */
#include "ranks.h"

enum { kExchangeBytes = 64 << 10, kStreamBytes = 1 << 20, kWindow = 8, kMostExchanges = 1 << 20 };

static long milliseconds = 2000;
static const char* only;
static const char* const kinds[] = {"exchange", "one", "both", NULL};
static const Option options[] = {
    {"--milliseconds", "TIME", "of each kind (2000; with --quick 1000)", .number = &milliseconds},
    {"--only", "KIND", "only exchange, one (direction) or both", .text = &only, .choices = kinds},
    {0}};
static const Program program = {"streams",
                                "Exchanges and streams of long messages between two ranks, for a given time.", options};

/* The same at both ranks: rank 0's. */
static bool goes_on(double end) {
  int on = now() < end;
  MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return on;
}

static void exchange(double seconds) {
  char *out = allocate(kExchangeBytes), *in = allocate(kExchangeBytes);
  fill(out, kExchangeBytes, 0);
  Samples times = {0};
  const double end = now() + seconds;
  do {
    const double began = now();
    MPI_Sendrecv(out, kExchangeBytes, MPI_BYTE, 1 - rank, 0, in, kExchangeBytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    add_sample(&times, (now() - began) * 1e6);
  } while (goes_on(end) && times.count < kMostExchanges);
  if (!is_filled(in, kExchangeBytes, 0)) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) {
    median(&times); /* which sorts them */
    const double late = times.values[(int)(0.99 * (times.count - 1))];
    report(&program, (Figure){"exchange", "us", "lower", 0, NULL, NULL}, &times);
    report_one(&program, (Figure){"exchange, 99th percentile", "us", "lower", 0, NULL, NULL}, late);
  }
  free(out);
  free(in);
}

static void stream(const char* series, bool both, double seconds) {
  Pair pair = make_pair(MPI_COMM_WORLD, kStreamBytes, kWindow);
  double bytes = 0;
  const double began = now();
  do {
    (both ? stream_both_ways : stream_window)(&pair, 1);
    bytes += (both ? 2.0 : 1.0) * kWindow * kStreamBytes;
  } while (goes_on(began + seconds));
  if (!pair.first || both) check_received(&pair, kWindow);
  if (rank == 0) report_one(&program, (Figure){series, "MB/s", "higher", 0, NULL, NULL}, bytes / 1e6 / (now() - began));
  free_pair(&pair);
}

static bool asked(const char* kind) {
  return only == NULL || strcmp(only, kind) == 0;
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  const double seconds = (double)milliseconds / (quick ? 2e3 : 1e3);
  if (asked("exchange")) exchange(seconds);
  if (asked("one")) stream("one direction", false, seconds);
  if (asked("both")) stream("both directions", true, seconds);
  return MPI_Finalize();
}
