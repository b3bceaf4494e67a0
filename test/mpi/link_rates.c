/* Between hosts the ranks find out what a byte costs before some blocking call, and choose algorithms by it from there on. Around that call: calls that come
   again, pending and persistent ones, other communicators, and communicators that are made of these. */
#include "check.h"

static int rank, size;

enum { kDoubles = 2048, kCalls = 60 };

static void fill_doubles(double* numbers, int count, int seed) {
  for (int i = 0; i < count; ++i) numbers[i] = (i + seed) % 100 + rank;
}

static int has_sums(const double* sums, int count, int seed, int ranks, int rank_sum) {
  for (int i = 0; i < count; ++i)
    if (sums[i] != (double)((i + seed) % 100) * ranks + rank_sum) return 0;
  return 1;
}

static int has_world_sums(const double* sums, int count, int seed) {
  return has_sums(sums, count, seed, size, size * (size - 1) / 2);
}

/* Movements alone: measured once they have carried enough. Some are pending meanwhile, and one is persistent. */
static void movements(MPI_Comm comm) {
  enum { kBytes = 16 * 1024 };
  static unsigned char block[kBytes], pending[kBytes], lasting[kBytes];
  static unsigned char all[8 * kBytes];
  MPI_Request request, persistent;
  OK(MPI_Bcast_init(lasting, kBytes, MPI_BYTE, size - 1, comm, MPI_INFO_NULL, &persistent));
  for (int call = 0; call < kCalls; ++call) {
    const int root = call % size;
    if (rank == root) fill_pattern(pending, kBytes, (unsigned)call);
    if (rank == size - 1) fill_pattern(lasting, kBytes, (unsigned)call + 1);
    OK(MPI_Ibcast(pending, kBytes, MPI_BYTE, root, comm, &request));
    OK(MPI_Start(&persistent));
    if (rank == 0) fill_pattern(block, kBytes, (unsigned)call + 2);
    OK(MPI_Bcast(block, kBytes, MPI_BYTE, 0, comm));
    CHECK(is_pattern(block, kBytes, (unsigned)call + 2));
    fill_pattern(block, kBytes, (unsigned)(call + rank));
    OK(MPI_Allgather(block, kBytes, MPI_BYTE, all, kBytes, MPI_BYTE, comm));
    for (int from = 0; from < size; ++from) CHECK(is_pattern(all + from * kBytes, kBytes, (unsigned)(call + from)));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(is_pattern(pending, kBytes, (unsigned)call));
    OK(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
    CHECK(is_pattern(lasting, kBytes, (unsigned)call + 1));
  }
  OK(MPI_Request_free(&persistent));
}

static void reductions(MPI_Comm comm) {
  static double in[kDoubles], out[kDoubles], pending[kDoubles];
  MPI_Request request;
  for (int call = 0; call < kCalls; ++call) {
    const int count = call % 3 == 0 ? 8 : kDoubles; /* short ones go on as before */
    fill_doubles(in, kDoubles, call);
    OK(MPI_Iallreduce(in, pending, kDoubles, MPI_DOUBLE, MPI_SUM, comm, &request));
    OK(MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm));
    CHECK(has_world_sums(out, count, call));
    OK(MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, call % size, comm));
    if (rank == call % size) CHECK(has_world_sums(out, count, call));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(has_world_sums(pending, kDoubles, call));
  }
}

/* Halves, of which each measures for itself if the whole has not. */
static void halves(MPI_Comm comm) {
  static double in[kDoubles], out[kDoubles];
  MPI_Comm half;
  int members, sum = 0;
  OK(MPI_Comm_split(comm, rank % 2, 0, &half));
  OK(MPI_Comm_size(half, &members));
  for (int other = rank % 2; other < size; other += 2) sum += other;
  for (int call = 0; call < 10; ++call) {
    fill_doubles(in, kDoubles, call);
    OK(MPI_Allreduce(in, out, kDoubles, MPI_DOUBLE, MPI_SUM, half));
    CHECK(has_sums(out, kDoubles, call, members, sum));
  }
  OK(MPI_Comm_free(&half));
}

/* Made of one that never measured, each with another rank 0, of which some were in communicators that did. */
static void rotations(MPI_Comm comm, int members) {
  static double in[kDoubles], out[kDoubles];
  for (int first = 0; first < size; ++first) {
    const int place = (rank - first + size) % size;
    MPI_Comm rotated;
    OK(MPI_Comm_split(comm, place < members ? 0 : MPI_UNDEFINED, place, &rotated));
    if (rotated == MPI_COMM_NULL) continue;
    int sum = 0;
    for (int each = 0; each < members; ++each) sum += (first + each) % size;
    for (int call = 0; call < 3; ++call) {
      fill_doubles(in, kDoubles, call);
      OK(MPI_Allreduce(in, out, kDoubles, MPI_DOUBLE, MPI_SUM, rotated));
      CHECK(has_sums(out, kDoubles, call, members, sum));
    }
    OK(MPI_Comm_free(&rotated));
  }
}

int main(int argc, char** argv) {
  MPI_Comm moving, reducing, again;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(size <= 8);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &moving));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &reducing));
  halves(MPI_COMM_WORLD);
  rotations(MPI_COMM_WORLD, (size + 1) / 2);
  rotations(MPI_COMM_WORLD, size);
  movements(moving);
  reductions(reducing);
  OK(MPI_Comm_dup(reducing, &again));
  OK(MPI_Comm_free(&reducing));
  reductions(again);
  movements(again);
  halves(again);
  OK(MPI_Comm_free(&again));
  OK(MPI_Comm_free(&moving));
  OK(MPI_Finalize());
  return 0;
}
