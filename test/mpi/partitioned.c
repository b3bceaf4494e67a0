/* Partitioned communication: parts ready in any order, other cuts on the receiving side, rounds, several at once. */
#include "check.h"

static int rank, size, right, left;

/* `sends` partitions on one side and `receives` on the other, of `total` ints. */
static void round_trip(int sends, int receives, int total, MPI_Datatype type, int ints_per_element, int stride) {
  const size_t length = (size_t)total / (size_t)ints_per_element * (size_t)stride;
  int* out = calloc(length, sizeof(int));
  int* in = calloc(length, sizeof(int));
  const int elements = total / ints_per_element;
  MPI_Request requests[2];
  int flag;
  OK(MPI_Psend_init(out, sends, elements / sends, type, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in, receives, elements / receives, type, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < length; ++i) {
      out[i] = (int)i + rank * 100000 + round;
      in[i] = -1;
    }
    OK(MPI_Startall(2, requests));
    OK(MPI_Parrived(requests[1], receives - 1, &flag));
    if (round == 1 && sends > 1) OK(MPI_Pready_range(1, sends - 1, requests[0]));
    for (int odd = 1; odd >= 0 && round != 1; --odd)
      for (int i = sends - 1; i > 0; --i)
        if (i % 2 == odd) OK(MPI_Pready(i, requests[0]));
    if (receives == sends && sends > 1) {
      do OK(MPI_Parrived(requests[1], receives - 1, &flag)); while (!flag);
      OK(MPI_Parrived(requests[1], 0, &flag));
    }
    OK(MPI_Pready_range(0, 0, requests[0]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Parrived(requests[1], 0, &flag));
    CHECK(flag);
    for (size_t i = 0; i < length; ++i) {
      const int data = (int)(i % (size_t)stride) < ints_per_element;
      CHECK(in[i] == (data ? (int)i + left * 100000 + round : -1));
    }
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  free(out);
  free(in);
}

/* Two with the same tag: they meet in the order they were made, whatever starts first. */
static void two_at_once(void) {
  int out[2] = {rank * 2, rank * 2 + 1}, in[2] = {-1, -1};
  MPI_Request send[2], receive[2];
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Psend_init(&out[i], 1, 1, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send[i]));
    OK(MPI_Precv_init(&in[i], 1, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive[i]));
  }
  const int zero[1] = {0};
  for (int i = 1; i >= 0; --i) {
    OK(MPI_Start(&send[i]));
    OK(MPI_Pready_list(1, zero, send[i]));
  }
  OK(MPI_Startall(2, receive));
  int plain = -1;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 3, &plain, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(plain == left);
  OK(MPI_Waitall(2, send, MPI_STATUSES_IGNORE));
  OK(MPI_Waitall(2, receive, MPI_STATUSES_IGNORE));
  CHECK(in[0] == left * 2 && in[1] == left * 2 + 1);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_Pready(0, send[0]), MPI_ERR_REQUEST);
  OK(MPI_Start(&send[0]));
  FAILS(MPI_Pready(1, send[0]), MPI_ERR_ARG);
  OK(MPI_Pready(0, send[0]));
  FAILS(MPI_Pready(0, send[0]), MPI_ERR_ARG);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Start(&receive[0]));
  OK(MPI_Wait(&receive[0], MPI_STATUS_IGNORE));
  OK(MPI_Wait(&send[0], MPI_STATUS_IGNORE));
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Request_free(&send[i]));
    OK(MPI_Request_free(&receive[i]));
  }
}

/* Calls about a request of the other side are raised on its communicator. */
static MPI_Comm told;
static void listener(MPI_Comm* comm, int* code, ...) { told = *comm; }
static void of_the_other_side(void) {
  int out = rank, in = -1, flag;
  MPI_Comm comm;
  MPI_Errhandler made;
  MPI_Request requests[2];
  OK(MPI_Comm_create_errhandler(listener, &made));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, made));
  OK(MPI_Psend_init(&out, 1, 1, MPI_INT, right, 3, comm, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(&in, 1, 1, MPI_INT, left, 3, comm, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Startall(2, requests));
  FAILS(MPI_Pready(0, requests[1]), MPI_ERR_REQUEST);
  CHECK(told == comm);
  told = MPI_COMM_NULL;
  FAILS(MPI_Parrived(requests[0], 0, &flag), MPI_ERR_REQUEST);
  CHECK(told == comm);
  OK(MPI_Pready(0, requests[0]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(in == left);
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&requests[i]));
  OK(MPI_Errhandler_free(&made));
  OK(MPI_Comm_free(&comm));
}

/* A receive with less room than the send has gets what there is room for; and both come to their ends, however long the partitions. */
static void truncated(int sends, int receives, int bytes, int room) {
  const size_t sent = (size_t)sends * (size_t)bytes, wanted = (size_t)receives * (size_t)room;
  unsigned char *out = malloc(sent), *in = malloc(wanted + 1);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  fill_pattern(out, sent, (unsigned)rank);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Psend_init(out, sends, bytes, MPI_BYTE, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in, receives, room, MPI_BYTE, left, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 2; ++round) {
    memset(in, 0, wanted + 1);
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready_range(0, sends - 1, requests[0]));
    FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_ERROR == MPI_ERR_TRUNCATE);
    CHECK(is_pattern(in, wanted, (unsigned)left) && in[wanted] == 0);
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&requests[i]));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  free(out);
  free(in);
}

/* A receive that is freed before its send is made has that send all the same, and not the next one. */
static void freed_before_it_is_met(void) {
  int out[2] = {rank, rank + 100}, in[2] = {-1, -1};
  MPI_Request send, receive;
  OK(MPI_Precv_init(in, 2, 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  OK(MPI_Request_free(&receive));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Psend_init(out, 2, 1, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  OK(MPI_Request_free(&send));
  OK(MPI_Psend_init(out, 2, 1, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(in, 2, 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  OK(MPI_Start(&receive));
  OK(MPI_Start(&send));
  OK(MPI_Pready_range(0, 1, send));
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK(in[0] == left && in[1] == left + 100);
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
  /* One that is never met does not hold up the end. */
  OK(MPI_Precv_init(in, 2, 1, MPI_INT, left, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  OK(MPI_Request_free(&receive));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  MPI_Datatype pairs;
  OK(MPI_Type_create_resized(MPI_2INT, 0, 3 * sizeof(int), &pairs));
  OK(MPI_Type_commit(&pairs));
  for (int total = 24; total <= 240000; total *= 100) {
    round_trip(1, 1, total, MPI_INT, 1, 1);
    round_trip(6, 6, total, MPI_INT, 1, 1);
    round_trip(4, 6, total, MPI_INT, 1, 1);
    round_trip(6, 6, total, pairs, 2, 3);
    round_trip(4, 3, total, pairs, 2, 3);
  }
  round_trip(5, 5, 2560, MPI_INT, 1, 1);
  round_trip(5, 4, 2560, MPI_INT, 1, 1);
  round_trip(600, 600, 1200, MPI_INT, 1, 1);
  round_trip(600, 400, 1200, MPI_INT, 1, 1);
  round_trip(600, 600, 7200, pairs, 2, 3);
  round_trip(1500, 900, 9000, pairs, 2, 3);
  two_at_once();
  of_the_other_side();
  for (int bytes = 20; bytes <= 400000; bytes *= 100) {
    truncated(2, 2, bytes, bytes * 3 / 4);
    truncated(5, 2, bytes, bytes);
    truncated(3, 4, bytes, bytes / 2);
    truncated(4, 2, bytes, 0);
    truncated(300, 7, bytes / 20, bytes);
  }
  freed_before_it_is_met();
  MPI_Request nothing[2];
  OK(MPI_Psend_init(NULL, 0, 5, MPI_INT, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &nothing[0]));
  OK(MPI_Precv_init(NULL, 0, 5, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &nothing[1]));
  for (int round = 0; round < 2; ++round) {
    OK(MPI_Startall(2, nothing));
    OK(MPI_Waitall(2, nothing, MPI_STATUSES_IGNORE));
  }
  OK(MPI_Request_free(&nothing[0]));
  OK(MPI_Request_free(&nothing[1]));
  MPI_Request nobody[2];
  OK(MPI_Psend_init(NULL, 2, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &nobody[0]));
  OK(MPI_Precv_init(NULL, 2, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &nobody[1]));
  OK(MPI_Startall(2, nobody));
  OK(MPI_Pready_range(0, 1, nobody[0]));
  OK(MPI_Waitall(2, nobody, MPI_STATUSES_IGNORE));
  OK(MPI_Request_free(&nobody[0]));
  OK(MPI_Request_free(&nobody[1]));
  OK(MPI_Type_free(&pairs));
  OK(MPI_Finalize());
  return 0;
}
