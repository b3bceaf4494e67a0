/* Many ranks send to one at the same time: gathers and all-to-alls, plain and with counts, of blocks that go whole and of blocks that are asked for. Each byte is checked.
   Arguments: how often, and whether there are gathers alone. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static unsigned char byte_of(int from, int to, int at) {
  return (unsigned char)(from * 31 + to * 7 + at % 251);
}
static void fill(unsigned char* block, int bytes, int to) {
  for (int i = 0; i < bytes; ++i) block[i] = byte_of(rank, to, i);
}
static void check(const unsigned char* block, int bytes, int from, int to, const char* what) {
  for (int i = 0; i < bytes; ++i) {
    if (block[i] == byte_of(from, to, i)) continue;
    fprintf(stderr, "rank %d: %s of %d bytes: byte %d from rank %d is wrong\n", rank, what, bytes, i, from);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void gather(unsigned char* out, unsigned char* in, int bytes, int root) {
  fill(out, bytes, root);
  memset(in, 0, (size_t)bytes * (size_t)size);
  MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
  for (int from = 0; from < size && rank == root; ++from)
    check(in + (size_t)from * (size_t)bytes, bytes, from, root, "MPI_Gather");
}

/* Rank r's block has bytes / (r + 1). */
static void gatherv(unsigned char* out, unsigned char* in, int bytes, int root, int* counts, int* displacements) {
  for (int i = 0; i < size; ++i) {
    counts[i] = bytes / (i + 1);
    displacements[i] = i * bytes;
  }
  fill(out, counts[rank], root);
  memset(in, 0, (size_t)bytes * (size_t)size);
  MPI_Gatherv(out, counts[rank], MPI_BYTE, in, counts, displacements, MPI_BYTE, root, MPI_COMM_WORLD);
  for (int from = 0; from < size && rank == root; ++from)
    check(in + displacements[from], counts[from], from, root, "MPI_Gatherv");
}

static void alltoallv(unsigned char* out, unsigned char* in, int bytes, int* counts, int* displacements) {
  for (int i = 0; i < size; ++i) {
    counts[i] = bytes / ((i + rank) % size + 1); /* the same in both directions */
    displacements[i] = i * bytes;
    fill(out + displacements[i], counts[i], i);
  }
  memset(in, 0, (size_t)bytes * (size_t)size);
  MPI_Alltoallv(out, counts, displacements, MPI_BYTE, in, counts, displacements, MPI_BYTE, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from) check(in + displacements[from], counts[from], from, rank, "MPI_Alltoallv");
}

int main(int argc, char** argv) {
  enum { kMost = 256 * 1024 };
  static const int sizes[] = {0, 1000, 16 * 1024, 64 * 1024, kMost};
  const int times = argc > 1 ? atoi(argv[1]) : 1;
  const int most_exchanged = argc > 2 && strcmp(argv[2], "gathers") == 0 ? -1 : 64 * 1024;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned char* out = malloc((size_t)kMost * (size_t)size);
  unsigned char* in = malloc((size_t)kMost * (size_t)size);
  int* counts = malloc(sizeof(int) * (size_t)size);
  int* displacements = malloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < times; ++i) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
      gather(out, in, sizes[s], 0);
      gatherv(out, in, sizes[s], size - 1, counts, displacements);
      if (sizes[s] <= most_exchanged) alltoallv(out, in, sizes[s], counts, displacements);
    }
  }
  free(out);
  free(in);
  free(counts);
  free(displacements);
  return MPI_Finalize();
}
