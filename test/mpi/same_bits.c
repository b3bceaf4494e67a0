/* Allreduces of NaNs and numbers, of zeros with either sign, and of pairs of them: all ranks get the same bits. */
#include "check.h"

#include <stdint.h>

enum { kMost = 200000, kAgain = 3 }; /* a call that comes again runs at once */

static int rank;

struct pair {
  float value;
  int index;
};

/* A NaN that tells the rank, a zero with either sign, a number. */
static float element(int from, int i) {
  const uint32_t nan = 0x7fc00000u | (uint32_t)(from + 1);
  float value = (float)(from + 1);
  switch ((i / 4 * (2 * from + 1) + i + from) % 4) {
    case 0:
      memcpy(&value, &nan, sizeof value);
      return value;
    case 1:
      return 0.0f;
    case 2:
      return -0.0f;
    default:
      return value;
  }
}

static size_t size_of(MPI_Datatype type) {
  int bytes;
  OK(MPI_Type_size(type, &bytes));
  return (size_t)bytes;
}

static void fill(void* buffer, int count, MPI_Datatype type) {
  for (int i = 0; i < count; ++i) {
    const float value = element(rank, i);
    if (type == MPI_FLOAT) ((float*)buffer)[i] = value;
    if (type == MPI_DOUBLE) ((double*)buffer)[i] = value;
    if (type == MPI_FLOAT_INT) ((struct pair*)buffer)[i] = (struct pair){value, rank};
  }
}

/* Whether all ranks have the same bytes as rank 0. */
static void check_same(const void* result, size_t bytes) {
  char* const first = malloc(bytes);
  CHECK(first);
  if (rank == 0) memcpy(first, result, bytes);
  OK(MPI_Bcast(first, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD));
  CHECK(memcmp(first, result, bytes) == 0);
  free(first);
}

static void allreduce(int count, MPI_Datatype type, MPI_Op op) {
  const size_t bytes = (size_t)count * size_of(type);
  char *const in = malloc(bytes), *const out = malloc(bytes);
  CHECK(in && out);
  for (int again = 0; again < kAgain; ++again) {
    fill(in, count, type);
    OK(MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD));
    check_same(out, bytes);
    fill(out, count, type);
    OK(MPI_Allreduce(MPI_IN_PLACE, out, count, type, op, MPI_COMM_WORLD));
    check_same(out, bytes);
  }
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  static const int kCounts[] = {1, 3, 28, 1000, 5000, 40000, kMost};
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  const MPI_Op numbers[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD}, pairs[] = {MPI_MAXLOC, MPI_MINLOC};
  for (size_t c = 0; c < sizeof kCounts / sizeof *kCounts; ++c) {
    for (size_t o = 0; o < sizeof numbers / sizeof *numbers; ++o) {
      allreduce(kCounts[c], MPI_FLOAT, numbers[o]);
      allreduce(kCounts[c], MPI_DOUBLE, numbers[o]);
    }
    for (size_t o = 0; o < sizeof pairs / sizeof *pairs; ++o) allreduce(kCounts[c], MPI_FLOAT_INT, pairs[o]);
  }
  OK(MPI_Finalize());
  return 0;
}
