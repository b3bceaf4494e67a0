/* Sessions alone, without MPI_Init: several in turn and at the same time, with communicators between the same processes. */
#include "check.h"

static void everybody(MPI_Session session, const char* name, int wanted_sum_of_ones) {
  MPI_Group group;
  MPI_Comm comm;
  int n, me, one = 1, sum = 0;
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_size(comm, &n));
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == n && (wanted_sum_of_ones == 0 || wanted_sum_of_ones == n));
  int from = -1;
  OK(MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 0, &from, 1, MPI_INT, (me + n - 1) % n, 0, comm, MPI_STATUS_IGNORE));
  CHECK(from == (me + n - 1) % n);
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  MPI_Session first, second;
  MPI_Info info;
  MPI_Group group;
  MPI_Comm comm;
  int flag, n, length = 64;
  char value[64];
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first));
  OK(MPI_Initialized(&flag));
  CHECK(!flag); /* that is about the world model */
  everybody(first, "org.example/first", 0);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
  OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &second));
  OK(MPI_Info_free(&info));
  OK(MPI_Session_get_info(second, &info));
  OK(MPI_Info_get_string(info, "thread_level", &length, value, &flag));
  CHECK(flag && strncmp(value, "MPI_THREAD_", 11) == 0);
  OK(MPI_Info_free(&info));
  everybody(second, "org.example/second", 0);
  everybody(first, "org.example/first", 0);
  OK(MPI_Group_from_session_pset(second, "mpi://SELF", &group));
  OK(MPI_Group_size(group, &n));
  CHECK(n == 1);
  OK(MPI_Comm_create_from_group(group, "org.example/self", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  OK(MPI_Barrier(comm));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&first));
  everybody(second, "org.example/second", 0);
  /* The world model beside a session. */
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &n));
  everybody(second, "org.example/with-world", n);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  everybody(second, "org.example/after-world", n);
  OK(MPI_Session_finalize(&second));
  return 0;
}
