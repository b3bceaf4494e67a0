/* Exchanges, matched probes on a communicator with other ranks, requests freed while active, late messages wanted first. */
#include "check.h"

static int rank, size, right, left;

static void exchanges(void) {
  enum { kBytes = 200000 };
  static unsigned char out[kBytes], in[kBytes];
  MPI_Status status;
  MPI_Request request;
  for (int bytes = 1; bytes <= kBytes; bytes = bytes * 7 + 1) {
    fill_pattern(out, (size_t)bytes, (unsigned)rank);
    OK(MPI_Isendrecv(out, bytes, MPI_BYTE, right, 1, in, bytes, MPI_BYTE, left, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_TAG == 1 && status.MPI_SOURCE == left && is_pattern(in, (size_t)bytes, (unsigned)left));
    OK(MPI_Sendrecv_replace(in, bytes, MPI_BYTE, left, 2, right, 2, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == right && is_pattern(in, (size_t)bytes, (unsigned)rank));
    OK(MPI_Isendrecv_replace(in, bytes, MPI_BYTE, right, 3, left, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(is_pattern(in, (size_t)bytes, (unsigned)left));
  }
  OK(MPI_Sendrecv(out, 1, MPI_BYTE, MPI_PROC_NULL, 0, in, 1, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);

  /* The message is longer than the receive: the error is the request's. */
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Isendrecv(out, 10, MPI_BYTE, right, 4, in, 5, MPI_BYTE, left, 4, MPI_COMM_WORLD, &request));
  FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Only calls that return several statuses set MPI_ERROR. */
static void proc_null_leaves_the_error(void) {
  MPI_Status status;
  MPI_Message message;
  int flag, in;
  memset(&status, 0, sizeof status);
  status.MPI_ERROR = MPI_ERR_DIMS;
  OK(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
  CHECK(status.MPI_ERROR == MPI_ERR_DIMS);
  OK(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status));
  CHECK(flag && status.MPI_ERROR == MPI_ERR_DIMS);
  OK(MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
  CHECK(status.MPI_ERROR == MPI_ERR_DIMS);
  OK(MPI_Mrecv(&in, 1, MPI_INT, &message, &status));
  CHECK(status.MPI_ERROR == MPI_ERR_DIMS);
  OK(MPI_Improbe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &message, &status));
  CHECK(flag && message == MPI_MESSAGE_NO_PROC && status.MPI_ERROR == MPI_ERR_DIMS);
  OK(MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status));
  CHECK(status.MPI_ERROR == MPI_ERR_DIMS && status.MPI_SOURCE == MPI_PROC_NULL);
}

static void matched_probes(void) {
  enum { kBytes = 150000 };
  static unsigned char out[kBytes], in[kBytes];
  MPI_Status status;
  MPI_Message message;
  MPI_Request request, sending;
  MPI_Comm backwards;
  int count, flag, own;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards));
  OK(MPI_Comm_rank(backwards, &own));
  const int to = (own + 1) % size, from = (own + size - 1) % size;
  for (int bytes = 10; bytes <= kBytes; bytes = bytes * 20 + 7) {
    fill_pattern(out, (size_t)bytes, (unsigned)own);
    OK(MPI_Isend(out, bytes, MPI_BYTE, to, 8, backwards, &sending));
    OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, backwards, &message, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == bytes && status.MPI_SOURCE == from && status.MPI_TAG == 8);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, backwards, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    if (bytes == 10) {
      OK(MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status));
    } else {
      OK(MPI_Imrecv(in, bytes, MPI_BYTE, &message, &request));
      OK(MPI_Wait(&request, &status));
    }
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_TAG == 8 && status.MPI_SOURCE == from);
    CHECK(is_pattern(in, (size_t)bytes, (unsigned)from));
    OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(backwards));
  }
  OK(MPI_Mprobe(MPI_PROC_NULL, 0, backwards, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  OK(MPI_Mrecv(in, 1, MPI_BYTE, &message, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && message == MPI_MESSAGE_NULL);
  OK(MPI_Improbe(MPI_ANY_SOURCE, 4711, backwards, &flag, &message, &status));
  CHECK(!flag);
  OK(MPI_Comm_free(&backwards));
}

/* A freed request still does its work. */
static void freed_while_active(void) {
  enum { kBytes = 300000 };
  static char out[kBytes];
  static volatile char in[kBytes];
  MPI_Request request;
  int flag;
  fill_pattern(out, kBytes, (unsigned)rank);
  OK(MPI_Irecv((void*)in, kBytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Isend(out, kBytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  while (!is_pattern((const void*)in, kBytes, (unsigned)left))
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* The last of many messages is wanted first: it comes, whatever the memory for unexpected ones. */
static void late_one_first(void) {
  enum { kMessages = 3000 };
  static int values[kMessages];
  static MPI_Request requests[kMessages];
  int in;
  for (int i = 0; i < kMessages; ++i) {
    values[i] = i;
    OK(MPI_Isend(&values[i], 1, MPI_INT, right, i == kMessages - 1 ? 2 : 1, MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Recv(&in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(in == kMessages - 1);
  for (int i = 0; i < kMessages - 1; ++i) {
    OK(MPI_Recv(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in == i);
  }
  OK(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
}

/* A buffered send on a communicator made from a session finds the session's buffer. */
static void session_buffer(void) {
  MPI_Session session;
  MPI_Group world, same;
  MPI_Comm comm, copy;
  char room[1000 + MPI_BSEND_OVERHEAD];
  void* back;
  int bytes, in = -1, everyone[1][3] = {{0, size - 1, 1}};
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  OK(MPI_Group_range_incl(world, 1, everyone, &same));
  OK(MPI_Comm_create_from_group(same, "exchanges", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Session_attach_buffer(session, room, sizeof room));
  OK(MPI_Bsend(&rank, 1, MPI_INT, right, 1, copy));
  OK(MPI_Recv(&in, 1, MPI_INT, left, 1, copy, MPI_STATUS_IGNORE));
  CHECK(in == left);
  OK(MPI_Session_detach_buffer(session, &back, &bytes));
  CHECK(back == room && bytes == (int)sizeof room);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Group_free(&same));
  OK(MPI_Group_free(&world));
  OK(MPI_Session_finalize(&session));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  exchanges();
  proc_null_leaves_the_error();
  matched_probes();
  freed_while_active();
  late_one_first();
  session_buffer();
  OK(MPI_Finalize());
  return 0;
}
