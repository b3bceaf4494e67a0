/* Long and synchronous messages to a rank that has posted its receives and computes, both ways in turn: their requests may be answered by a program in the
   receiver's kernel (LAPWING_RECEIVE=kernel), or by its process, and each receive gets its message whichever it is. Some receives are cancelled. */
#include "check.h"

#include <time.h>

enum { kRounds = 40, kMessages = 8, kTag = 1, kReadyTag = 100 };
static const size_t sizes[] = {4097, 20000, 65536, 65537, 300000, 1000000};

static size_t size_of(int round, int number) { return sizes[(round * 5 + number) % 6]; }
static unsigned seed_of(int round, int number) { return (unsigned)(round * 100 + number); }

static void compute(int microseconds) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &end);
  while ((end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}

static void receive_round(int round, int peer) {
  unsigned char* room[kMessages];
  MPI_Request requests[kMessages], never;
  int unused;
  MPI_Irecv(&unused, 1, MPI_INT, peer, kTag + kMessages, MPI_COMM_WORLD, &never);
  for (int number = 0; number < kMessages; ++number) {
    room[number] = calloc(1, size_of(round, number));
    MPI_Irecv(room[number], (int)size_of(round, number), MPI_BYTE, peer, kTag + number % 2, MPI_COMM_WORLD, &requests[number]);
  }
  MPI_Send(NULL, 0, MPI_BYTE, peer, kReadyTag, MPI_COMM_WORLD);
  compute(round % 3 * 1500);
  OK(MPI_Cancel(&never));
  MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  MPI_Status status;
  int cancelled;
  MPI_Wait(&never, &status);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(cancelled);
  for (int number = 0; number < kMessages; ++number) {
    for (size_t i = 0; i < size_of(round, number); ++i) CHECK(room[number][i] == pattern(i, seed_of(round, number)));
    free(room[number]);
  }
}

static void send_round(int round, int peer) {
  MPI_Recv(NULL, 0, MPI_BYTE, peer, kReadyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (round % 2 == 0) compute(1000); /* so that the receiver's threads sleep */
  for (int number = 0; number < kMessages; ++number) {
    const size_t bytes = size_of(round, number);
    unsigned char* message = malloc(bytes);
    for (size_t i = 0; i < bytes; ++i) message[i] = pattern(i, seed_of(round, number));
    MPI_Request request;
    if (number % 3 == 0)
      MPI_Ssend(message, (int)bytes, MPI_BYTE, peer, kTag + number % 2, MPI_COMM_WORLD);
    else if (number % 3 == 1)
      MPI_Send(message, (int)bytes, MPI_BYTE, peer, kTag + number % 2, MPI_COMM_WORLD);
    else
      MPI_Isend(message, (int)bytes, MPI_BYTE, peer, kTag + number % 2, MPI_COMM_WORLD, &request);
    if (number % 3 == 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(message);
  }
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < kRounds; ++round) {
    if ((round / 2 + rank) % 2 == 0)
      receive_round(round, 1 - rank);
    else
      send_round(round, 1 - rank);
  }
  MPI_Finalize();
  return 0;
}
