/* Every collective on MPI_COMM_WORLD in its three forms (blocking, non-blocking, persistent), in place and not, short and long,
   with predefined operations, with one of ours that does not commute, and on types with gaps.

   An argument is the number of counts to go through, for many ranks on few cores. */
#include "check.h"

static int rank, size;

enum { kBlocking, kNonblocking, kPersistent, kForms };

/* A persistent operation is started twice. */
#define RUN(form, Name, Iname, ...)                               \
  do {                                                            \
    MPI_Request request_ = MPI_REQUEST_NULL;                      \
    if ((form) == kBlocking) {                                    \
      OK(MPI_##Name(__VA_ARGS__));                                \
    } else if ((form) == kNonblocking) {                          \
      OK(MPI_##Iname(__VA_ARGS__, &request_));                    \
      OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                 \
      CHECK(request_ == MPI_REQUEST_NULL);                        \
    } else {                                                      \
      OK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_)); \
      OK(MPI_Start(&request_));                                   \
      OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                 \
      CHECK(request_ != MPI_REQUEST_NULL);                        \
      OK(MPI_Request_free(&request_));                            \
    }                                                             \
  } while (0)

static const int kCounts[] = {0, 1, 7, 1000, 60000};
enum { kCountsUsed = sizeof(kCounts) / sizeof(kCounts[0]) };

/* What rank `from` has for rank `to`. */
static int value(int from, int to, int i) { return from * 1000003 + to * 1009 + i * 7; }
static int* ints(size_t count) {
  int* made = malloc((count + 1) * sizeof(int));
  CHECK(made);
  for (size_t i = 0; i <= count; ++i) made[i] = -12345;
  return made;
}

static void barrier(int form) { RUN(form, Barrier, Ibarrier, MPI_COMM_WORLD); }

static void bcast(int form, int count) {
  for (int root = 0; root < size; ++root) {
    int* data = ints(count);
    for (int i = 0; rank == root && i < count; ++i) data[i] = value(root, 0, i);
    RUN(form, Bcast, Ibcast, data, count, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) CHECK(data[i] == value(root, 0, i));
    CHECK(data[count] == -12345);
    free(data);
  }
}

/* The root has a column of a matrix, the others receive it as a row. */
static void bcast_of_a_vector(int form, int count) {
  MPI_Datatype column;
  int* data = ints(3 * (size_t)count);
  OK(MPI_Type_vector(count, 1, 3, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  for (int i = 0; rank == 0 && i < count; ++i) data[3 * i] = value(1, 2, i);
  if (rank == 0) {
    RUN(form, Bcast, Ibcast, data, 1, column, 0, MPI_COMM_WORLD);
  } else {
    RUN(form, Bcast, Ibcast, data, count, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) CHECK(data[i] == value(1, 2, i));
  }
  OK(MPI_Type_free(&column));
  free(data);
}

static void gather_and_scatter(int form, int count) {
  for (int root = 0; root < size; root += size > 3 ? 3 : 1) {
    for (int in_place = 0; in_place < 2; ++in_place) {
      int* mine = ints(count);
      int* all = rank == root ? ints((size_t)count * size) : NULL;
      int* own = rank == root ? all + (size_t)rank * count : NULL;
      for (int i = 0; i < count; ++i) mine[i] = value(rank, root, i);
      if (rank == root && in_place) {
        if (count) memcpy(own, mine, count * sizeof(int));
        RUN(form, Gather, Igather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, root, MPI_COMM_WORLD);
      } else if (rank == root) {
        RUN(form, Gather, Igather, mine, count, MPI_INT, all, count, MPI_INT, root, MPI_COMM_WORLD);
      } else {
        RUN(form, Gather, Igather, mine, count, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
      }
      for (int from = 0; rank == root && from < size; ++from) {
        for (int i = 0; i < count; ++i) CHECK(all[(size_t)from * count + i] == value(from, root, i));
      }
      /* And back: everybody gets the own block again. */
      for (int i = 0; i < count; ++i) mine[i] = 0;
      if (rank == root && in_place) {
        RUN(form, Scatter, Iscatter, all, count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
      } else if (rank == root) {
        RUN(form, Scatter, Iscatter, all, count, MPI_INT, mine, count, MPI_INT, root, MPI_COMM_WORLD);
      } else {
        RUN(form, Scatter, Iscatter, NULL, -1, MPI_DATATYPE_NULL, mine, count, MPI_INT, root, MPI_COMM_WORLD);
      }
      for (int i = 0; i < count && !(rank == root && in_place); ++i) CHECK(mine[i] == value(rank, root, i));
      free(mine);
      free(all);
    }
  }
}

/* Rank r has r % 4 * count elements: some have none. */
static int uneven(int of, int count) { return of % 4 * count; }

static void uneven_gather_and_scatter(int form, int count) {
  int* counts = ints(size);
  int* starts = ints(size);
  int total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = uneven(r, count);
    starts[r] = total;
    total += counts[r] + 1;
  }
  int* mine = ints(counts[rank]);
  int* all = ints(total);
  const int root = size / 2;
  for (int i = 0; i < counts[rank]; ++i) mine[i] = value(rank, root, i);
  RUN(form, Gatherv, Igatherv, mine, counts[rank], MPI_INT, all, counts, starts, MPI_INT, root, MPI_COMM_WORLD);
  for (int from = 0; rank == root && from < size; ++from) {
    for (int i = 0; i < counts[from]; ++i) CHECK(all[starts[from] + i] == value(from, root, i));
    CHECK(all[starts[from] + counts[from]] == -12345);
  }
  for (int i = 0; i < counts[rank]; ++i) mine[i] = 0;
  RUN(form, Scatterv, Iscatterv, all, counts, starts, MPI_INT, mine, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < counts[rank]; ++i) CHECK(mine[i] == value(rank, root, i));

  for (int in_place = 0; in_place < 2; ++in_place) {
    for (int i = 0; i < total; ++i) all[i] = -12345;
    for (int i = 0; in_place && i < counts[rank]; ++i) all[starts[rank] + i] = mine[i];
    RUN(form, Allgatherv, Iallgatherv, in_place ? MPI_IN_PLACE : mine, counts[rank], MPI_INT, all, counts, starts, MPI_INT,
        MPI_COMM_WORLD);
    for (int from = 0; from < size; ++from) {
      for (int i = 0; i < counts[from]; ++i) CHECK(all[starts[from] + i] == value(from, root, i));
      CHECK(all[starts[from] + counts[from]] == -12345);
    }
  }
  free(mine);
  free(all);
  free(counts);
  free(starts);
}

static void allgather(int form, int count) {
  for (int in_place = 0; in_place < 2; ++in_place) {
    int* mine = ints(count);
    int* all = ints((size_t)count * size);
    for (int i = 0; i < count; ++i) mine[i] = value(rank, 0, i);
    if (in_place && count) memcpy(all + (size_t)rank * count, mine, count * sizeof(int));
    RUN(form, Allgather, Iallgather, in_place ? MPI_IN_PLACE : mine, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < size; ++from) {
      for (int i = 0; i < count; ++i) CHECK(all[(size_t)from * count + i] == value(from, 0, i));
    }
    free(mine);
    free(all);
  }
}

static void alltoall(int form, int count) {
  for (int in_place = 0; in_place < 2; ++in_place) {
    int* out = ints((size_t)count * size);
    int* in = ints((size_t)count * size);
    for (int to = 0; to < size; ++to) {
      for (int i = 0; i < count; ++i) out[(size_t)to * count + i] = in[(size_t)to * count + i] = value(rank, to, i);
    }
    RUN(form, Alltoall, Ialltoall, in_place ? MPI_IN_PLACE : out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < size; ++from) {
      for (int i = 0; i < count; ++i) CHECK(in[(size_t)from * count + i] == value(from, rank, i));
    }
    free(out);
    free(in);
  }
}

/* Between ranks a and b go (a + b) % 3 * count elements, so that in place makes sense too. */
static void uneven_alltoall(int form, int count, int with_types) {
  int* counts = ints(size);
  int* starts = ints(size);
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * size);
  int total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = (rank + r) % 3 * count;
    starts[r] = total * (with_types ? (int)sizeof(int) : 1);
    types[r] = MPI_INT;
    total += counts[r];
  }
  for (int in_place = 0; in_place < 2; ++in_place) {
    int* out = ints(total);
    int* in = ints(total);
    for (int to = 0, k = 0; to < size; ++to) {
      for (int i = 0; i < counts[to]; ++i, ++k) out[k] = in[k] = value(rank, to, i);
    }
    const void* from_buffer = in_place ? MPI_IN_PLACE : out;
    if (with_types) {
      RUN(form, Alltoallw, Ialltoallw, from_buffer, counts, starts, types, in, counts, starts, types, MPI_COMM_WORLD);
    } else {
      RUN(form, Alltoallv, Ialltoallv, from_buffer, counts, starts, MPI_INT, in, counts, starts, MPI_INT, MPI_COMM_WORLD);
    }
    for (int from = 0, k = 0; from < size; ++from) {
      for (int i = 0; i < counts[from]; ++i, ++k) CHECK(in[k] == value(from, rank, i));
    }
    free(out);
    free(in);
  }
  free(counts);
  free(starts);
  free(types);
}

static int sum_to(int last, int i) {
  unsigned sum = 0;
  for (int r = 0; r <= last; ++r) sum += (unsigned)value(r, 0, i);
  return (int)sum;
}

static void sums(int form, int count) {
  for (int in_place = 0; in_place < 2; ++in_place) {
    int* in = ints((size_t)count * size);
    int* out = ints((size_t)count * size);
    const size_t total = (size_t)count * size;
#define RESET()                                                           \
  do {                                                                    \
    for (size_t i = 0; i < total; ++i) in[i] = out[i] = value(rank, 0, (int)i); \
  } while (0)
    const void* from = in_place ? MPI_IN_PLACE : in;
    RESET();
    RUN(form, Allreduce, Iallreduce, from, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) CHECK(out[i] == sum_to(size - 1, i));
    for (int root = 0; root < size; root += 2) {
      RESET();
      RUN(form, Reduce, Ireduce, rank == root ? from : in, rank == root ? out : NULL, count, MPI_INT, MPI_SUM, root,
          MPI_COMM_WORLD);
      for (int i = 0; rank == root && i < count; ++i) CHECK(out[i] == sum_to(size - 1, i));
    }
    RESET();
    RUN(form, Reduce_scatter_block, Ireduce_scatter_block, from, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) CHECK(out[i] == sum_to(size - 1, rank * count + i));
    RESET();
    RUN(form, Scan, Iscan, from, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) CHECK(out[i] == sum_to(rank, i));
    RESET();
    RUN(form, Exscan, Iexscan, from, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; rank > 0 && i < count; ++i) CHECK(out[i] == sum_to(rank - 1, i));

    int* counts = ints(size);
    int before = 0;
    for (int r = 0; r < size; ++r) counts[r] = r % 2 ? count : count / 2;
    for (int r = 0; r < rank; ++r) before += counts[r];
    RESET();
    RUN(form, Reduce_scatter, Ireduce_scatter, from, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < counts[rank]; ++i) CHECK(out[i] == sum_to(size - 1, before + i));
    free(counts);
    free(in);
    free(out);
#undef RESET
  }
}

/* x -> a x + b as (a, b) modulo 2^32: composing such functions is associative and does not commute. */
typedef struct {
  unsigned a, b;
} Affine;

static Affine affine(int of, int i) {
  Affine made = {(unsigned)(2 * of + 3 + i), (unsigned)(of * of + 7 * i + 1)};
  return made;
}
static Affine after(Affine first, Affine second) {
  Affine made = {first.a * second.a, second.a * first.b + second.b};
  return made;
}
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  Affine* lower = in;
  Affine* upper = inout;
  for (int i = 0; i < *count; ++i) upper[i] = after(lower[i], upper[i]);
}
static Affine composed(int first, int last, int i) {
  Affine all = affine(first, i);
  for (int r = first + 1; r <= last; ++r) all = after(all, affine(r, i));
  return all;
}
static int same(Affine x, Affine y) { return x.a == y.a && x.b == y.b; }

static void own_operation(int form, int count) {
  MPI_Op op;
  MPI_Datatype type;
  Affine* in = malloc(sizeof(Affine) * ((size_t)count * size + 1));
  Affine* out = malloc(sizeof(Affine) * ((size_t)count * size + 1));
  OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(compose, 0, &op));
  for (int i = 0; i < count * size; ++i) in[i] = affine(rank, i);
  RUN(form, Allreduce, Iallreduce, in, out, count, type, op, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) CHECK(same(out[i], composed(0, size - 1, i)));
  for (int root = 0; root < size; ++root) {
    RUN(form, Reduce, Ireduce, in, out, count, type, op, root, MPI_COMM_WORLD);
    for (int i = 0; rank == root && i < count; ++i) CHECK(same(out[i], composed(0, size - 1, i)));
  }
  RUN(form, Reduce_scatter_block, Ireduce_scatter_block, in, out, count, type, op, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) CHECK(same(out[i], composed(0, size - 1, rank * count + i)));
  RUN(form, Scan, Iscan, in, out, count, type, op, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) CHECK(same(out[i], composed(0, rank, i)));
  RUN(form, Exscan, Iexscan, in, out, count, type, op, MPI_COMM_WORLD);
  for (int i = 0; rank > 0 && i < count; ++i) CHECK(same(out[i], composed(0, rank - 1, i)));
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&type));
  free(in);
  free(out);
}

static void pairs(void) {
  struct {
    double value;
    int index;
  } in = {(double)((rank * 5) % 7), rank}, out;
  int best = 0;
  for (int r = 1; r < size; ++r) {
    if ((r * 5) % 7 > (best * 5) % 7) best = r;
  }
  OK(MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
  CHECK(out.index == best && out.value == (double)((best * 5) % 7));
}

/* The rounding of a sum depends on its order; all ranks must see the same. */
static void same_bits(void) {
  for (int count = 1; count <= 100000; count *= 10) {
    double* in = malloc(sizeof(double) * count);
    double* out = malloc(sizeof(double) * count);
    double* first = malloc(sizeof(double) * count);
    for (int i = 0; i < count; ++i) in[i] = 1.0 / (rank * 3 + i + 1) * (i % 2 ? -1e8 : 1);
    OK(MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    memcpy(first, out, sizeof(double) * count);
    OK(MPI_Bcast(first, count, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    CHECK(memcmp(first, out, sizeof(double) * count) == 0);
    free(in);
    free(out);
    free(first);
  }
}

/* A periodic ring, in which both neighbours may be the same process, or oneself. */
static void neighbors(int form, int count) {
  MPI_Comm ring;
  const int periodic = 1;
  const int left = (rank - 1 + size) % size, right = (rank + 1) % size;
  int* out = ints(2 * (size_t)count);
  int* in = ints(2 * (size_t)count);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring));
  for (int i = 0; i < 2 * count; ++i) out[i] = value(rank, i / (count ? count : 1), i % (count ? count : 1));
  RUN(form, Neighbor_allgather, Ineighbor_allgather, out, count, MPI_INT, in, count, MPI_INT, ring);
  for (int i = 0; i < count; ++i) CHECK(in[i] == value(left, 0, i) && in[count + i] == value(right, 0, i));
  RUN(form, Neighbor_alltoall, Ineighbor_alltoall, out, count, MPI_INT, in, count, MPI_INT, ring);
  for (int i = 0; i < count; ++i) CHECK(in[i] == value(left, 1, i) && in[count + i] == value(right, 0, i));
  const int counts[2] = {count, count}, starts[2] = {0, count};
  const MPI_Aint places[2] = {0, (MPI_Aint)count * sizeof(int)};
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  for (int i = 0; i < 2 * count; ++i) in[i] = 0;
  RUN(form, Neighbor_allgatherv, Ineighbor_allgatherv, out, count, MPI_INT, in, counts, starts, MPI_INT, ring);
  for (int i = 0; i < count; ++i) CHECK(in[i] == value(left, 0, i) && in[count + i] == value(right, 0, i));
  RUN(form, Neighbor_alltoallv, Ineighbor_alltoallv, out, counts, starts, MPI_INT, in, counts, starts, MPI_INT, ring);
  for (int i = 0; i < count; ++i) CHECK(in[i] == value(left, 1, i) && in[count + i] == value(right, 0, i));
  for (int i = 0; i < 2 * count; ++i) in[i] = 0;
  RUN(form, Neighbor_alltoallw, Ineighbor_alltoallw, out, counts, places, types, in, counts, places, types, ring);
  for (int i = 0; i < count; ++i) CHECK(in[i] == value(left, 1, i) && in[count + i] == value(right, 0, i));
  OK(MPI_Comm_free(&ring));
  free(out);
  free(in);
}

/* Pieces without entries may have any type, and entries may have no bytes. */
static void touch_nothing(void* in, void* inout, int* count, MPI_Datatype* type) {}
static void nothing_at_all(int form) {
  MPI_Comm ring;
  MPI_Datatype empty;
  MPI_Op op;
  const int periodic = 1, counts[2] = {0, 0};
  const MPI_Aint places[2] = {0, 0};
  const MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  int out = 1, in = 2;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring));
  RUN(form, Neighbor_alltoallw, Ineighbor_alltoallw, &out, counts, places, types, &in, counts, places, types, ring);
  OK(MPI_Comm_free(&ring));
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Op_create(touch_nothing, 0, &op));
  RUN(form, Scan, Iscan, &out, &in, 4, empty, op, MPI_COMM_WORLD);
  RUN(form, Exscan, Iexscan, &out, &in, 4, empty, op, MPI_COMM_WORLD);
  RUN(form, Reduce, Ireduce, &out, &in, 4, empty, op, size - 1, MPI_COMM_WORLD);
  CHECK(out == 1 && in == 2);
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&empty));
}

/* Even ranks and odd ranks, as two groups. */
static void between_groups(int form) {
  if (size < 2) return;
  MPI_Comm half, inter;
  int others, own;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter));
  OK(MPI_Comm_remote_size(inter, &others));
  OK(MPI_Comm_size(inter, &own));
  int total = 0, expected = 0, mine = rank + 1, roots;
  for (int r = 0; r < others; ++r) expected += 2 * r + (1 - rank % 2) + 1;
  RUN(form, Barrier, Ibarrier, inter);
  RUN(form, Allreduce, Iallreduce, &mine, &total, 1, MPI_INT, MPI_SUM, inter);
  CHECK(total == expected);
  int* all = ints(size);
  RUN(form, Allgather, Iallgather, &mine, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int r = 0; r < others; ++r) CHECK(all[r] == 2 * r + (1 - rank % 2) + 1);
  for (int even = 0; even < 2; ++even) {
    const int here = rank % 2 == even;
    const int root = here ? (rank == even ? MPI_ROOT : MPI_PROC_NULL) : 0;
    roots = rank == even ? 4711 + even : 0;
    RUN(form, Bcast, Ibcast, &roots, 1, MPI_INT, root, inter);
    CHECK(here || roots == 4711 + even);
    total = -1;
    RUN(form, Reduce, Ireduce, &mine, &total, 1, MPI_INT, MPI_SUM, root, inter);
    CHECK(rank != even || total == expected);
    RUN(form, Gather, Igather, &mine, 1, MPI_INT, all, 1, MPI_INT, root, inter);
    for (int r = 0; rank == even && r < others; ++r) CHECK(all[r] == 2 * r + (1 - rank % 2) + 1);
    int got = -1;
    for (int r = 0; r < others; ++r) all[r] = 100 + r;
    RUN(form, Scatter, Iscatter, all, 1, MPI_INT, &got, 1, MPI_INT, root, inter);
    CHECK(here || got == 100 + rank / 2);
  }
  free(all);
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&half));
}

/* Many non-blocking operations at once, completed in another order; between them a blocking one. */
static void many_at_once(void) {
  enum { kMany = 64 };
  MPI_Request requests[kMany];
  int in[kMany], out[kMany], sum;
  for (int i = 0; i < kMany; ++i) {
    in[i] = rank + i;
    OK(MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]));
    if (i == kMany / 2) {
      OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
      CHECK(sum == size * (size - 1) / 2);
    }
  }
  for (int i = kMany - 1; i >= 0; --i) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  for (int i = 0; i < kMany; ++i) CHECK(out[i] == size * i + size * (size - 1) / 2);
}

static void errors(void) {
  int in = 1, out = 0;
  float x = 1, y = 0;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_Allreduce(&x, &y, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
  FAILS(MPI_Bcast(&in, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
  FAILS(MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
  FAILS(MPI_Neighbor_allgather(&in, 1, MPI_INT, &out, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
  MPI_Comm ring;
  const int periodic = 1, negative[2] = {1, -1}, one[2] = {1, 1}, starts[2] = {0, 1};
  int two[2] = {1, 2}, also[2];
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring));
  FAILS(MPI_Neighbor_alltoallv(two, negative, starts, MPI_INT, also, one, starts, MPI_INT, ring), MPI_ERR_COUNT);
  FAILS(MPI_Neighbor_alltoallv(two, NULL, starts, MPI_INT, also, one, starts, MPI_INT, ring), MPI_ERR_ARG);
  FAILS(MPI_Neighbor_allgatherv(two, 1, MPI_INT, also, one, NULL, MPI_INT, ring), MPI_ERR_ARG);
  OK(MPI_Comm_free(&ring));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* A call that all ranks refuse is none, wherever it stands among those by which ways are tried. */
static void refused_by_all(void) {
  enum { kBytes = 8192, kCalls = 40 };
  MPI_Comm copy;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
  char* out = malloc((size_t)kBytes * size);
  char* in = malloc((size_t)kBytes * size);
  for (int i = 0; i < 300; ++i) OK(MPI_Barrier(copy)); /* by then ranks copy directly, where they can */
  for (int call = 0; call < kCalls; ++call) {
    memset(out, 'a' + (rank + call) % 20, (size_t)kBytes * size);
    if (size > 1) FAILS(MPI_Alltoall(out, kBytes, MPI_CHAR, out, kBytes, MPI_CHAR, copy), MPI_ERR_BUFFER);
    OK(MPI_Alltoall(out, kBytes, MPI_CHAR, in, kBytes, MPI_CHAR, copy));
    for (int i = 0; i < size; ++i) CHECK(in[i * kBytes] == 'a' + (i + call) % 20 && in[(i + 1) * kBytes - 1] == 'a' + (i + call) % 20);
  }
  free(out);
  free(in);
  OK(MPI_Comm_free(&copy));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int counts_used = argc > 1 ? atoi(argv[1]) : kCountsUsed;
  CHECK(counts_used <= kCountsUsed);
  for (int form = 0; form < kForms; ++form) {
    barrier(form);
    for (int c = 0; c < counts_used; ++c) {
      const int count = kCounts[c];
      const int block = count > 5000 ? 5000 : count; /* of which everybody has one for each */
      bcast(form, count);
      bcast_of_a_vector(form, count);
      gather_and_scatter(form, block);
      uneven_gather_and_scatter(form, block);
      allgather(form, block);
      alltoall(form, block);
      uneven_alltoall(form, block, 0);
      uneven_alltoall(form, block, 1);
      sums(form, count);
      own_operation(form, block);
      neighbors(form, count);
    }
    nothing_at_all(form);
    between_groups(form);
  }
  pairs();
  same_bits();
  many_at_once();
  errors();
  refused_by_all();
  OK(MPI_Finalize());
  return 0;
}
