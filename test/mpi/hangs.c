/* Programs that hang, for test/launch/hangs.sh, which asks mpiexec why.

     hangs crossed        two ranks receive from each other; neither has sent
     hangs ring           every rank receives from the next
     hangs tags           the message that came has another tag
     hangs waitall        rank 0 waits for two receives and a synchronous send
     hangs any            rank 0 takes a message from any rank, the others one from rank 0
     hangs probe          rank 0 probes, on a communicator of its own; rank 1 is in MPI_Comm_dup
     hangs mixed          rank 0 is in MPI_Reduce, the others in MPI_Bcast: each waits for the other's message
     hangs roots          every rank broadcasts from the next one
     hangs groups         rank 0 gathers from the other group of an inter-communicator, where rank 1 computes
     hangs absent         rank 1 computes, the others are in MPI_Barrier
     hangs threads        two threads of rank 0 wait
     hangs early          rank 1 does not call MPI_Init
     hangs late           rank 1 does not call MPI_Finalize
     hangs outside        no rank calls MPI_Init */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

static int rank, size;
static int number;

static void receive(int source, int tag, MPI_Comm comm) {
  OK(MPI_Recv(&number, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE));
}

static void compute(void) {
  for (;;) pause();
}

static void* receive_in_thread(void* unused) {
  receive(1, 22, MPI_COMM_WORLD);
  return unused;
}

static void wait_for_all(void) {
  MPI_Request requests[3];
  int numbers[2];
  if (rank != 0) receive(0, 5, MPI_COMM_WORLD);
  OK(MPI_Irecv(&numbers[0], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Irecv(&numbers[1], 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Issend(&number, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
}

static void probe_on_another(void) {
  MPI_Comm named, copy;
  MPI_Status status;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &named));
  OK(MPI_Comm_set_name(named, "the river"));
  if (rank == 0) OK(MPI_Probe(1, MPI_ANY_TAG, named, &status));
  OK(MPI_Comm_dup(named, &copy));
}

static void gather_from_the_others(void) {
  MPI_Comm own, both;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own));
  OK(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - rank, 3, &both));
  if (rank == 1) compute();
  OK(MPI_Gather(NULL, 0, MPI_INT, &number, 1, MPI_INT, MPI_ROOT, both));
}

static void wait_in_two_threads(void) {
  pthread_t thread;
  if (rank != 0) compute();
  pthread_create(&thread, NULL, receive_in_thread, NULL);
  receive(1, 21, MPI_COMM_WORLD);
}

static void hang(const char* how) {
  const int next = (rank + 1) % size;
  if (strcmp(how, "crossed") == 0 || strcmp(how, "ring") == 0) receive(next, 7, MPI_COMM_WORLD);
  if (strcmp(how, "tags") == 0) {
    OK(MPI_Send(&number, 1, MPI_INT, next, 8, MPI_COMM_WORLD));
    receive(next, 7, MPI_COMM_WORLD);
  }
  if (strcmp(how, "waitall") == 0) wait_for_all();
  if (strcmp(how, "any") == 0) receive(rank == 0 ? MPI_ANY_SOURCE : 0, 9, MPI_COMM_WORLD);
  if (strcmp(how, "probe") == 0) probe_on_another();
  if (strcmp(how, "mixed") == 0) {
    int sum;
    if (rank == 0) OK(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    OK(MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD));
  }
  if (strcmp(how, "roots") == 0) OK(MPI_Bcast(&number, 1, MPI_INT, next, MPI_COMM_WORLD));
  if (strcmp(how, "groups") == 0) gather_from_the_others();
  if (strcmp(how, "absent") == 0) {
    if (rank == 1) compute();
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  if (strcmp(how, "threads") == 0) wait_in_two_threads();
  if (strcmp(how, "late") == 0 && rank == 1) compute();
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const char* place = getenv("PMI_RANK");
  if (strcmp(how, "outside") == 0) compute();
  if (strcmp(how, "early") == 0 && place != NULL && atoi(place) == 1) compute();
  int provided;
  const int threads = strcmp(how, "threads") == 0;
  OK(MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  hang(how);
  OK(MPI_Finalize());
  return 0;
}
