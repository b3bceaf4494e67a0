/* Collectives whose buffers are MPI_BOTTOM on both sides, and whose types say where the data lie: the addresses of the two calls' arguments are equal
   though the data are not. In one run, and with gaps. Each twice, with other types for the same place the second time. */
#include "check.h"

enum { kMostRanks = 8, kMost = 40000 };

static int rank, size;
static int out[2 * kMostRanks * kMost], in[2 * kMostRanks * kMost];
static MPI_Datatype out_type, in_type;
static int elements, gap; /* of a block; from one number to the next */
static int ones[kMostRanks], places[kMostRanks];
static int other_ones[kMostRanks];
static MPI_Comm ring;

/* `elements` numbers from there on, so that blocks of this type follow each other. */
static MPI_Datatype type_at(int* first) {
  MPI_Datatype numbers, apart, there, followed;
  MPI_Aint address;
  const int one = 1;
  OK(MPI_Get_address(first, &address));
  OK(MPI_Type_vector(elements, 1, gap, MPI_INT, &numbers));
  OK(MPI_Type_create_resized(numbers, 0, (MPI_Aint)(sizeof(int)) * elements * gap, &apart));
  OK(MPI_Type_create_hindexed(1, &one, &address, apart, &there));
  OK(MPI_Type_create_resized(there, 0, (MPI_Aint)(sizeof(int)) * elements * gap, &followed));
  OK(MPI_Type_commit(&followed));
  OK(MPI_Type_free(&there));
  OK(MPI_Type_free(&apart));
  OK(MPI_Type_free(&numbers));
  return followed;
}

static int number(int from, int to, int i) {
  return from * 1000003 + to * 70001 + i;
}

/* Block `block` is what this rank has for the rank `block`. */
static void begin(void) {
  for (int block = 0; block < size; ++block)
    for (int i = 0; i < elements; ++i) out[(block * elements + i) * gap] = number(rank, block, i);
  memset(in, -1, sizeof in[0] * (size_t)(size * elements * gap));
  out_type = type_at(out);
  in_type = type_at(in);
}
static void end(void) {
  OK(MPI_Type_free(&out_type));
  OK(MPI_Type_free(&in_type));
}
static void check_block(int block, int from, int to) {
  for (int i = 0; i < elements; ++i) CHECK(in[(block * elements + i) * gap] == number(from, to, i));
  for (int i = 0; i < elements && gap > 1; ++i) CHECK(in[(block * elements + i) * gap + 1] == -1);
}
static void check_untouched(int block) {
  for (int i = 0; i < elements * gap; ++i) CHECK(in[block * elements * gap + i] == -1);
}

static void allgather(void) {
  OK(MPI_Allgather(MPI_BOTTOM, 1, out_type, MPI_BOTTOM, 1, in_type, MPI_COMM_WORLD));
  for (int block = 0; block < size; ++block) check_block(block, block, 0);
}
static void allgatherv(void) {
  OK(MPI_Allgatherv(MPI_BOTTOM, 1, out_type, MPI_BOTTOM, ones, places, in_type, MPI_COMM_WORLD));
  for (int block = 0; block < size; ++block) check_block(block, block, 0);
}
static void gather(void) {
  OK(MPI_Gather(MPI_BOTTOM, 1, out_type, MPI_BOTTOM, 1, in_type, size - 1, MPI_COMM_WORLD));
  for (int block = 0; block < size; ++block) rank == size - 1 ? check_block(block, block, 0) : check_untouched(block);
}
static void gatherv(void) {
  OK(MPI_Gatherv(MPI_BOTTOM, 1, out_type, MPI_BOTTOM, ones, places, in_type, 0, MPI_COMM_WORLD));
  for (int block = 0; block < size; ++block) rank == 0 ? check_block(block, block, 0) : check_untouched(block);
}
static void scatter(void) {
  OK(MPI_Scatter(MPI_BOTTOM, 1, out_type, MPI_BOTTOM, 1, in_type, size - 1, MPI_COMM_WORLD));
  check_block(0, size - 1, rank);
}
static void scatterv(void) {
  OK(MPI_Scatterv(MPI_BOTTOM, ones, places, out_type, MPI_BOTTOM, 1, in_type, 0, MPI_COMM_WORLD));
  check_block(0, 0, rank);
}
static void alltoall(void) {
  OK(MPI_Alltoall(MPI_BOTTOM, 1, out_type, MPI_BOTTOM, 1, in_type, MPI_COMM_WORLD));
  for (int block = 0; block < size; ++block) check_block(block, block, rank);
}
static void alltoallv(void) {
  OK(MPI_Alltoallv(MPI_BOTTOM, ones, places, out_type, MPI_BOTTOM, other_ones, places, in_type, MPI_COMM_WORLD));
  for (int block = 0; block < size; ++block) check_block(block, block, rank);
}
static void alltoallw(void) {
  MPI_Datatype out_types[kMostRanks], in_types[kMostRanks];
  const int none[kMostRanks] = {0};
  for (int block = 0; block < size; ++block) {
    out_types[block] = type_at(out + block * elements * gap);
    in_types[block] = type_at(in + block * elements * gap);
  }
  OK(MPI_Alltoallw(MPI_BOTTOM, ones, none, out_types, MPI_BOTTOM, other_ones, none, in_types, MPI_COMM_WORLD));
  for (int block = 0; block < size; ++block) {
    check_block(block, block, rank);
    OK(MPI_Type_free(&out_types[block]));
    OK(MPI_Type_free(&in_types[block]));
  }
}
static void bcast(void) {
  OK(MPI_Bcast(MPI_BOTTOM, 1, rank == 0 ? out_type : in_type, 0, MPI_COMM_WORLD));
  if (rank != 0) check_block(0, 0, 0);
}
/* The numbers of a ring's neighbours are -1 and +1; with two ranks both are the same. */
static void neighbours(void) {
  OK(MPI_Neighbor_alltoall(MPI_BOTTOM, 1, out_type, MPI_BOTTOM, 1, in_type, ring));
  check_block(0, (rank + size - 1) % size, 1);
  check_block(1, (rank + 1) % size, 0);
}
static void itself(void) {
  OK(MPI_Sendrecv(MPI_BOTTOM, 1, out_type, rank, 0, MPI_BOTTOM, 1, in_type, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  check_block(0, rank, 0);
}
static void next(void) {
  OK(MPI_Sendrecv(MPI_BOTTOM, 1, out_type, (rank + 1) % size, 0, MPI_BOTTOM, 1, in_type, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  check_block(0, (rank + size - 1) % size, 0);
}

int main(int argc, char** argv) {
  static void (*const operations[])(void) = {allgather, allgatherv, gather, gatherv,    scatter, scatterv, alltoall,
                                             alltoallv, alltoallw,  bcast,  neighbours, itself,  next};
  static const int lengths[] = {1, 2, 50, 1000, 9000, kMost};
  const int round = 1;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(size >= 2 && size <= kMostRanks);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &round, 0, &ring));
  for (int i = 0; i < size; ++i) ones[i] = other_ones[i] = 1, places[i] = i;
  for (size_t length = 0; length < sizeof lengths / sizeof *lengths; ++length) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i) {
      for (int time = 0; time < 4; ++time) {
        elements = lengths[length], gap = 1 + time % 2;
        begin();
        operations[i]();
        end();
      }
    }
  }
  OK(MPI_Comm_free(&ring));
  OK(MPI_Finalize());
  return 0;
}
