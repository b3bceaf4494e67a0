/* More than 4 GiB in one message: contiguous by the large-count functions, and as few elements of a huge datatype by the
   ordinary ones. Skipped (77) where memory is short. */
#include "check.h"

static int enough_memory(size_t wanted) {
  char line[256];
  size_t kilobytes = 0;
  FILE* file = fopen("/proc/meminfo", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %zu", &kilobytes) == 1) break;
  if (file) fclose(file);
  return kilobytes * 1024 > wanted;
}

/* Cheap to fill and to check: a number in every page, and the last byte. */
static const size_t kBytes = ((size_t)4 << 30) + 12345, kStep = 4096;
static void mark(unsigned char* buffer, unsigned seed) {
  for (size_t i = 0; i + sizeof(size_t) <= kBytes; i += kStep) {
    const size_t value = i + seed;
    memcpy(buffer + i, &value, sizeof value);
  }
  buffer[kBytes - 1] = (unsigned char)(seed + 1);
}
static int is_marked(const unsigned char* buffer, unsigned seed) {
  for (size_t i = 0; i + sizeof(size_t) <= kBytes; i += kStep) {
    const size_t value = i + seed;
    if (memcmp(buffer + i, &value, sizeof value) != 0) return 0;
  }
  return buffer[kBytes - 1] == (unsigned char)(seed + 1);
}

int main(int argc, char** argv) {
  int rank, enough;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  enough = enough_memory((size_t)12 << 30);
  OK(MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD));
  if (!enough || rank > 1) {
    if (rank == 0) fprintf(stderr, "skipped: less than 12 GiB of memory are available\n");
    OK(MPI_Finalize());
    return enough ? 0 : 77;
  }
  unsigned char* buffer = calloc(kBytes, 1);
  CHECK(buffer != NULL);
  MPI_Status status;
  MPI_Count count;
  if (rank == 0) {
    mark(buffer, 1);
    OK(MPI_Send_c(buffer, (MPI_Count)kBytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv_c(buffer, (MPI_Count)kBytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count_c(&status, MPI_BYTE, &count));
    CHECK(count == (MPI_Count)kBytes && is_marked(buffer, 1));
    int narrow;
    OK(MPI_Get_count(&status, MPI_BYTE, &narrow));
    CHECK(narrow == MPI_UNDEFINED); /* it does not fit an int */
  }

  /* One element: 1 GiB blocks and a rest. */
  MPI_Datatype block, whole;
  const int gib = 1 << 30;
  int lengths[2] = {4, (int)(kBytes - ((size_t)4 << 30))};
  MPI_Aint places[2] = {0, (MPI_Aint)4 << 30};
  OK(MPI_Type_contiguous(gib, MPI_BYTE, &block));
  MPI_Datatype types[2] = {block, MPI_BYTE};
  OK(MPI_Type_create_struct(2, lengths, places, types, &whole));
  OK(MPI_Type_commit(&whole));
  if (rank == 1) {
    mark(buffer, 2);
    OK(MPI_Send(buffer, 1, whole, 0, 2, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv(buffer, 1, whole, 1, 2, MPI_COMM_WORLD, &status));
    OK(MPI_Get_elements_c(&status, whole, &count));
    CHECK(count == (MPI_Count)kBytes && is_marked(buffer, 2));
    int one;
    OK(MPI_Get_count(&status, whole, &one));
    CHECK(one == 1);
  }
  OK(MPI_Type_free(&whole));
  OK(MPI_Type_free(&block));
  free(buffer);
  OK(MPI_Finalize());
  return 0;
}
