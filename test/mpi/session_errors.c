/* Errors in a program that uses sessions only. They go to the session that the object is from:

     session_errors            a session gives its errors to the program, or to its own handler
     session_errors initial    with LAPWING_INITIAL_ERRHANDLER=mpi_errors_return: errors without an object, before, while and after MPI runs */
#include "check.h"

static int heard_of;

static void hear(MPI_Session* session, int* code, ...) {
  (void)session;
  MPI_Error_class(*code, &heard_of);
}

static MPI_Group all_of(MPI_Session session) {
  MPI_Group all;
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
  return all;
}

/* Of a group, and of one that was made from it. */
static void fail_on_groups(MPI_Session session, int (*wrong)(MPI_Group)) {
  MPI_Group all = all_of(session), copy;
  const int first = 0;
  OK(MPI_Group_incl(all, 1, &first, &copy));
  CHECK(wrong(all) == MPI_ERR_RANK);
  CHECK(wrong(copy) == MPI_ERR_RANK);
  OK(MPI_Group_free(&copy));
  OK(MPI_Group_free(&all));
}

static int class_of(int code) {
  int class;
  OK(MPI_Error_class(code, &class));
  return class;
}

static int include_wrongly(MPI_Group group) {
  const int none = 99;
  MPI_Group made;
  return class_of(MPI_Group_incl(group, 1, &none, &made));
}

static int exclude_wrongly(MPI_Group group) {
  const int none = 99;
  MPI_Group made;
  return class_of(MPI_Group_excl(group, 1, &none, &made));
}

static void without_an_object(void) {
  MPI_Session session;
  int size;
  FAILS(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_OTHER);
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  FAILS(MPI_Comm_size(MPI_COMM_NULL, &size), MPI_ERR_COMM);
  OK(MPI_Session_finalize(&session));
  OK(MPI_Init(NULL, NULL));
  FAILS(MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  OK(MPI_Finalize());
  FAILS(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_OTHER);
}

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Errhandler handler;
  if (argc > 1 && strcmp(argv[1], "initial") == 0) return without_an_object(), 0;

  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  fail_on_groups(session, include_wrongly);
  OK(MPI_Session_finalize(&session));

  OK(MPI_Session_create_errhandler(hear, &handler));
  OK(MPI_Session_init(MPI_INFO_NULL, handler, &session));
  OK(MPI_Errhandler_free(&handler));
  fail_on_groups(session, exclude_wrongly);
  CHECK(heard_of == MPI_ERR_RANK);
  OK(MPI_Session_finalize(&session));
  return 0;
}
