/* A rank is killed, and the others go on: survivors HOW LOST [silent | midway | FILE]. Under mpiexec -disable-auto-cleanup. Each survivor repeats HOW until it gives
   MPI_ERR_PROC_ABORTED, which must come by itself; then all make a communicator without the lost rank, compute on it, and end well.

     recv      receive from LOST                      waitall     non-blocking receives and a long send, of which some can never complete
     any       receive from any source                barrier, bcast, allreduce, alltoall      collectives, short and long
     probe     MPI_Probe for any source               ibarrier, ibcast, iallreduce             the same without blocking
     iprobe    MPI_Iprobe for any source              persistent  a persistent collective
     send      send to LOST                           several     three of them without blocking at a time
     half      a collective on a communicator that rank 0 does not use before all free it
     fatal     receive, under MPI_ERRORS_ARE_FATAL: the job ends

   Where the word `silent` follows, no rank has exchanged anything with another before; where it is `midway`, LOST does as the others do until a signal
   kills it, some milliseconds later. With a FILE the rank does not kill itself: it does nothing, and
   rank 0 writes FILE, which says that its host may be cut off. */
#include "check.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { kLong = 2 << 20 }; /* more than any transport sends without asking first: a send of it to a lost rank cannot complete */

static int rank, size, lost;
static char in[kLong], out[kLong];

static int receive_from_lost(void) {
  return MPI_Recv(in, kLong, MPI_CHAR, lost, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static int receive_from_any(void) {
  return MPI_Recv(in, kLong, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static int probe_any(void) {
  return MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static int iprobe_any(void) {
  int flag;
  return MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}
static int send_to_lost(void) {
  return MPI_Send(out, kLong, MPI_CHAR, lost, 1, MPI_COMM_WORLD);
}
static int sendrecv_around(void) {
  return MPI_Sendrecv(out, kLong, MPI_CHAR, (rank + 1) % size, 2, in, kLong, MPI_CHAR, (rank + size - 1) % size, 2, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
}

/* The one among survivors completes, the others tell. */
static int wait_for_all(void) {
  const int next = (rank + 1) % size == lost ? (rank + 2) % size : (rank + 1) % size;
  const int before = (rank + size - 1) % size == lost ? (rank + size - 2) % size : (rank + size - 1) % size;
  char byte = 7;
  MPI_Request requests[5];
  MPI_Status statuses[5];
  MPI_Irecv(in, 1, MPI_CHAR, before, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&byte, 1, MPI_CHAR, next, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Irecv(in + 1, 1, MPI_CHAR, lost, 4, MPI_COMM_WORLD, &requests[2]);
  MPI_Irecv(in + 2, 1, MPI_CHAR, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[3]);
  MPI_Isend(out, kLong, MPI_CHAR, lost, 4, MPI_COMM_WORLD, &requests[4]);
  FAILS(MPI_Waitall(5, requests, statuses), MPI_ERR_IN_STATUS);
  CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_ERROR == MPI_SUCCESS && in[0] == 7);
  for (int i = 2; i < 5; ++i) FAILS(statuses[i].MPI_ERROR, MPI_ERR_PROC_ABORTED);
  return MPI_ERR_PROC_ABORTED;
}

static int barrier(void) {
  return MPI_Barrier(MPI_COMM_WORLD);
}
static int turn;
static int bcast(void) {
  return MPI_Bcast(in, turn % 2 ? kLong : 8, MPI_CHAR, turn / 2 % size, MPI_COMM_WORLD);
}
static int allreduce(void) {
  return MPI_Allreduce(out, in, turn % 2 ? kLong : 8, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD);
}
static int alltoall(void) {
  return MPI_Alltoall(out, kLong / size, MPI_CHAR, in, kLong / size, MPI_CHAR, MPI_COMM_WORLD);
}
static int finished(int begun, MPI_Request* request) {
  return begun != MPI_SUCCESS ? begun : MPI_Wait(request, MPI_STATUS_IGNORE);
}
static int ibarrier(void) {
  MPI_Request request;
  return finished(MPI_Ibarrier(MPI_COMM_WORLD, &request), &request);
}
static int ibcast(void) {
  MPI_Request request;
  return finished(MPI_Ibcast(in, turn % 2 ? kLong : 8, MPI_CHAR, turn / 2 % size, MPI_COMM_WORLD, &request), &request);
}
static int iallreduce(void) {
  MPI_Request request;
  return finished(MPI_Iallreduce(out, in, turn % 2 ? kLong : 8, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD, &request), &request);
}
static int persistent(void) {
  static MPI_Request request = MPI_REQUEST_NULL;
  if (request == MPI_REQUEST_NULL) OK(MPI_Allreduce_init(out, in, 8, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  const int code = finished(MPI_Start(&request), &request);
  if (code != MPI_SUCCESS) MPI_Request_free(&request);
  return code;
}

static int several(void) {
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int first = MPI_SUCCESS, begun = 0;
  for (int i = 0; i < 3; ++i) {
    const int code = MPI_Ibarrier(MPI_COMM_WORLD, &requests[begun]);
    if (code == MPI_SUCCESS)
      ++begun;
    else
      first = code;
  }
  if (MPI_Waitall(begun, requests, statuses) == MPI_SUCCESS) return first;
  for (int i = 0; i < begun && first == MPI_SUCCESS; ++i) first = statuses[i].MPI_ERROR;
  return first;
}

static MPI_Comm half_used = MPI_COMM_NULL;
static int half(void) {
  int sum;
  return rank == 0 ? receive_from_lost() : MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half_used);
}

static const struct {
  const char* name;
  int (*run)(void);
} kWays[] = {{"recv", receive_from_lost}, {"any", receive_from_any}, {"probe", probe_any}, {"iprobe", iprobe_any},
             {"send", send_to_lost}, {"waitall", wait_for_all}, {"barrier", barrier},
             {"bcast", bcast}, {"allreduce", allreduce}, {"alltoall", alltoall}, {"ibarrier", ibarrier},
             {"ibcast", ibcast}, {"iallreduce", iallreduce}, {"persistent", persistent},
             {"several", several}, {"half", half}, {"fatal", receive_from_lost}};

/* What a program does that goes on. */
static void go_on_without_lost(void) {
  MPI_Group all, left;
  MPI_Comm survivors;
  if (half_used != MPI_COMM_NULL) {
    OK(MPI_Comm_free(&half_used));
    if (rank != 0) usleep(100000); /* what rank 0 has claimed for it is free by now, and comes again */
  }
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  OK(MPI_Group_excl(all, 1, &lost, &left));
  OK(MPI_Comm_create_group(MPI_COMM_WORLD, left, 9, &survivors));
  for (int i = 0; i < 10; ++i) {
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, survivors));
    CHECK(sum == size * (size - 1) / 2 - lost);
  }
  OK(MPI_Comm_free(&survivors));
  OK(MPI_Group_free(&left));
  OK(MPI_Group_free(&all));
}

static void kill_self(int number) {
  (void)number;
  raise(SIGKILL);
}

/* HOW over and over, until a signal comes. */
static void be_lost_midway(int (*run)(void)) {
  const struct itimerval some = {.it_value = {.tv_usec = 2000 + getpid() % 16 * 1000}};
  signal(SIGALRM, kill_self);
  CHECK(setitimer(ITIMER_REAL, &some, NULL) == 0);
  for (turn = 0;; ++turn) OK(run());
}

static void be_lost(int killed) {
  while (!killed) pause();
  raise(SIGKILL);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(argc > 2);
  lost = atoi(argv[2]);
  const char* const mode = argc > 3 ? argv[3] : "";
  const int silent = strcmp(mode, "silent") == 0, midway = strcmp(mode, "midway") == 0;
  const char* const file = silent || midway || argc == 3 ? NULL : mode;
  for (int i = 0; !silent && i < 5; ++i) OK(sendrecv_around());
  if (strcmp(argv[1], "half") == 0) {
    if (rank != 0) usleep(100000); /* rank 0 leads it */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &half_used));
    OK(MPI_Comm_set_errhandler(half_used, MPI_ERRORS_RETURN));
  }
  if (rank == lost && !midway) be_lost(file == NULL);
  if (rank == 0 && file != NULL) fclose(fopen(file, "w"));
  if (strcmp(argv[1], "fatal") != 0) OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (size_t i = 0; i < sizeof kWays / sizeof kWays[0]; ++i) {
    int code = MPI_SUCCESS;
    if (strcmp(kWays[i].name, argv[1]) != 0) continue;
    if (rank == lost) be_lost_midway(kWays[i].run);
    for (turn = 0; code == MPI_SUCCESS; ++turn) code = kWays[i].run();
    FAILS(code, MPI_ERR_PROC_ABORTED);
    FAILS(kWays[i].run(), MPI_ERR_PROC_ABORTED);
    go_on_without_lost();
    OK(MPI_Finalize());
    return 0;
  }
  CHECK(!"a way that is known");
}
