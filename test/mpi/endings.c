/* Ways to end a job, for test/launch/endings.sh. The others are in the middle of messages and collectives meanwhile.

     endings ok                 ends well
     endings killed RANK        RANK kills itself by SIGKILL
     endings abort RANK CODE    RANK calls MPI_Abort
     endings reading RANK CODE  ... while another thread of it reads the standard input
     endings exit RANK CODE     RANK leaves without MPI_Finalize
     endings fatal RANK         RANK makes an error under MPI_ERRORS_ARE_FATAL
     endings second RANK        ... as the second failure of a call whose first one is on a communicator under MPI_ERRORS_RETURN
     endings everyone FILE      all ranks make an error under MPI_ERRORS_ARE_FATAL when FILE exists, each behind a line of output that has no end
     endings overheard          the last rank of three closes its connections: rank 1 finds that and waits for rank 0, which waits for the last
     endings alone              rank 0 calls a broadcast that the others do not, and nothing after it meets
     endings late CODE          everybody exits with CODE after MPI_Finalize */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static int rank, size;
static char out[300000], in[300000];

static void round_of_messages(void) {
  MPI_Request requests[2];
  int sum = 0;
  OK(MPI_Irecv(in, sizeof in, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(out, sizeof out, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(sum == size * (size - 1) / 2);
}

static void* read_input(void* none) {
  (void)getchar();
  return none;
}
static void abort_while_reading(int code) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, read_input, NULL) == 0);
  while (ftrylockfile(stdin) == 0) funlockfile(stdin); /* until it does */
  MPI_Abort(MPI_COMM_WORLD, code);
}

static void fail_twice(void) {
  char room[2];
  MPI_Comm comms[2];
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[i]));
    OK(MPI_Irecv(&room[i], 1, MPI_CHAR, 0, i, comms[i], &requests[i]));
    OK(MPI_Send(out, 2, MPI_CHAR, 0, i, comms[i]));
  }
  OK(MPI_Comm_set_errhandler(comms[0], MPI_ERRORS_RETURN));
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void end(const char* how, int code) {
  if (strcmp(how, "reading") == 0) abort_while_reading(code);
  if (strcmp(how, "killed") == 0) raise(SIGKILL);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, code);
  if (strcmp(how, "exit") == 0) _exit(code);
  if (strcmp(how, "second") == 0) fail_twice();
  if (strcmp(how, "fatal") == 0) MPI_Send(out, 1, MPI_CHAR, size, 0, MPI_COMM_WORLD);
}

static void end_together(const char* file) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    printf("ready\n");
    fflush(stdout);
  }
  while (access(file, F_OK) != 0) usleep(10000);
  printf("rank %d was here", rank);
  MPI_Send(out, 1, MPI_CHAR, size, 0, MPI_COMM_WORLD);
}

static void close_connections(void) {
  for (int fd = 3; fd < 1024; ++fd) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr*)&address, &length) == 0 && (address.ss_family == AF_INET || address.ss_family == AF_INET6)) close(fd);
  }
}

/* Nothing leads from rank 0 to the last rank. */
static void overhear(void) {
  char byte = 0;
  if (rank > 0) OK(MPI_Recv(&byte, 1, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (rank < 2) OK(MPI_Send(&byte, 1, MPI_CHAR, rank + 1, 0, MPI_COMM_WORLD));
  if (rank == 2) close_connections();
  while (rank == 2) pause();
  MPI_Recv(&byte, 1, MPI_CHAR, rank == 0 ? 2 : 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const char* how = argc > 1 ? argv[1] : "ok";
  if (strcmp(how, "everyone") == 0) end_together(argv[2]);
  if (strcmp(how, "overheard") == 0) overhear();
  const int never = strcmp(how, "ok") != 0 && strcmp(how, "late") != 0 && strcmp(how, "alone") != 0;
  const int who = argc > 2 ? atoi(argv[2]) : 0, code = argc > 3 ? atoi(argv[3]) : 1;
  for (int i = 0; i < 20; ++i) round_of_messages();
  if (never && rank == who) end(how, code);
  for (int i = 0; never || i < 20; ++i) round_of_messages();
  if (strcmp(how, "alone") == 0 && rank == 0) OK(MPI_Bcast(out, 4, MPI_CHAR, 0, MPI_COMM_WORLD));
  OK(MPI_Finalize());
  return strcmp(how, "late") == 0 ? who : 0;
}
