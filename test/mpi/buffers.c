/* Buffered sends: buffers attached to the process, to a communicator and to a session; full buffers, flushes, and the buffers
   that the library makes itself (MPI_BUFFER_AUTOMATIC). */
#include "check.h"

static int rank, size, right, left;

enum { kMessages = 20, kBytes = 5000 };

static void send_all(MPI_Comm comm, int seed) {
  unsigned char out[kBytes];
  for (int i = 0; i < kMessages; ++i) {
    fill_pattern(out, kBytes, (unsigned)(seed + rank * 100 + i));
    OK(MPI_Bsend(out, kBytes, MPI_BYTE, right, i, comm));
    memset(out, 0, sizeof out); /* it has been copied */
  }
}
static void receive_all(MPI_Comm comm, int seed) {
  unsigned char in[kBytes];
  for (int i = kMessages - 1; i >= 0; --i) {
    OK(MPI_Recv(in, kBytes, MPI_BYTE, left, i, comm, MPI_STATUS_IGNORE));
    CHECK(is_pattern(in, kBytes, (unsigned)(seed + left * 100 + i)));
  }
}

static int needed(MPI_Comm comm) {
  int bytes;
  OK(MPI_Pack_size(kBytes, MPI_BYTE, comm, &bytes));
  return kMessages * (bytes + MPI_BSEND_OVERHEAD);
}

static void of_the_process(void) {
  int bytes = needed(MPI_COMM_WORLD), got;
  char* memory = malloc((size_t)bytes);
  void* back = NULL;
  OK(MPI_Buffer_attach(memory, bytes));
  FAILS(MPI_Buffer_attach(memory, bytes), MPI_ERR_BUFFER);
  for (int round = 0; round < 3; ++round) {
    send_all(MPI_COMM_WORLD, round);
    receive_all(MPI_COMM_WORLD, round);
    OK(MPI_Buffer_flush());
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  /* Detaching waits until everything has left: the receives are posted before it. */
  MPI_Request request;
  unsigned char in[kBytes], out[kBytes];
  OK(MPI_Irecv(in, kBytes, MPI_BYTE, left, 99, MPI_COMM_WORLD, &request));
  fill_pattern(out, kBytes, (unsigned)rank);
  OK(MPI_Bsend(out, kBytes, MPI_BYTE, right, 99, MPI_COMM_WORLD));
  OK(MPI_Buffer_detach(&back, &got));
  CHECK(back == memory && got == bytes);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(is_pattern(in, kBytes, (unsigned)left));
  free(memory);
  FAILS(MPI_Bsend(out, kBytes, MPI_BYTE, right, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER);
}

/* A buffer that is empty again takes what it took at first, wherever the message before lay. */
static void emptied(void) {
  enum { kLarge = 4000000 };
  int bytes = 2 * (kLarge + MPI_BSEND_OVERHEAD), got;
  char *memory = malloc((size_t)bytes), *data = calloc(1, kLarge);
  void* back;
  OK(MPI_Buffer_attach(memory, bytes));
  OK(MPI_Bsend(data, kLarge / 2, MPI_BYTE, right, 4, MPI_COMM_WORLD));
  OK(MPI_Recv(data, kLarge, MPI_BYTE, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Buffer_flush());
  for (int i = 0; i < 2; ++i) OK(MPI_Bsend(data, kLarge, MPI_BYTE, right, 5, MPI_COMM_WORLD));
  for (int i = 0; i < 2; ++i) OK(MPI_Recv(data, kLarge, MPI_BYTE, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Buffer_detach(&back, &got));
  free(data);
  free(memory);
}

/* A message that is larger than the whole buffer is refused, and the buffer is as good as before. */
static void full(void) {
  int bytes = kBytes + MPI_BSEND_OVERHEAD, got;
  char* memory = malloc((size_t)bytes);
  unsigned char out[kBytes + 2 * MPI_BSEND_OVERHEAD] = {1}, in[kBytes];
  void* back;
  OK(MPI_Buffer_attach(memory, bytes));
  FAILS(MPI_Bsend(out, kBytes + MPI_BSEND_OVERHEAD + 1, MPI_BYTE, right, 8, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  OK(MPI_Bsend(out, kBytes, MPI_BYTE, right, 7, MPI_COMM_WORLD));
  OK(MPI_Recv(in, kBytes, MPI_BYTE, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Buffer_detach(&back, &got));
  free(memory);
}

/* A communicator's own buffer goes before that of the process. */
static void of_a_communicator(void) {
  MPI_Comm comm;
  MPI_Count big_got;
  int bytes = needed(MPI_COMM_WORLD), got;
  char *memory = malloc((size_t)bytes), *large = malloc((size_t)bytes);
  void* back;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_attach_buffer(comm, memory, bytes));
  FAILS(MPI_Comm_attach_buffer(comm, memory, bytes), MPI_ERR_BUFFER);
  send_all(comm, 50);
  receive_all(comm, 50);
  OK(MPI_Comm_flush_buffer(comm));
  OK(MPI_Comm_detach_buffer(comm, &back, &got));
  CHECK(back == memory && got == bytes);
  OK(MPI_Comm_attach_buffer_c(comm, large, bytes));
  MPI_Request request;
  OK(MPI_Ibsend(&rank, 1, MPI_INT, right, 3, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int from = -1;
  OK(MPI_Recv(&from, 1, MPI_INT, left, 3, comm, MPI_STATUS_IGNORE));
  CHECK(from == left);
  OK(MPI_Comm_iflush_buffer(comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_detach_buffer_c(comm, &back, &big_got));
  CHECK(back == large && big_got == bytes);
  OK(MPI_Comm_free(&comm));
  free(memory);
  free(large);
}

static void of_a_session(void) {
  MPI_Session session;
  MPI_Request request;
  int bytes = needed(MPI_COMM_WORLD), got;
  char* memory = malloc((size_t)bytes);
  void* back;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Session_attach_buffer(session, memory, bytes));
  FAILS(MPI_Session_attach_buffer(session, memory, bytes), MPI_ERR_BUFFER);
  OK(MPI_Session_flush_buffer(session));
  OK(MPI_Session_iflush_buffer(session, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Session_detach_buffer(session, &back, &got));
  CHECK(back == memory && got == bytes);
  OK(MPI_Session_finalize(&session));
  free(memory);
}

static void automatic(void) {
  void* back = &rank;
  int bytes;
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, -1)); /* the size does not matter */
  send_all(MPI_COMM_WORLD, 90);
  receive_all(MPI_COMM_WORLD, 90);
  OK(MPI_Buffer_detach(&back, &bytes));
  CHECK(back == MPI_BUFFER_AUTOMATIC);
}

static void persistent(void) {
  int bytes = 1000 + MPI_BSEND_OVERHEAD, from = -1;
  char* memory = malloc((size_t)bytes);
  void* back;
  MPI_Request request;
  OK(MPI_Buffer_attach(memory, bytes));
  OK(MPI_Bsend_init(&rank, 1, MPI_INT, right, 9, MPI_COMM_WORLD, &request));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&from, 1, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(from == left);
  }
  OK(MPI_Request_free(&request));
  OK(MPI_Buffer_detach(&back, &bytes));
  free(memory);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  of_the_process();
  emptied();
  full();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  of_a_communicator();
  of_a_session();
  automatic();
  persistent();
  OK(MPI_Finalize());
  return 0;
}
