/* Walks one message through a library that was built with -finstrument-functions: which functions are entered between the
   call of MPI_Send or MPI_Recv and its return, in order, by the calling thread. Two ranks; the one that is looked at writes
   "depth address" lines. walk.py builds and runs it, and gives the addresses names.

     walk send BYTES      of rank 0, whose peer has posted its receive
     walk receive BYTES   of rank 1, which waits for a message that is on its way */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 1 << 20, kWarmUp = 200 };

static struct {
  void* function;
  int depth;
} entered[kMost];
static int count;
static __thread int recording, depth;

void __cyg_profile_func_enter(void* function, void* from) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void* function, void* from) __attribute__((no_instrument_function));

void __cyg_profile_func_enter(void* function, void* from) {
  (void)from;
  if (!recording) return;
  if (count < kMost) {
    entered[count].function = function;
    entered[count++].depth = depth;
  }
  ++depth;
}

void __cyg_profile_func_exit(void* function, void* from) {
  (void)function, (void)from;
  if (recording && depth > 0) --depth;
}

static void write_down(void) {
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(entered[i].function, &info) == 0) continue;
    printf("walk %d %lx\n", entered[i].depth, (unsigned long)((char*)entered[i].function - (char*)info.dli_fbase));
  }
}

static char* buffer;
static int bytes;

/* Rank 1 says that its receive comes now; a message follows. */
static void one_message(int rank, int sends, int receives) {
  char ready = 0;
  if (rank == 0) {
    MPI_Recv(&ready, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    recording = sends;
    MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Send(&ready, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    recording = receives;
    MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  recording = 0;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int sends = argc == 3 && strcmp(argv[1], "send") == 0, receives = argc == 3 && strcmp(argv[1], "receive") == 0;
  bytes = argc == 3 ? atoi(argv[2]) : 0;
  if (!sends && !receives) return MPI_Abort(MPI_COMM_WORLD, 2);
  buffer = calloc(1, (size_t)bytes + 1);
  for (int i = 0; i < kWarmUp; ++i) one_message(rank, 0, 0);
  one_message(rank, sends, receives);
  if (rank == (sends ? 0 : 1)) write_down();
  free(buffer);
  return MPI_Finalize();
}
