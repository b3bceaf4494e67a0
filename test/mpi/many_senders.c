/* One rank receives from all others, by receives that are posted before: once while it computes, once while it waits. With more senders than links that
   are read without asking the event port, so that what a program in the kernel has taken (LAPWING_RECEIVE=kernel) must be found on links that come and go. */
#include "check.h"

#include <time.h>

enum { kRounds = 150, kMessages = 8, kInts = 256, kTag = 1, kGoTag = 2 };

static int value(int source, int round, int number, int i) { return source * 1000003 + round * 1009 + number * 31 + i; }

static void compute(int microseconds) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &end);
  while ((end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}

static void receive_all(int round, int size, int* room, MPI_Request* requests) {
  int count = 0;
  for (int number = 0; number < kMessages; ++number)
    for (int source = 1; source < size; ++source, ++count)
      MPI_Irecv(room + count * kInts, kInts, MPI_INT, source, kTag, MPI_COMM_WORLD, &requests[count]);
  for (int source = 1; source < size; ++source) MPI_Send(&round, 1, MPI_INT, source, kGoTag, MPI_COMM_WORLD);
  if (round % 3 != 0) compute(round % 3 * 1500);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  count = 0;
  for (int number = 0; number < kMessages; ++number)
    for (int source = 1; source < size; ++source, ++count)
      for (int i = 0; i < kInts; ++i) CHECK(room[count * kInts + i] == value(source, round, number, i));
}

static void send_when_told(int rank) {
  int message[kInts];
  for (int round = 0; round < kRounds; ++round) {
    int told;
    MPI_Recv(&told, 1, MPI_INT, 0, kGoTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(told == round);
    for (int number = 0; number < kMessages; ++number) {
      for (int i = 0; i < kInts; ++i) message[i] = value(rank, round, number, i);
      MPI_Send(message, kInts, MPI_INT, 0, kTag, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    const size_t messages = (size_t)(size - 1) * kMessages;
    int* room = malloc(messages * kInts * sizeof(int));
    MPI_Request* requests = malloc(messages * sizeof(MPI_Request));
    for (int round = 0; round < kRounds; ++round) receive_all(round, size, room, requests);
    free(requests);
    free(room);
  } else {
    send_when_told(rank);
  }
  MPI_Finalize();
  return 0;
}
