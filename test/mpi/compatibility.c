/* What programs that were written for MPICH, for Open MPI or for an older standard rely on. */
#include "check.h"

static int rank, size;

static int heard;
static MPI_Comm heard_on = MPI_COMM_NULL;
static void listen(MPI_Comm* comm, int* code, ...) {
  ++heard;
  heard_on = *comm;
}

/* Until MPI 4.0 errors without an object went to the handler of MPI_COMM_WORLD: the only one that such a program sets. It hears of
   them until the program gives MPI_COMM_SELF one too. */
static void handler_of_the_world(void) {
  MPI_Errhandler handler, found;
  MPI_Datatype made;
  OK(MPI_Comm_create_errhandler(listen, &handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  FAILS(MPI_Type_contiguous(-1, MPI_INT, &made), MPI_ERR_COUNT);
  CHECK(heard == 1 && heard_on == MPI_COMM_WORLD);
  OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &found));
  CHECK(found == MPI_ERRORS_ARE_FATAL);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_Type_contiguous(-1, MPI_INT, &made), MPI_ERR_COUNT);
  CHECK(heard == 1);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  FAILS(MPI_Type_contiguous(-1, MPI_INT, &made), MPI_ERR_COUNT);
  CHECK(heard == 2 && heard_on == MPI_COMM_SELF);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Errhandler_free(&handler));
}

/* The names of the standard's process sets, however they are written. */
static void names_of_process_sets(void) {
  const char* names[] = {"mpi://WORLD", "mpi://world", "MPI://World", "mpi://self"};
  MPI_Session session;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  for (int i = 0; i < 4; ++i) {
    MPI_Group group;
    MPI_Info info;
    int members;
    OK(MPI_Group_from_session_pset(session, names[i], &group));
    OK(MPI_Group_size(group, &members));
    CHECK(members == (i < 3 ? size : 1));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_get_pset_info(session, names[i], &info));
    OK(MPI_Info_free(&info));
  }
  MPI_Group group;
  FAILS(MPI_Group_from_session_pset(session, "mpi://worlds", &group), MPI_ERR_ARG);
  OK(MPI_Session_finalize(&session));
}

/* Logical operations on the types that C and Fortran share; the bitwise ones are the standard's. */
static void operations_on_addresses(void) {
  const MPI_Datatype types[] = {MPI_AINT, MPI_OFFSET, MPI_COUNT};
  for (int i = 0; i < 3; ++i) {
    MPI_Count mine = rank == 0 ? 0 : (MPI_Count)1 << 40, all = -1;
    OK(MPI_Allreduce(&mine, &all, 1, types[i], MPI_LOR, MPI_COMM_WORLD));
    CHECK(all == (size > 1));
    OK(MPI_Allreduce(&mine, &all, 1, types[i], MPI_LAND, MPI_COMM_WORLD));
    CHECK(all == 0);
    OK(MPI_Allreduce(&mine, &all, 1, types[i], MPI_LXOR, MPI_COMM_WORLD));
    CHECK(all == (size - 1) % 2);
    OK(MPI_Allreduce(&mine, &all, 1, types[i], MPI_BOR, MPI_COMM_WORLD));
    CHECK(all == (size > 1 ? (MPI_Count)1 << 40 : 0));
  }
}

/* A char is an integer, as in C, although MPI_CHAR is for characters. */
static void operations_on_char(void) {
  char mine = (char)(rank == size - 1), all = -1;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD));
  CHECK(all == 1);
  OK(MPI_Allreduce(&mine, &all, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD));
  CHECK(all == 1);
  OK(MPI_Allreduce(&mine, &all, 1, MPI_CHAR, MPI_LAND, MPI_COMM_WORLD));
  CHECK(all == (size == 1));
  OK(MPI_Allreduce(&mine, &all, 1, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD));
  CHECK(all == 1);
}

/* The type of an empty piece is never looked at, MPI_DATATYPE_NULL included. */
static void null_types_of_empty_pieces(void) {
  int* zeros = calloc((size_t)size, sizeof *zeros);
  MPI_Datatype* none = malloc((size_t)size * sizeof *none);
  MPI_Request request;
  for (int i = 0; i < size; ++i) none[i] = MPI_DATATYPE_NULL;
  OK(MPI_Alltoallw(NULL, zeros, zeros, none, NULL, zeros, zeros, none, MPI_COMM_WORLD));
  OK(MPI_Ialltoallw(NULL, zeros, zeros, none, NULL, zeros, zeros, none, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  free(none);
  free(zeros);
}

/* Dimensions as close to each other as can be, and extents, as those libraries compute them. */
static void shapes(void) {
  int dims[3] = {0, 0, 0};
  const int ones[2] = {1, 1};
  const MPI_Aint behind[2] = {0, 4}, unaligned[2] = {0, 2};
  MPI_Datatype types[2] = {MPI_INT, MPI_CHAR}, padded, outer;
  MPI_Aint lb, extent;
  OK(MPI_Dims_create(104160, 3, dims));
  CHECK(dims[0] == 62 && dims[1] == 42 && dims[2] == 40);
  OK(MPI_Type_create_struct(2, ones, behind, types, &padded));
  types[0] = MPI_CHAR;
  types[1] = padded;
  OK(MPI_Type_create_struct(2, ones, unaligned, types, &outer));
  OK(MPI_Type_get_extent(outer, &lb, &extent));
  CHECK(lb == 0 && extent == 12);
  OK(MPI_Type_free(&outer));
  OK(MPI_Type_free(&padded));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  handler_of_the_world();
  names_of_process_sets();
  operations_on_addresses();
  operations_on_char();
  null_types_of_empty_pieces();
  shapes();
  OK(MPI_Finalize());
  return 0;
}
