/* One program for every MPI library with the standard ABI: touches each kind of thing that crosses the binary interface (handles,
   statuses, constants, callbacks, large counts) and checks only what the standard promises. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: rank %d: failed: %s\n", __FILE__, __LINE__, rank, #condition);   \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                            \
    }                                                                                          \
  } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

static void statuses(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int out[3] = {rank, 2, 3}, in[5] = {0}, count = -1, flag = -1;
  MPI_Status status;
  memset(&status, 0x5a, sizeof status);
  MPI_Request request;
  OK(MPI_Isend(out, 3, MPI_INT, right, 77, MPI_COMM_WORLD, &request));
  OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 77);
  OK(MPI_Recv(in, 5, MPI_INT, left, 77, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK(in[0] == left && count == 3 && flag == 0);
  OK(MPI_Get_count(&status, MPI_DOUBLE_INT, &count));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  MPI_Count bytes = -1;
  OK(MPI_Get_elements_c(&status, MPI_BYTE, &bytes));
  CHECK(bytes == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD)); /* what comes next must not be seen by another rank's probe */
}

static void datatypes(void) {
  const int other = size - 1 - rank;
  struct {
    double x[2];
    char c;
    int32_t i;
  } mine = {{rank, 2.5}, 'a', 7 + rank}, theirs = {{0, 0}, 0, 0};
  MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_CHAR, MPI_INT32_T}, made, sized;
  int lengths[3] = {2, 1, 1};
  MPI_Aint base, places[3], low, extent;
  OK(MPI_Get_address(&mine, &base));
  OK(MPI_Get_address(&mine.x, &places[0]));
  OK(MPI_Get_address(&mine.c, &places[1]));
  OK(MPI_Get_address(&mine.i, &places[2]));
  for (int i = 0; i < 3; ++i) places[i] = MPI_Aint_diff(places[i], base);
  OK(MPI_Type_create_struct(3, lengths, places, parts, &made));
  OK(MPI_Type_create_resized(made, 0, sizeof mine, &sized));
  OK(MPI_Type_commit(&sized));
  OK(MPI_Type_get_extent(sized, &low, &extent));
  CHECK(low == 0 && extent == (MPI_Aint)sizeof mine);
  OK(MPI_Sendrecv(&mine, 1, sized, other, 1, &theirs, 1, sized, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(theirs.x[0] == other && theirs.c == 'a' && theirs.i == 7 + other);
  OK(MPI_Type_free(&sized));
  OK(MPI_Type_free(&made));
  CHECK(made == MPI_DATATYPE_NULL);
  static const MPI_Datatype basic[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_INT64_T, MPI_C_DOUBLE_COMPLEX, MPI_AINT, MPI_COUNT};
  static const size_t bytes[] = {1, sizeof(short), sizeof(int), sizeof(long), 4, 8, 8, 16, sizeof(MPI_Aint), sizeof(MPI_Count)};
  for (unsigned i = 0; i < sizeof basic / sizeof *basic; ++i) {
    int width = -1;
    OK(MPI_Type_size(basic[i], &width));
    CHECK(width == (int)bytes[i]);
  }
}

static void larger_of(void* in, void* inout, int* count, MPI_Datatype* type) {
  CHECK(*type == MPI_INT);
  for (int i = 0; i < *count; ++i)
    if (((int*)in)[i] > ((int*)inout)[i]) ((int*)inout)[i] = ((int*)in)[i];
}

static void collectives(void) {
  enum { kCount = 5000 };
  static int mine[kCount], sum[kCount];
  for (int i = 0; i < kCount; ++i) mine[i] = rank + i;
  OK(MPI_Allreduce(mine, sum, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < kCount; ++i) CHECK(sum[i] == size * (size - 1) / 2 + size * i);
  OK(MPI_Allreduce(MPI_IN_PLACE, mine, kCount, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK(mine[0] == size - 1);
  MPI_Op op;
  int value = rank * 3, most = -1;
  MPI_Request request;
  OK(MPI_Op_create(larger_of, 1, &op));
  OK(MPI_Iallreduce(&value, &most, 1, MPI_INT, op, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(most == (size - 1) * 3);
  OK(MPI_Op_free(&op));
  int* table = malloc(sizeof(int) * (size_t)size);
  OK(MPI_Allgather(&rank, 1, MPI_INT, table, 1, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK(table[i] == i);
  int* swapped = malloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < size; ++i) table[i] = rank * 100 + i;
  OK(MPI_Alltoall_c(table, 1, MPI_INT, swapped, 1, MPI_INT, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) CHECK(swapped[i] == i * 100 + rank);
  free(table);
  free(swapped);
}

static int errors_heard, deleted;
static void on_error(MPI_Comm* comm, int* code, ...) {
  int class = -1;
  MPI_Error_class(*code, &class);
  errors_heard += *comm != MPI_COMM_NULL && class == MPI_ERR_RANK;
}
static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key;
  deleted += *(int*)value == 5 && *(int*)extra == 6;
  return MPI_SUCCESS;
}

static void communicators_and_callbacks(void) {
  MPI_Comm half;
  int small_rank, small_size, result, found, *tag_limit, attribute = 5, extra = 6, key;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
  OK(MPI_Comm_rank(half, &small_rank));
  OK(MPI_Comm_size(half, &small_size));
  CHECK(small_size == (size + 1 - rank % 2) / 2 && small_rank == small_size - 1 - rank / 2);
  OK(MPI_Comm_compare(half, MPI_COMM_WORLD, &result));
  CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_limit, &found));
  CHECK(found && *tag_limit >= 32767);
  MPI_Errhandler handler;
  OK(MPI_Comm_create_errhandler(on_error, &handler));
  OK(MPI_Comm_set_errhandler(half, handler));
  OK(MPI_Comm_call_errhandler(half, MPI_ERR_RANK));
  CHECK(errors_heard == 1);
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, &extra));
  OK(MPI_Comm_set_attr(half, key, &attribute));
  OK(MPI_Comm_free_keyval(&key));
  OK(MPI_Comm_free(&half));
  CHECK(deleted == 1);
  MPI_Info info;
  char text[32];
  int length = sizeof text;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "colour", "green"));
  OK(MPI_Info_get_string(info, "colour", &length, text, &found));
  CHECK(found && strcmp(text, "green") == 0);
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  int provided, major, minor;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(provided >= MPI_THREAD_FUNNELED && sizeof(MPI_Status) == 32);
  OK(MPI_Abi_get_version(&major, &minor));
  CHECK(major == 1);
  statuses();
  datatypes();
  collectives();
  communicators_and_callbacks();
  if (rank == 0) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    OK(MPI_Get_library_version(version, &length));
    printf("exchange: %d ranks, %.60s\n", size, strtok(version, "\n"));
  }
  return MPI_Finalize();
}
