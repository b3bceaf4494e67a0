/* What messages take from a rank that computes while they come, one after the other with pauses: the receives are posted, the rank computes for as
   long as the messages take, and the last call of the round is MPI_Waitall. In every other round the sender computes for as long first and sends
   after that, so that its core is as busy: the difference of the two computings is what the messages have taken. Rank 0 sends. Papers 1 (LA-MPI-ED)
   and 2 (O2G), which receive without the application. */
#include "ranks.h"

enum { kReadyTag = 3 };

static Sizes sizes;
static long messages = 48, pause_us = 300;
static const Option options[] = {
    {"--sizes", "LIST", "message sizes (8,1K,16K,64K)", .sizes = &sizes},
    {"--messages", "COUNT", "so many in a round (48)", .number = &messages},
    {"--pause-us", "COUNT", "the sender computes for so many us before each (300)", .number = &pause_us},
    MEMORY_OPTION,
    {0}};
static const Program program = {
    "trickle", "What messages that come while a rank computes take from its computing, and from their sender, by message size.", options};

typedef struct {
  Samples send, wait, quiet, beside; /* us */
} Times;

static double pause_s(void) { return 1e-6 * (double)pause_us; }

/* So many increments take rank 1 longer than the messages of a round take to come, while the other rank computes, which may slow it down. */
static long enough_increments(void) {
  const double wanted = 1.4 * pause_s() * (double)messages;
  const long increments = increments_for(wanted);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  if (rank == 1)
    increment(increments);
  else
    compute_for(3 * wanted);
  return (long)((double)increments * wanted / (now() - begin));
}

static void send_round(const Pair* pair, bool meanwhile, Times* times) {
  MPI_Recv(NULL, 0, MPI_BYTE, 1, kReadyTag, pair->comm, MPI_STATUS_IGNORE);
  if (!meanwhile) compute_for(1.6 * pause_s() * (double)messages);
  for (long i = 0; i < messages; ++i) {
    if (meanwhile) compute_for(pause_s());
    const double begin = now();
    MPI_Send(pair->out + i * pair->bytes, pair->bytes, MPI_BYTE, 1, kDataTag, pair->comm);
    if (meanwhile) add_sample(&times->send, (now() - begin) * 1e6);
  }
}

static void receive_round(const Pair* pair, bool meanwhile, long increments, Times* times) {
  for (long i = 0; i < messages; ++i)
    MPI_Irecv(pair->in + i * pair->bytes, pair->bytes, MPI_BYTE, 0, kDataTag, pair->comm, &pair->requests[i]);
  MPI_Send(NULL, 0, MPI_BYTE, 0, kReadyTag, pair->comm);
  const double begin = now();
  increment(increments);
  const double computed = now();
  MPI_Waitall((int)messages, pair->requests, MPI_STATUSES_IGNORE);
  add_sample(meanwhile ? &times->beside : &times->quiet, (computed - begin) * 1e6);
  if (meanwhile) add_sample(&times->wait, (now() - computed) * 1e6);
}

/* Of rank 1, to rank 0, which reports. */
static void hand_over(Samples* samples) {
  if (rank == 1) {
    MPI_Send(samples->values, samples->count, MPI_DOUBLE, 0, kReadyTag, MPI_COMM_WORLD);
    return;
  }
  MPI_Status status;
  int count;
  MPI_Probe(1, kReadyTag, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  double* values = allocate(sizeof(double) * (size_t)(count + 1));
  MPI_Recv(values, count, MPI_DOUBLE, 1, kReadyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) add_sample(samples, values[i]);
  free(values);
}

static void report_size(size_t bytes, Times* times) {
  hand_over(&times->wait);
  hand_over(&times->quiet);
  hand_over(&times->beside);
  if (rank != 0) return;
  Samples taken = {0};
  const double quiet_us = median(&times->quiet);
  for (int i = 0; i < times->beside.count; ++i) add_sample(&taken, (times->beside.values[i] - quiet_us) / (double)messages);
  const struct {
    const char* series;
    Samples* samples;
  } all[] = {{"computing taken, per message", &taken}, {"MPI_Send", &times->send}, {"MPI_Waitall", &times->wait}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i)
    report(&program, (Figure){all[i].series, "us", "lower", (double)bytes, "message size", "B"}, all[i].samples);
  free(taken.values);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  default_sizes(&sizes, "8,1K,16K,64K", "8,16K");
  const long increments = enough_increments();
  const int rounds = quick ? 20 : 60;
  for (int s = 0; s < sizes.count; ++s) {
    Pair pair = make_pair(MPI_COMM_WORLD, sizes.values[s], (int)messages);
    Times times = {0};
    for (int i = -2; i < rounds; ++i) {
      if (i == 0) times.send.count = times.wait.count = times.quiet.count = times.beside.count = 0;
      if (rank == 0)
        send_round(&pair, i % 2 != 0, &times);
      else
        receive_round(&pair, i % 2 != 0, increments, &times);
    }
    if (rank == 1) check_received(&pair, (int)messages);
    report_size(sizes.values[s], &times);
    free(times.send.values);
    free(times.wait.values);
    free(times.quiet.values);
    free(times.beside.values);
    free_pair(&pair);
  }
  return MPI_Finalize();
}
