/* A rank and its children, for test/launch/children.sh.

     children hello NAME        prints "NAME R of N" and the sum of all ranks, from a collective
     children system COMMAND    every rank runs COMMAND by system() between two collectives, and again after MPI_Finalize
     children hold FIFO         inside MPI, says so by opening FIFO, and waits until it is closed at the other end
     children late FIFO         waits for `hold FIFO` before it initializes MPI
     children fork HOW          every rank forks in the middle of messages; the child ends by HOW: exit, finalize (as an exit handler does,
                                if MPI is not finalized), call (an MPI call) or abort (MPI_Abort)
     children sessions          the same, between a session and MPI_Init
     children orphan            rank 1 forks a child that stays, and ends without MPI_Finalize; rank 0 waits for it
     children killed HOW        rank 1 is killed; the others wait for it by HOW: recv, any, send, barrier, probe, compute */
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;

static int sum_of_ranks(void) {
  int sum = -1;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  return sum;
}

static void run(const char* command) {
  CHECK(system(command) == 0);
}

static void finalize_if_running(void) {
  int initialized, finalized;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized && !finalized) MPI_Finalize();
}

static void end_child(const char* how) {
  if (strcmp(how, "finalize") == 0) finalize_if_running();
  if (strcmp(how, "call") == 0) MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  exit(strcmp(how, "call") == 0 ? 0 : 7);
}

static int code_of(pid_t child) {
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void fork_amid_messages(const char* how) {
  int in = -1;
  MPI_Request request;
  OK(MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) end_child(how);
  const int code = code_of(child);
  CHECK(strcmp(how, "call") == 0 ? code != 0 : code == 7);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(in == (rank + size - 1) % size);
}

/* Between two sessions the rank is in the job, and a handler that runs at its exit would leave it. */
static void fork_between_sessions(void) {
  MPI_Session session;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Session_finalize(&session));
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) exit(7);
  CHECK(code_of(child) == 7);
}

/* The peer is gone: the call fails, names rank 1, and says what has become of it. */
static void is_told(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int class, length;
  CHECK(code != MPI_SUCCESS);
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("rank %d was told: %s\n", rank, text);
  fflush(stdout);
  CHECK(class == MPI_ERR_PROC_ABORTED);
  _exit(0); /* MPI_Finalize would wait for all */
}

static char big[4 << 20];

static void wait_for_the_dead(const char* how) {
  int value = 0, flag = 0;
  MPI_Status status;
  if (strcmp(how, "recv") == 0) is_told(MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &status));
  if (strcmp(how, "any") == 0) is_told(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
  if (strcmp(how, "send") == 0) is_told(MPI_Send(big, sizeof big, MPI_CHAR, 1, 5, MPI_COMM_WORLD));
  if (strcmp(how, "barrier") == 0) is_told(MPI_Barrier(MPI_COMM_WORLD));
  if (strcmp(how, "probe") == 0) is_told(MPI_Probe(1, 5, MPI_COMM_WORLD, &status));
  if (strcmp(how, "test") == 0) {
    MPI_Request request;
    OK(MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request));
    int code = MPI_SUCCESS;
    while (code == MPI_SUCCESS && !flag) code = MPI_Test(&request, &flag, &status);
    is_told(code);
  }
}

static void kill_one(const char* how) {
  int value = 42;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (rank == 1) {
    /* What it sent before it died is not lost. */
    if (size > 1) OK(MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD));
    raise(SIGKILL);
  }
  if (rank == 0) {
    value = 0;
    OK(MPI_Recv(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(value == 42);
  }
  wait_for_the_dead(how);
}

/* The child keeps a copy of all that its parent had open. */
static void orphan(void) {
  int pipe_ends[2];
  char byte;
  int value = 0;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (rank == 1) {
    OK(MPI_Send(&rank, 1, MPI_INT, 0, 4, MPI_COMM_WORLD)); /* so that there is a connection that the child holds */
    CHECK(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      alarm(600);
      if (write(pipe_ends[1], "x", 1) == 1) pause(); /* until the test's script has read what its parent prints */
      _exit(1);
    }
    CHECK(read(pipe_ends[0], &byte, 1) == 1);
    printf("child %d stays\n", (int)child);
    fflush(stdout);
    _exit(3);
  }
  OK(MPI_Recv(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  is_told(MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static FILE* rendezvous(const char* fifo, const char* mode) {
  FILE* file = fopen(fifo, mode);
  if (file == NULL) exit(1);
  return file;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const char* how = argc > 2 ? argv[2] : "";
  FILE* fifo = strcmp(what, "late") == 0 ? rendezvous(how, "w") : NULL;
  if (strcmp(what, "sessions") == 0) fork_between_sessions();
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (strcmp(what, "hello") == 0) printf("%s %d of %d, sum %d\n", how, rank, size, sum_of_ranks());
  if (strcmp(what, "late") == 0) printf("late %d of %d, sum %d\n", rank, size, sum_of_ranks());
  if (strcmp(what, "hold") == 0) fgetc(rendezvous(how, "r"));
  if (fifo != NULL) fclose(fifo);
  if (strcmp(what, "fork") == 0 || strcmp(what, "sessions") == 0) fork_amid_messages(how);
  if (strcmp(what, "killed") == 0) kill_one(how);
  if (strcmp(what, "orphan") == 0) orphan();
  if (strcmp(what, "system") == 0) {
    CHECK(sum_of_ranks() == size * (size - 1) / 2);
    run(how);
    CHECK(sum_of_ranks() == size * (size - 1) / 2);
  }
  OK(MPI_Finalize());
  if (strcmp(what, "system") == 0) return system(how);
  return 0;
}
