/* All-to-alls of unequal blocks, one after the other, whose lengths change: by the area that ranks share long blocks go in as many rounds as the call
   before has shown to be needed, which all ranks must know alike. Short and long calls take turns, blocks of one call are of all lengths (of 300 bytes to
   3 MB), calls that are not blocking go between, some ranks' types have gaps, buffers are MPI_IN_PLACE, and a call in which lengths differ is told of and
   followed by others. The same on a second communicator. */
#include "check.h"

enum { kMostRanks = 8, kSteps = 30 };

static int rank, size;
static MPI_Datatype spaced; /* an int, and room for another */
static int *out, *in;
static int sent[kMostRanks], received[kMostRanks], sent_at[kMostRanks], received_at[kMostRanks];

static unsigned mixed(unsigned a, unsigned b, unsigned c) {
  unsigned x = a * 2654435761u ^ b * 2246822519u ^ c * 3266489917u;
  x ^= x >> 15;
  return x * 2246822519u >> 8;
}
/* Numbers that go from one rank to another in a step. */
static int length(int step, int from, int to) {
  static const int kinds[] = {75, 9000, 30000, 100000, 250000};
  const unsigned drawn = mixed((unsigned)step, (unsigned)from, (unsigned)to);
  if (step % 5 == 4) return 40;                               /* all short */
  if (step % 7 == 3) return drawn % 3 == 0 ? 0 : 20000;       /* many empty */
  if (step % 11 == 6) return from == 1 && to == 0 ? 750000 : 10; /* one that is very long */
  return kinds[drawn % 5] + (int)(drawn % 13);
}
static int number(int step, int from, int to, int i) {
  return (int)mixed((unsigned)(step * 64 + from * 8 + to), (unsigned)i, 7);
}

static void prepare(int step, int out_gap, int in_gap) {
  int ends_out = 0, ends_in = 0;
  for (int other = 0; other < size; ++other) {
    sent[other] = length(step, rank, other);
    received[other] = length(step, other, rank);
    sent_at[other] = ends_out;
    received_at[other] = ends_in;
    ends_out += sent[other];
    ends_in += received[other];
  }
  out = malloc(sizeof *out * (size_t)(ends_out * out_gap + 1));
  in = malloc(sizeof *in * (size_t)(ends_in * in_gap + 1));
  CHECK(out != NULL && in != NULL);
  memset(in, -1, sizeof *in * (size_t)(ends_in * in_gap + 1));
  for (int other = 0; other < size; ++other)
    for (int i = 0; i < sent[other]; ++i) out[(sent_at[other] + i) * out_gap] = number(step, rank, other, i);
}
static void check(int step, int gap) {
  for (int other = 0; other < size; ++other) {
    for (int i = 0; i < received[other]; ++i) {
      const int at = (received_at[other] + i) * gap;
      CHECK(in[at] == number(step, other, rank, i));
      CHECK(gap == 1 || in[at + 1] == -1);
    }
  }
  free(out);
  free(in);
}

static void exchange(int step, MPI_Comm comm) {
  const int out_gap = step % 6 == 1 && rank % 2 == 0 ? 2 : 1, in_gap = step % 6 == 2 && rank % 2 == 1 ? 2 : 1;
  const MPI_Datatype out_type = out_gap == 2 ? spaced : MPI_INT, in_type = in_gap == 2 ? spaced : MPI_INT;
  prepare(step, out_gap, in_gap);
  if (step % 4 == 3) {
    MPI_Request request;
    OK(MPI_Ialltoallv(out, sent, sent_at, out_type, in, received, received_at, in_type, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    OK(MPI_Alltoallv(out, sent, sent_at, out_type, in, received, received_at, in_type, comm));
  }
  check(step, in_gap);
}

/* Every rank gives the next one so much more than that one takes. */
static void exchange_wrongly(MPI_Comm comm, int most) {
  int class = 0;
  char* const from = calloc((size_t)(most * size), 1);
  char* const to = calloc((size_t)(most * size), 1);
  CHECK(from != NULL && to != NULL);
  for (int other = 0; other < size; ++other) {
    sent[other] = most;
    received[other] = other == (rank + size - 1) % size ? most / 2 : most;
    sent_at[other] = received_at[other] = other * most;
  }
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Error_class(MPI_Alltoallv(from, sent, sent_at, MPI_BYTE, to, received, received_at, MPI_BYTE, comm), &class));
  CHECK(class != MPI_SUCCESS);
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
  free(from);
  free(to);
}

static void exchange_in_place(MPI_Comm comm) {
  static int both[kMostRanks];
  for (int other = 0; other < size; ++other) {
    both[other] = rank * size + other;
    sent[other] = 1;
    sent_at[other] = other;
  }
  OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, both, sent, sent_at, MPI_INT, comm));
  for (int other = 0; other < size; ++other) CHECK(both[other] == other * size + rank);
}

static void run(MPI_Comm comm) {
  for (int step = 0; step < kSteps; ++step) {
    exchange(step, comm);
    if (step % 9 == 5) exchange_in_place(comm);
    if (step % 10 == 8) exchange_wrongly(comm, step < 15 ? 400 : 1 << 20);
  }
}

int main(int argc, char** argv) {
  MPI_Comm other;
  MPI_Datatype apart;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(size > 1 && size <= kMostRanks);
  OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &apart));
  OK(MPI_Type_contiguous(1, apart, &spaced));
  OK(MPI_Type_commit(&spaced));
  run(MPI_COMM_WORLD);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  run(other);
  OK(MPI_Comm_free(&other));
  OK(MPI_Type_free(&spaced));
  OK(MPI_Type_free(&apart));
  return MPI_Finalize();
}
