/* Do open connections cost anything (O2G, figures 5 and 6): rank 0 has one to every other rank. First only rank 1
   talks to rank 0, while all others wait in MPI_Recv and their connections are idle; then all are active.

   No step's length grows with the number of ranks but for one message each way. */
#include "ranks.h"

enum { kGoTag = 3, kPerRound = 8, kMostPerRound = 8192 }; /* messages of a peer, and of all, when all are active */

static const Option options[] = {{0}};
static const Program program = {
    "connections", "Latency, bandwidth, processor time per message and memory of rank 0, by its open connections.",
    options};

static void report_by_connections(const char* series, const char* unit, const char* better, Samples* samples) {
  report(&program, (Figure){series, unit, better, size - 1, "connections of rank 0", ""}, samples);
}

/* ---- Opening ---- */

/* A byte from rank 0 to everybody, and back. */
static void open_connections(void) {
  char byte = 0;
  if (rank != 0) {
    MPI_Recv(&byte, 1, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&byte, 1, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD);
    return;
  }
  char* bytes = allocate((size_t)size);
  MPI_Request* requests = allocate(sizeof(MPI_Request) * 2 * (size_t)size);
  int posted = 0;
  for (int peer = 1; peer < size; ++peer) {
    MPI_Irecv(&bytes[peer], 1, MPI_BYTE, peer, kDataTag, MPI_COMM_WORLD, &requests[posted++]);
    MPI_Isend(&byte, 1, MPI_BYTE, peer, kDataTag, MPI_COMM_WORLD, &requests[posted++]);
  }
  MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
  free(requests);
  free(bytes);
}

static void answer_for_opening(void) {
  const double memory = data_kib(), begin = now();
  open_connections();
  if (rank != 0) return;
  Samples growth = {0}, time = {0};
  add_sample(&time, (now() - begin) / (size - 1) * 1e6);
  add_sample(&growth, (data_kib() - memory) / (size - 1));
  report_by_connections("opening a connection", "us", "lower", &time);
  report_by_connections("memory per connection", "KiB", "lower", &growth);
}

/* ---- All but one idle; ranks 0 and 1 only ---- */

/* Rank 1 sends small messages; the processor time that each takes at rank 0. */
static void answer_for_processor_time(MPI_Comm pair_comm, double budget) {
  Pair pair = make_pair(pair_comm, 8, 64);
  pair.first = !pair.first;
  Samples windows = {0}, used = {0};
  measure_in(pair_comm, stream_window, &pair, budget / 2, 1e-3, &windows);
  double count = 1;
  if (rank == 0) count = budget / 2 / 10 / windows.values[windows.count / 2];
  const long each = agree_in(&pair_comm, count < 1 ? 1 : count > 10000 ? 10000 : (long)count);
  for (int i = 0; i < 10; ++i) {
    const double begin = processor_seconds();
    stream_window(&pair, (int)each);
    add_sample(&used, (processor_seconds() - begin) / ((double)each * pair.window) * 1e6);
  }
  if (rank == 0) report_by_connections("processor time per message, the others idle", "us", "lower", &used);
  free_pair(&pair);
}

static void answer_for_idle(MPI_Comm pair_comm, double budget) {
  Samples times = {0};
  Pair small = make_pair(pair_comm, 8, 1);
  measure_in(pair_comm, ping_pong, &small, budget, 1e-3, &times);
  scale_samples(&times, 1e6 / 2);
  report_by_connections("latency, the others idle", "us", "lower", &times);
  free_pair(&small);

  Pair large = make_pair(pair_comm, 1 << 20, 16);
  large.first = !large.first; /* to rank 0 */
  measure_in(pair_comm, stream_window, &large, budget, 5e-3, &times);
  if (rank == 0) check_received(&large, large.window);
  samples_to_rates(&times, 16.0 * (1 << 20) / 1e6);
  report_by_connections("bandwidth, the others idle", "MB/s", "higher", &times);
  free_pair(&large);

  answer_for_processor_time(pair_comm, budget);
}

/* ---- All active ---- */

/* Rank 0 says go to all, and takes what comes from anybody: so many messages of each. */
static void receive_round(int messages) {
  for (int peer = 1; peer < size; ++peer) MPI_Send(&messages, 1, MPI_INT, peer, kGoTag, MPI_COMM_WORLD);
  for (long i = 0; i < (long)messages * (size - 1); ++i) {
    int content[2];
    MPI_Status status;
    MPI_Recv(content, 2, MPI_INT, MPI_ANY_SOURCE, kDataTag, MPI_COMM_WORLD, &status);
    if (content[0] == status.MPI_SOURCE) continue;
    fprintf(stderr, "rank 0: a message of rank %d says that it is of rank %d\n", status.MPI_SOURCE, content[0]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void receive_from_all(double budget) {
  Samples time = {0}, used = {0};
  const int most = kMostPerRound / (size - 1), each = most > kPerRound ? kPerRound : most < 1 ? 1 : most;
  const double start = now(), messages = (double)each * (size - 1);
  for (int i = -1; i < 2 || (now() - start < budget && i < 4000); ++i) {
    const double begin = now(), processor = processor_seconds();
    receive_round(each);
    if (i < 0) continue;
    add_sample(&time, (now() - begin) / messages * 1e6);
    add_sample(&used, (processor_seconds() - processor) / messages * 1e6);
  }
  const int enough = 0;
  for (int peer = 1; peer < size; ++peer) MPI_Send(&enough, 1, MPI_INT, peer, kGoTag, MPI_COMM_WORLD);
  report_by_connections("time per message, all active", "us", "lower", &time);
  report_by_connections("processor time per message, all active", "us", "lower", &used);
}

/* Idle until rank 0 says go. */
static void send_when_told(void) {
  for (int messages;;) {
    MPI_Recv(&messages, 1, MPI_INT, 0, kGoTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (messages == 0) return;
    for (int i = 0; i < messages; ++i) {
      const int content[2] = {rank, i};
      MPI_Send(content, 2, MPI_INT, 0, kDataTag, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 1 << 22);
  const double budget = quick ? 0.6 : 1.5;
  answer_for_opening();
  if (rank <= 1) {
    const int talking[2] = {0, 1};
    MPI_Group world, two;
    MPI_Comm pair_comm;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, talking, &two);
    MPI_Comm_create_group(MPI_COMM_WORLD, two, 0, &pair_comm);
    answer_for_idle(pair_comm, budget);
    MPI_Comm_free(&pair_comm);
    MPI_Group_free(&two);
    MPI_Group_free(&world);
  }
  if (rank == 0)
    receive_from_all(budget);
  else
    send_when_told();
  return MPI_Finalize();
}
