/* The names of earlier standards that mpi.h has beyond the ABI: what MPI_X_c2f gives and MPI_X_f2c takes, statuses as Fortran
   has them, the ten functions that MPI-3.0 removed, and deprecated types of callbacks. Also a program in C90. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);              \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                        \
    }                                                                                      \
  } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

/* A handle survives the way to Fortran and back; a predefined one has the number that the ABI gives it. */
#define ROUND_TRIP(name, handle) CHECK(MPI_##name##_f2c(MPI_##name##_c2f(handle)) == (handle))

static void test_handles(void) {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Group group;
  MPI_Info info;
  MPI_Request request;
  const MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
  int value = 0;
  CHECK(world == 0x101);
  CHECK(MPI_Type_c2f(MPI_INT) == MPI_Type_toint(MPI_INT));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  OK(MPI_Comm_group(comm, &group));
  OK(MPI_Info_create(&info));
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &request));
  ROUND_TRIP(Comm, comm);
  ROUND_TRIP(Type, type);
  ROUND_TRIP(Group, group);
  ROUND_TRIP(Info, info);
  ROUND_TRIP(Request, request);
  ROUND_TRIP(Op, MPI_SUM);
  ROUND_TRIP(Errhandler, MPI_ERRORS_RETURN);
  ROUND_TRIP(File, MPI_FILE_NULL);
  ROUND_TRIP(Message, MPI_MESSAGE_NO_PROC);
  ROUND_TRIP(Session, MPI_SESSION_NULL);
  ROUND_TRIP(Win, MPI_WIN_NULL);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Info_free(&info));
  OK(MPI_Group_free(&group));
  OK(MPI_Type_free(&type));
  OK(MPI_Comm_free(&comm));
}

/* A received status through every form: source, tag and count stay. */
static void test_statuses(void) {
  int out[3] = {1, 2, 3}, in[5], count = -1;
  MPI_Status first, last;
  MPI_F08_status f08;
  MPI_Fint fortran[MPI_F_STATUS_SIZE], again[MPI_F_STATUS_SIZE];
  OK(MPI_Sendrecv(out, 3, MPI_INT, 0, 7, in, 5, MPI_INT, 0, 7, MPI_COMM_SELF, &first));
  first.MPI_ERROR = MPI_ERR_TRUNCATE;
  OK(MPI_Status_c2f(&first, fortran));
  CHECK(fortran[MPI_F_SOURCE] == 0 && fortran[MPI_F_TAG] == 7 && fortran[MPI_F_ERROR] == MPI_ERR_TRUNCATE);
  OK(MPI_Status_f2f08(fortran, &f08));
  OK(MPI_Status_f082f(&f08, again));
  CHECK(memcmp(fortran, again, sizeof fortran) == 0);
  OK(MPI_Status_f082c(&f08, &last));
  OK(MPI_Status_c2f08(&last, &f08));
  memset(&last, 0, sizeof last);
  OK(MPI_Status_f2c(again, &last));
  CHECK(last.MPI_SOURCE == 0 && last.MPI_TAG == 7 && last.MPI_ERROR == MPI_ERR_TRUNCATE);
  OK(MPI_Get_count(&last, MPI_INT, &count));
  CHECK(count == 3);
  CHECK(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &last) == MPI_ERR_ARG);
}

struct particle {
  char kind;
  double place[3];
};

static void test_removed_types(void) {
  struct particle one = {'a', {1, 2, 3}}, copy = {0, {0, 0, 0}};
  int lengths[2] = {1, 3};
  MPI_Aint places[2], base, lb = 0, ub = 0, extent;
  MPI_Datatype members[2], type, row, picked;
  members[0] = MPI_CHAR;
  members[1] = MPI_DOUBLE;
  OK(MPI_Address(&one, &base));
  OK(MPI_Address(&one.kind, &places[0]));
  OK(MPI_Address(one.place, &places[1]));
  places[0] -= base;
  places[1] -= base;
  OK(MPI_Type_struct(2, lengths, places, members, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Sendrecv(&one, 1, type, 0, 0, &copy, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK(copy.kind == 'a' && copy.place[2] == 3);
  OK(MPI_Type_extent(type, &extent));
  CHECK(extent == (MPI_Aint)sizeof one);

  OK(MPI_Type_hvector(2, 1, 16, MPI_INT, &row));
  OK(MPI_Type_extent(row, &extent));
  CHECK(extent == 20);
  places[0] = -8;
  places[1] = 4;
  lengths[1] = 2;
  OK(MPI_Type_hindexed(2, lengths, places, MPI_INT, &picked));
  OK(MPI_Type_lb(picked, &lb));
  OK(MPI_Type_ub(picked, &ub));
  CHECK(lb == -8 && ub == 12);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK(MPI_Type_lb(picked, NULL) != MPI_SUCCESS && MPI_Type_ub(picked, NULL) != MPI_SUCCESS);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free(&row));
  OK(MPI_Type_free(&picked));
}

static int heard = MPI_SUCCESS;
static void hear(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  heard = *code;
}

static void test_removed_error_handlers(void) {
  MPI_Handler_function* function = hear;
  MPI_Comm_errhandler_fn* same = function;
  MPI_File_errhandler_fn* of_file = 0;
  MPI_Session_errhandler_fn* of_session = 0;
  MPI_Win_errhandler_fn* of_win = 0;
  MPI_Errhandler handler, found;
  CHECK(of_file == 0 && of_session == 0 && of_win == 0);
  OK(MPI_Errhandler_create(same, &handler));
  OK(MPI_Errhandler_set(MPI_COMM_WORLD, handler));
  OK(MPI_Errhandler_get(MPI_COMM_WORLD, &found));
  CHECK(found == handler);
  CHECK(MPI_Send(&heard, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_ERR_COUNT);
  CHECK(heard == MPI_ERR_COUNT);
  OK(MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Errhandler_free(&found));
  OK(MPI_Errhandler_free(&handler));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  test_handles();
  test_statuses();
  test_removed_types();
  test_removed_error_handlers();
  return MPI_Finalize();
}
