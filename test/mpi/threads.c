/* MPI_THREAD_MULTIPLE: threads of all ranks at the same time, in pairs, in collectives, in matched probes, sharing requests. */
#include "all_threads.h"

#include <pthread.h>
#include <unistd.h>

static int rank, size, right, left;

enum { kRounds = 60 };

static MPI_Comm comms[kThreads];

static void on_threads_of_all_ranks(void* (*body)(void*)) {
  on_all_threads(body);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Thread t talks with thread t of the neighbours, told apart by tag; sizes around every protocol's border. */
static void* pairs(void* argument) {
  const int t = *(int*)argument;
  static const int sizes[] = {0, 8, 1000, 9000, 70000, 300000};
  unsigned char* out = malloc(300000);
  unsigned char* in = malloc(300000);
  for (int i = 0; i < kRounds; ++i) {
    const int bytes = sizes[(i + t) % 6];
    MPI_Status status;
    int count;
    fill_pattern(out, (size_t)bytes, (unsigned)(rank * 1000 + t * 100 + i));
    if (i % 2) {
      OK(MPI_Sendrecv(out, bytes, MPI_BYTE, right, t, in, bytes, MPI_BYTE, left, t, MPI_COMM_WORLD, &status));
    } else {
      MPI_Request requests[2];
      MPI_Status both[2];
      OK(MPI_Irecv(in, bytes, MPI_BYTE, left, t, MPI_COMM_WORLD, &requests[0]));
      OK(MPI_Isend(out, bytes, MPI_BYTE, right, t, MPI_COMM_WORLD, &requests[1]));
      OK(MPI_Waitall(2, requests, both));
      status = both[0];
    }
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == bytes && status.MPI_TAG == t && is_pattern(in, (size_t)bytes, (unsigned)(left * 1000 + t * 100 + i)));
  }
  free(out);
  free(in);
  return NULL;
}

static void* collectives(void* argument) {
  const int t = *(int*)argument;
  int* values = malloc(sizeof(int) * 20000);
  int* sums = malloc(sizeof(int) * 20000);
  for (int i = 0; i < kRounds; ++i) {
    const int count = i % 3 == 0 ? 1 : i % 3 == 1 ? 500 : 20000;
    for (int k = 0; k < count; ++k) values[k] = rank + k + t * i;
    if (i % 2) {
      OK(MPI_Allreduce(values, sums, count, MPI_INT, MPI_SUM, comms[t]));
    } else {
      MPI_Request request;
      OK(MPI_Iallreduce(values, sums, count, MPI_INT, MPI_SUM, comms[t], &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    for (int k = 0; k < count; ++k) CHECK(sums[k] == size * (size - 1) / 2 + size * (k + t * i));
    int token = rank == i % size ? i * 10 + t : -1;
    OK(MPI_Bcast(&token, 1, MPI_INT, i % size, comms[t]));
    CHECK(token == i * 10 + t);
  }
  free(values);
  free(sums);
  return NULL;
}

/* All threads take messages by matched probe from one stream: each message is taken once, whole. */
static int taken[kThreads * kRounds];
static void* probes(void* argument) {
  const int t = *(int*)argument;
  int out[8], in[8];
  for (int i = 0; i < kRounds; ++i) {
    for (int k = 0; k < 8; ++k) out[k] = t * kRounds + i;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    OK(MPI_Isend(out, 1 + i % 8, MPI_INT, right, 77, MPI_COMM_WORLD, &request));
    if (i % 2) {
      OK(MPI_Mprobe(left, 77, MPI_COMM_WORLD, &message, &status));
    } else {
      for (int flag = 0; !flag;) OK(MPI_Improbe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, &message, &status));
    }
    int count;
    OK(MPI_Get_count(&status, MPI_INT, &count));
    OK(MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK(in[0] >= 0 && in[0] < kThreads * kRounds && in[count - 1] == in[0] && count == 1 + in[0] % kRounds % 8);
    CHECK(__atomic_add_fetch(&taken[in[0]], 1, __ATOMIC_RELAXED) == 1);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  return NULL;
}

/* One thread waits for what another one completes: rank to itself. */
static void* to_myself(void* argument) {
  const int t = *(int*)argument;
  for (int i = 0; i < kRounds; ++i) {
    int value = -1, sent = t * 1000 + i;
    if (t % 2) {
      OK(MPI_Ssend(&sent, 1, MPI_INT, rank, 200 + t, MPI_COMM_WORLD));
    } else {
      OK(MPI_Recv(&value, 1, MPI_INT, rank, 200 + t + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(value == (t + 1) * 1000 + i);
    }
  }
  return NULL;
}

/* Communicators, datatypes and attributes made and freed by all threads. */
static void* objects(void* argument) {
  const int t = *(int*)argument;
  for (int i = 0; i < kRounds / 4; ++i) {
    MPI_Comm copy;
    MPI_Datatype type;
    int sum = 0, cells[4] = {1, 2, 3, 4};
    OK(MPI_Comm_dup(comms[t], &copy));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Sendrecv_replace(cells, 1, type, right, 5, left, 5, copy, MPI_STATUS_IGNORE));
    OK(MPI_Allreduce(&cells[2], &sum, 1, MPI_INT, MPI_SUM, copy));
    CHECK(sum == 3 * size);
    OK(MPI_Type_free(&type));
    OK(MPI_Comm_free(&copy));
  }
  return NULL;
}

/* One thread sleeps in a receive, and drives, while another sends what a link may keep until it is copied or acknowledged; and nothing comes that would
 * wake the first, before the second has gone on. */
static void* receive_last(void* argument) {
  const int partner = *(int*)argument;
  OK(MPI_Recv(NULL, 0, MPI_BYTE, partner, 301, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return NULL;
}
static void beside_a_receive(void) {
  static char content[60000];
  int partner = rank ^ 1;
  for (int bytes = 10000; bytes <= 60000 && partner < size; bytes += 10000) {
    if (rank < partner) {
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, receive_last, &partner) == 0);
      usleep(20000);
      OK(MPI_Send(content, bytes, MPI_BYTE, partner, 300, MPI_COMM_WORLD));
      OK(MPI_Send(NULL, 0, MPI_BYTE, partner, 300, MPI_COMM_WORLD));
      CHECK(pthread_join(thread, NULL) == 0);
    } else {
      OK(MPI_Recv(content, bytes, MPI_BYTE, partner, 300, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Recv(NULL, 0, MPI_BYTE, partner, 300, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Send(NULL, 0, MPI_BYTE, partner, 301, MPI_COMM_WORLD));
    }
  }
}

/* One thread detaches the buffer, which the first message keeps; another sends a second one meanwhile, which then keeps it as well. */
static char lent[9000000];
static int detached;
static void* detach(void* argument) {
  void* memory;
  int bytes;
  OK(MPI_Buffer_detach(&memory, &bytes));
  CHECK(memory == lent && bytes == (int)sizeof lent);
  memset(lent, 0, sizeof lent);
  __atomic_store_n(&detached, 1, __ATOMIC_RELEASE);
  return NULL;
}
static void talk(int partner) {
  for (int i = 0; i < 300; ++i) OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, 402, NULL, 0, MPI_BYTE, partner, 402, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}
static void detaching(void) {
  static char content[4000000];
  const int partner = rank ^ 1;
  if (partner >= size) return;
  if (rank < partner) {
    pthread_t thread;
    OK(MPI_Buffer_attach(lent, sizeof lent));
    fill_pattern(content, sizeof content, 1);
    OK(MPI_Bsend(content, sizeof content, MPI_BYTE, partner, 400, MPI_COMM_WORLD));
    CHECK(pthread_create(&thread, NULL, detach, NULL) == 0);
    talk(partner);
    fill_pattern(content, sizeof content, 2);
    OK(MPI_Bsend(content, sizeof content, MPI_BYTE, partner, 401, MPI_COMM_WORLD));
    OK(MPI_Send(NULL, 0, MPI_BYTE, partner, 403, MPI_COMM_WORLD));
    talk(partner);
    CHECK(!__atomic_load_n(&detached, __ATOMIC_ACQUIRE));
    OK(MPI_Send(NULL, 0, MPI_BYTE, partner, 403, MPI_COMM_WORLD));
    CHECK(pthread_join(thread, NULL) == 0);
  } else {
    talk(partner);
    for (int seed = 1; seed <= 2; ++seed) {
      OK(MPI_Recv(NULL, 0, MPI_BYTE, partner, 403, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Recv(content, sizeof content, MPI_BYTE, partner, 399 + seed, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(is_pattern(content, sizeof content, (unsigned)seed));
      if (seed == 1) talk(partner);
    }
  }
}

int main(int argc, char** argv) {
  int provided, is_main;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  OK(MPI_Is_thread_main(&is_main));
  CHECK(is_main);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  for (int t = 0; t < kThreads; ++t) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
  on_threads_of_all_ranks(pairs);
  on_threads_of_all_ranks(collectives);
  on_threads_of_all_ranks(probes);
  on_threads_of_all_ranks(to_myself);
  on_threads_of_all_ranks(objects);
  beside_a_receive();
  detaching();
  for (int i = 0; i < kThreads * kRounds; ++i) CHECK(taken[i] == 1);
  for (int t = 0; t < kThreads; ++t) OK(MPI_Comm_free(&comms[t]));
  OK(MPI_Finalize());
  return 0;
}
