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

/* Functions that are given the error handler of what they make use it for their own failures too. */
static int comm_failures, session_failures, last_class;
static void on_comm(MPI_Comm* comm, int* code, ...) {
  ++comm_failures;
  MPI_Error_class(*code, &last_class);
}
static void on_session(MPI_Session* session, int* code, ...) {
  ++session_failures;
  MPI_Error_class(*code, &last_class);
}

static void handlers_of_what_is_made(MPI_Session session) {
  MPI_Errhandler for_comms, for_sessions;
  MPI_Group group, self;
  MPI_Comm comm;
  MPI_Session made;
  OK(MPI_Comm_create_errhandler(on_comm, &for_comms));
  OK(MPI_Session_create_errhandler(on_session, &for_sessions));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
  FAILS(MPI_Comm_create_from_group(group, "org.example/null", MPI_INFO_NULL, for_comms, NULL), MPI_ERR_ARG);
  CHECK(comm_failures == 1 && last_class == MPI_ERR_ARG);
  FAILS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "org.example/null", MPI_INFO_NULL, for_comms, &comm), MPI_ERR_GROUP);
  CHECK(comm_failures == 2 && last_class == MPI_ERR_GROUP);
  FAILS(MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_ERR_ARG);
  CHECK(comm_failures == 2);
  FAILS(MPI_Intercomm_create_from_groups(self, 5, group, 0, "org.example/inter", MPI_INFO_NULL, for_comms, &comm), MPI_ERR_RANK);
  CHECK(comm_failures == 3);
  FAILS(MPI_Session_init(MPI_INFO_NULL, for_sessions, NULL), MPI_ERR_ARG);
  CHECK(session_failures == 1 && last_class == MPI_ERR_ARG);
  FAILS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL), MPI_ERR_ARG);
  FAILS(MPI_Session_init((MPI_Info)MPI_GROUP_EMPTY, for_sessions, &made), MPI_ERR_INFO);
  CHECK(session_failures == 2);
  OK(MPI_Errhandler_free(&for_comms));
  OK(MPI_Errhandler_free(&for_sessions));
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&self));
}

/* The length is asked for with no room; a name for which there is said to be room needs a place. */
static void names_without_a_place(MPI_Session session) {
  int length = 0;
  OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL));
  CHECK(length == 12);
  FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL), MPI_ERR_ARG);
}

/* The end of one session, or of the world model, does not wait for sends of another, whose receiver may wait for what comes after that end. */
enum { kLong = 1 << 21 };
static void sends_across(MPI_Comm comm, void (*end)(void)) {
  static char sent[kLong], received[kLong];
  int n, me, word = 0;
  MPI_Request request;
  OK(MPI_Comm_size(comm, &n));
  OK(MPI_Comm_rank(comm, &me));
  const int partner = me ^ 1;
  if (partner < n && me < partner) {
    OK(MPI_Isend(sent, kLong, MPI_CHAR, partner, 1, comm, &request));
    end();
    OK(MPI_Send(&word, 1, MPI_INT, partner, 2, comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else if (partner < n) {
    end();
    OK(MPI_Recv(&word, 1, MPI_INT, partner, 2, comm, MPI_STATUS_IGNORE));
    OK(MPI_Recv(received, kLong, MPI_CHAR, partner, 1, comm, MPI_STATUS_IGNORE));
  } else {
    end();
  }
}
static void end_a_session(void) {
  MPI_Session session;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Session_finalize(&session));
}
static void end_the_world(void) {
  OK(MPI_Finalize());
}

/* A session's buffer serves all communicators that come of its groups. */
static void buffer_of(MPI_Session session) {
  static char memory[1 << 16];
  MPI_Group world, self, both;
  MPI_Comm comm;
  int n, me, word = 7, got = 0;
  OK(MPI_Session_attach_buffer(session, memory, sizeof memory));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  OK(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
  OK(MPI_Group_size(world, &n));
  OK(MPI_Group_rank(world, &me));
  OK(MPI_Group_union(MPI_GROUP_EMPTY, self, &both));
  OK(MPI_Comm_create_from_group(both, "org.example/union", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Bsend(&word, 1, MPI_INT, 0, 0, comm));
  OK(MPI_Recv(&got, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
  CHECK(got == word);
  OK(MPI_Comm_free(&comm));
  if (n > 1) { /* the first against the others */
    MPI_Group first, others;
    const int zero = 0;
    OK(MPI_Group_incl(world, 1, &zero, &first));
    OK(MPI_Group_excl(world, 1, &zero, &others));
    OK(MPI_Intercomm_create_from_groups(me == 0 ? first : others, 0, me == 0 ? others : first, 0, "org.example/between", MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &comm));
    if (me < 2) {
      got = 0;
      OK(MPI_Bsend(&word, 1, MPI_INT, 0, 0, comm));
      OK(MPI_Recv(&got, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
      CHECK(got == word);
    }
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&first));
    OK(MPI_Group_free(&others));
  }
  void* detached;
  int size;
  OK(MPI_Session_detach_buffer(session, &detached, &size));
  CHECK(detached == memory && size == (int)sizeof memory);
  OK(MPI_Group_free(&both));
  OK(MPI_Group_free(&world));
  OK(MPI_Group_free(&self));
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
  handlers_of_what_is_made(second);
  names_without_a_place(second);
  buffer_of(second);
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
  /* Memory outlives what it was allocated in. */
  char* freed_later;
  static char* never_freed; /* static, so that it does not count as lost */
  OK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &freed_later));
  OK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &never_freed));
  OK(MPI_Group_from_session_pset(second, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, "org.example/across", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  sends_across(MPI_COMM_WORLD, end_a_session);
  sends_across(comm, end_a_session);
  sends_across(comm, end_the_world);
  OK(MPI_Comm_free(&comm));
  everybody(second, "org.example/after-world", n);
  memset(freed_later, 1, 100000);
  OK(MPI_Free_mem(freed_later));
  OK(MPI_Session_finalize(&second));
  memset(never_freed, 1, 100000);
  return 0;
}
