/* A thread that is in MPI for long holds no other thread up: the end of this program depends on what other threads of the same rank do meanwhile. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

static int rank, number;
static MPI_Comm of_session;

/* ---- a reduction by an operation that waits until another thread has received -------------------------------------- */

static volatile int received, reducing;

static void wait_and_add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  reducing = 1;
  while (rank == 0 && !received) usleep(100);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void* receive(void* unused) {
  OK(MPI_Recv(&number, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  received = 1;
  return unused;
}

/* Rank 1 sends what rank 0's operation waits for once its own part has left. */
static void reduce_beside_receive(void) {
  pthread_t thread;
  MPI_Op op;
  int sum;
  OK(MPI_Op_create(wait_and_add, 1, &op));
  if (rank == 0) {
    CHECK(pthread_create(&thread, NULL, receive, NULL) == 0);
    usleep(20000); /* until it waits */
  }
  OK(MPI_Reduce(&rank, &sum, 1, MPI_INT, op, 0, MPI_COMM_WORLD));
  if (rank == 1) {
    usleep(50000); /* until the operation has begun */
    OK(MPI_Send(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD));
  }
  if (rank == 0) {
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(reducing && received);
  }
  OK(MPI_Op_free(&op));
}

/* ---- a session that begins and ends while another thread waits in MPI_Finalize ------------------------------------- */

/* Where it begins so late that MPI_Finalize has not been called, it is an ordinary one. */
static void* open_and_send(void* unused) {
  MPI_Session session;
  usleep(50000); /* until the other thread is in MPI_Finalize */
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Send(&number, 1, MPI_INT, 1, 7, of_session));
  OK(MPI_Session_finalize(&session));
  return unused;
}

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  pthread_t thread;
  int provided;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, "waiting_threads", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &of_session));

  for (int i = 0; i < 5; ++i) {
    received = reducing = 0;
    reduce_beside_receive();
  }

  if (rank == 0) CHECK(pthread_create(&thread, NULL, open_and_send, NULL) == 0);
  if (rank == 1) OK(MPI_Recv(&number, 1, MPI_INT, 0, 7, of_session, MPI_STATUS_IGNORE));
  OK(MPI_Finalize());
  if (rank == 0 && pthread_join(thread, NULL) != 0) return 1;
  OK(MPI_Comm_free(&of_session));
  OK(MPI_Group_free(&group));
  OK(MPI_Session_finalize(&session));
  return 0;
}
