/* How long a sender is held up by a receiver that computes (PIOMan, figure 3): the receiver has posted MPI_Irecv and
   computes; some milliseconds later the other rank sends. With MPI_Send, with MPI_Ssend, whose end no socket buffer can
   pretend, and with MPI_Ssend to a receiver that waits in MPI_Wait. Rank 0 sends. */
#include "ranks.h"

enum { kReadyTag = 3 };
static const double kHeadStart = 0.005; /* seconds the receiver has computed when the sender begins */

static Sizes sizes;
static long compute_ms = 20;
static const Option options[] = {
    {"--sizes", "LIST", "message sizes (1K-1Mx4,2M-8M)", .sizes = &sizes},
    {"--compute-ms", "COUNT", "the receiver computes so many ms, plus 1 s for each 100 MB (20)", .number = &compute_ms},
    MEMORY_OPTION,
    {0}};
static const Program program = {
    "busy_receiver", "Time of a send to a rank that has posted its receive and computes, by message size.", options};

typedef struct {
  const char* series;
  int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  bool busy;
} Case;

/* The time of the send, at rank 0. */
static double one_send(const Case* which, const Pair* pair) {
  if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, kReadyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute_for(kHeadStart);
    const double begin = now();
    which->send(pair->out, pair->bytes, MPI_BYTE, 1, kDataTag, MPI_COMM_WORLD);
    return now() - begin;
  }
  MPI_Request request;
  MPI_Irecv(pair->in, pair->bytes, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD, &request);
  MPI_Send(NULL, 0, MPI_BYTE, 0, kReadyTag, MPI_COMM_WORLD);
  if (which->busy) compute_for(kHeadStart + 1e-3 * (double)compute_ms + pair->bytes / 100e6);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return 0;
}

int main(int argc, char** argv) {
  static const Case all[] = {
      {"MPI_Send", MPI_Send, true}, {"MPI_Ssend", MPI_Ssend, true}, {"MPI_Ssend, receiver idle", MPI_Ssend, false}};
  start(&program, argc, argv, 2, 2);
  default_sizes(&sizes, "1K-1Mx4,2M-8M", "1K,64K,1M,8M");
  const int samples = quick ? 5 : 9;
  Samples times = {0};
  for (int s = 0; s < sizes.count; ++s) {
    for (unsigned c = 0; c < sizeof all / sizeof *all; ++c) {
      Pair pair = make_pair(MPI_COMM_WORLD, sizes.values[s], 1);
      for (int i = -1; i < (all[c].busy ? samples : 4 * samples); ++i) {
        const double took = one_send(&all[c], &pair);
        if (rank == 0 && i >= 0) add_sample(&times, took * 1e6);
      }
      if (rank == 1) check_received(&pair, 1);
      report(&program, (Figure){all[c].series, "us", "lower", (double)sizes.values[s], "message size", "B"}, &times);
      free_pair(&pair);
    }
  }
  return MPI_Finalize();
}
