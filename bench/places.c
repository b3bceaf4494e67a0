/* What a message takes by where its two buffers lie in their pages. The string instruction of some processors, with which the C library's memcpy
   and the kernel copy, takes up to thirty times as long where bytes are written less than a line behind those that are read, as far as their places
   in a page go: from a buffer that begins with a page, say, to one that malloc has given. Time of half a round trip, of a message to the rank
   itself, and of collectives. */
#include "ranks.h"

static Sizes sizes;
static const Option options[] = {{"--sizes", "LIST", "message sizes (16K,64K,1M)", .sizes = &sizes}, {0}};
static const Program program = {"places", "Time of a message by where its buffers lie in their pages.", options};

enum { kPage = 4096, kAlike = 0, kBefore = 48, kCloselyBehind = 16, kBehind = 1000 };

typedef struct {
  char *out, *in;
  int bytes;
} Buffers;

static void half_round_trip(void* context, int times) {
  const Buffers* buffers = context;
  for (int i = 0; i < times; ++i) {
    if (rank == 0) MPI_Send(buffers->out, buffers->bytes, MPI_BYTE, 1, kDataTag, MPI_COMM_WORLD);
    MPI_Recv(buffers->in, buffers->bytes, MPI_BYTE, 1 - rank, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffers->out, buffers->bytes, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD);
  }
}

static void to_itself(void* context, int times) {
  const Buffers* buffers = context;
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(buffers->out, buffers->bytes, MPI_BYTE, rank, kDataTag, buffers->in, buffers->bytes, MPI_BYTE, rank, kDataTag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void allgather(void* context, int times) {
  const Buffers* buffers = context;
  for (int i = 0; i < times; ++i)
    MPI_Allgather(buffers->out, buffers->bytes / 2, MPI_BYTE, buffers->in, buffers->bytes / 2, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(void* context, int times) {
  const Buffers* buffers = context;
  for (int i = 0; i < times; ++i)
    MPI_Alltoall(buffers->out, buffers->bytes / 2, MPI_BYTE, buffers->in, buffers->bytes / 2, MPI_BYTE, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  void (*run)(void*, int);
  double share; /* of a run that is one message's */
} calls[] = {{"one way", half_round_trip, 0.5}, {"to itself", to_itself, 1}, {"MPI_Allgather", allgather, 1}, {"MPI_Alltoall", alltoall, 1}};

/* Of the receive buffer, less that of the send buffer. */
static const struct {
  const char* name;
  int send, receive;
} places[] = {{"alike", kAlike, kAlike}, {"16 B behind", kAlike, kCloselyBehind}, {"48 B before", kBefore, kAlike}, {"1000 B behind", kAlike, kBehind}};

static char* page_with(size_t bytes) {
  char* memory = aligned_alloc(kPage, (bytes / kPage + 2) * kPage);
  if (memory == NULL) leave("places: no memory\n", 1);
  return memset(memory, 0, bytes + kPage);
}

static void check(const Buffers* buffers) {
  if (is_filled(buffers->in, (size_t)buffers->bytes, 1)) return;
  fprintf(stderr, "rank %d: a message of %d bytes arrived with other content than it was sent with\n", rank, buffers->bytes);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  default_sizes(&sizes, "16K,64K,1M", "64K,1M");
  const double budget = quick ? 0.05 : 0.3;
  for (int s = 0; s < sizes.count; ++s) {
    char* const out = page_with(sizes.values[s]);
    char* const in = page_with(sizes.values[s]);
    for (unsigned call = 0; call < sizeof calls / sizeof *calls; ++call) {
      for (unsigned place = 0; place < sizeof places / sizeof *places; ++place) {
        Buffers buffers = {out + places[place].send, in + places[place].receive, (int)sizes.values[s]};
        fill(buffers.out, sizes.values[s], 1);
        Samples samples = {0};
        measure_in(MPI_COMM_WORLD, calls[call].run, &buffers, budget, 2e-4, &samples);
        if (call < 2) check(&buffers); /* collectives bring what both ranks have sent */
        scale_samples(&samples, 1e6 * calls[call].share);
        char series[80];
        snprintf(series, sizeof series, "%s, %s", calls[call].name, places[place].name);
        if (rank == 0) report(&program, (Figure){series, "us", "lower", (double)sizes.values[s], "message size", "B"}, &samples);
        free(samples.values);
      }
    }
    free(out);
    free(in);
  }
  return MPI_Finalize();
}
