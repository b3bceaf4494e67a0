/* Datatypes across the wire: every constructor at both ends, sizes on both sides of the protocols' borders, random types
   against their packed form, and counts in statuses of partial messages. */
#include "check.h"

static int rank, size, right, left;

static unsigned state = 12345;
static int below(int n) { /* the same sequence on every rank */
  state = state * 1103515245u + 12345u;
  return (int)((state >> 16) % (unsigned)n);
}

/* A random type over some basic one; all of its places are at non-negative offsets. */
static MPI_Datatype random_type(int depth) {
  static MPI_Datatype basics[] = {0, 0, 0, 0, 0};
  basics[0] = MPI_CHAR, basics[1] = MPI_SHORT, basics[2] = MPI_INT, basics[3] = MPI_DOUBLE, basics[4] = MPI_FLOAT_INT;
  MPI_Datatype made, inner;
  if (depth == 0) {
    OK(MPI_Type_dup(basics[below(5)], &made));
    return made;
  }
  inner = random_type(depth - 1);
  const int n = 1 + below(3), block = 1 + below(3);
  MPI_Aint bound, extent;
  OK(MPI_Type_get_extent(inner, &bound, &extent));
  switch (below(8)) {
    case 0: OK(MPI_Type_contiguous(n, inner, &made)); break;
    case 1: OK(MPI_Type_vector(n, block, block + below(3), inner, &made)); break;
    case 2: OK(MPI_Type_create_hvector(n, block, extent * (block + below(2)), inner, &made)); break;
    case 3: {
      int lengths[3], places[3];
      for (int i = 0; i < n; ++i) lengths[i] = 1 + below(2), places[i] = 3 * (n - 1 - i);
      OK(MPI_Type_indexed(n, lengths, places, inner, &made));
      break;
    }
    case 4: {
      int places[3];
      for (int i = 0; i < n; ++i) places[i] = i * (block + below(2));
      OK(MPI_Type_create_indexed_block(n, block, places, inner, &made));
      break;
    }
    case 5: {
      MPI_Datatype types[2] = {inner, MPI_INT}, packed;
      int lengths[2] = {n, 2};
      MPI_Aint places[2] = {16, 32 + extent * n};
      OK(MPI_Type_create_struct(2, lengths, places, types, &packed));
      OK(MPI_Type_create_resized(packed, 0, places[1] + 8 * (1 + below(3)), &made));
      OK(MPI_Type_free(&packed));
      break;
    }
    case 6: {
      int sizes[2] = {n + 1, block + 2}, parts[2] = {n, block}, starts[2] = {1, 1};
      OK(MPI_Type_create_subarray(2, sizes, parts, starts, below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner, &made));
      break;
    }
    default: {
      int sizes[1] = {7}, how[1] = {below(2) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC};
      int arguments[1] = {MPI_DISTRIBUTE_DFLT_DARG}, processes[1] = {2};
      OK(MPI_Type_create_darray(2, below(2), 1, sizes, how, arguments, processes, MPI_ORDER_C, inner, &made));
    }
  }
  OK(MPI_Type_free(&inner));
  return made;
}

/* The packed form of what is received equals the packed form of what was sent; nothing is written between the places. */
static void exchange(MPI_Datatype type, int count, int tag) {
  MPI_Aint bound, extent, true_bound, true_extent;
  int bytes, packed = 0, packed_again = 0, got;
  OK(MPI_Type_get_extent(type, &bound, &extent));
  OK(MPI_Type_get_true_extent(type, &true_bound, &true_extent));
  OK(MPI_Type_size(type, &bytes));
  const size_t room = (size_t)(true_bound + true_extent + extent * (count > 0 ? count - 1 : 0)) + 64;
  unsigned char *out = malloc(room), *in = malloc(room), *sent, *received, *scattered = malloc(room);
  const size_t total = (size_t)bytes * (size_t)count;
  sent = malloc(total + 1);
  received = malloc(total + 1);
  fill_pattern(out, room, (unsigned)(left * 7 + tag)); /* what the left neighbour has, to compare with */
  OK(MPI_Pack(out, count, type, sent, (int)total, &packed, MPI_COMM_WORLD));
  CHECK((size_t)packed == total);
  fill_pattern(out, room, (unsigned)(rank * 7 + tag));

  MPI_Status status;
  memset(in, 0xa5, room);
  OK(MPI_Sendrecv(out, count, type, right, tag, in, count, type, left, tag, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, type, &got));
  CHECK(got == count || bytes == 0);
  OK(MPI_Pack(in, count, type, received, (int)total, &packed_again, MPI_COMM_WORLD));
  CHECK(memcmp(sent, received, total) == 0);
  /* Unpacking the same bytes into the same background gives the same memory. */
  memset(scattered, 0xa5, room);
  packed = 0;
  OK(MPI_Unpack(sent, (int)total, &packed, scattered, count, type, MPI_COMM_WORLD));
  CHECK(memcmp(scattered, in, room) == 0);

  /* As bytes in, as the type out. */
  memset(in, 0xa5, room);
  fill_pattern(out, room, (unsigned)(rank * 7 + tag));
  packed = 0;
  OK(MPI_Pack(out, count, type, received, (int)total, &packed, MPI_COMM_WORLD));
  OK(MPI_Sendrecv(received, packed, MPI_PACKED, right, tag, in, count, type, left, tag, MPI_COMM_WORLD, &status));
  CHECK(memcmp(scattered, in, room) == 0);
  free(out);
  free(in);
  free(sent);
  free(received);
  free(scattered);
}

static void random_types(int how_many) {
  static const int counts[] = {0, 1, 3, 50, 2000};
  for (int i = 0; i < how_many; ++i) {
    MPI_Datatype type = random_type(1 + below(3));
    OK(MPI_Type_commit(&type));
    for (int c = 0; c < 5; ++c) exchange(type, counts[c], i);
    OK(MPI_Type_free(&type));
  }
}

/* A matrix is transposed on its way. */
static void transposed(void) {
  enum { kRows = 300, kColumns = 200 };
  static int out[kRows][kColumns], in[kColumns][kRows];
  MPI_Datatype column, all;
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) out[i][j] = rank * 1000000 + i * 1000 + j;
  OK(MPI_Type_vector(kRows, 1, kColumns, MPI_INT, &column));
  OK(MPI_Type_create_hvector(kColumns, 1, sizeof(int), column, &all));
  OK(MPI_Type_commit(&all));
  OK(MPI_Sendrecv(out, 1, all, right, 0, in, kRows * kColumns, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) CHECK(in[j][i] == left * 1000000 + i * 1000 + j);
  OK(MPI_Type_free(&column));
  OK(MPI_Type_free(&all));
}

/* Fewer elements arrive than the receive has room for, and not a whole number of types. */
static void partial(void) {
  MPI_Datatype pair;
  MPI_Status status;
  int out[5] = {1, 2, 3, 4, 5}, in[8] = {0}, count;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Sendrecv(out, 5, MPI_INT, right, 0, in, 4, pair, left, 0, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, pair, &count));
  CHECK(count == MPI_UNDEFINED);
  OK(MPI_Get_elements(&status, pair, &count));
  CHECK(count == 5 && in[4] == 5 && in[5] == 0);
  OK(MPI_Type_free(&pair));
}

/* Addresses from MPI_BOTTOM; the type is freed while it is in use. */
static void absolute(void) {
  static int number, numbers[100000];
  int got[100001];
  int lengths[2] = {1, 100000};
  MPI_Aint places[2];
  MPI_Datatype types[2] = {MPI_INT, MPI_INT}, both;
  MPI_Request request;
  OK(MPI_Get_address(&number, &places[0]));
  OK(MPI_Get_address(numbers, &places[1]));
  OK(MPI_Type_create_struct(2, lengths, places, types, &both));
  OK(MPI_Type_commit(&both));
  number = rank;
  for (int i = 0; i < 100000; ++i) numbers[i] = rank + i;
  OK(MPI_Isend(MPI_BOTTOM, 1, both, right, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Type_free(&both));
  OK(MPI_Recv(got, 100001, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(got[0] == left);
  for (int i = 0; i < 100000; ++i) CHECK(got[i + 1] == left + i);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  random_types(argc > 1 ? atoi(argv[1]) : 60);
  transposed();
  partial();
  absolute();
  OK(MPI_Finalize());
  return 0;
}
