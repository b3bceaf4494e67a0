/* Point to point, all modes and many sizes, contiguous and not, in both directions between all pairs; order per pair. */
#include "check.h"

static int rank, size;

static const int sizes[] = {0, 1, 7, 8, 63, 64, 100, 4095, 8192, 8193, 65535, 65536, 65537, 200000, 1 << 20, 3000001};
enum { kSizes = sizeof sizes / sizeof *sizes };

typedef int (*Sender)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

static void ring_exchange(Sender send) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int s = 0; s < kSizes; ++s) {
    unsigned char* out = malloc((size_t)sizes[s] + 1);
    unsigned char* in = malloc((size_t)sizes[s] + 1);
    fill_pattern(out, (size_t)sizes[s], (unsigned)(rank * 100 + s));
    in[sizes[s]] = 0x5a;
    MPI_Request request;
    MPI_Status status;
    int count;
    OK(MPI_Irecv(in, sizes[s], MPI_BYTE, left, s, MPI_COMM_WORLD, &request));
    OK(send(out, sizes[s], MPI_BYTE, right, s, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == sizes[s] && status.MPI_SOURCE == left && status.MPI_TAG == s);
    CHECK(is_pattern(in, (size_t)sizes[s], (unsigned)(left * 100 + s)));
    CHECK(in[sizes[s]] == 0x5a);
    free(out);
    free(in);
  }
}

/* Unexpected: all messages are sent before any receive, then received by wildcard; per pair they come in order. */
static void unexpected_in_order(void) {
  enum { kEach = 50 };
  MPI_Request requests[64 * kEach];
  int numbers[kEach];
  int posted = 0;
  for (int i = 0; i < kEach; ++i) {
    numbers[i] = i;
    for (int peer = 0; peer < size; ++peer)
      OK(MPI_Isend(&numbers[i], 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &requests[posted++]));
  }
  int next[64] = {0};
  for (int i = 0; i < kEach * size; ++i) {
    int number;
    MPI_Status status;
    OK(MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_TAG == 5 && number == next[status.MPI_SOURCE]);
    ++next[status.MPI_SOURCE];
  }
  OK(MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE));
}

/* Columns of a matrix to rows: scattered on one side, contiguous on the other, short and long. */
static void derived_types(void) {
  static const int rows[] = {3, 500, 200000};
  for (int r = 0; r < 3; ++r) {
    const int n = rows[r], right = (rank + 1) % size, left = (rank + size - 1) % size;
    int* matrix = malloc(sizeof(int) * (size_t)n * 3);
    int* column = malloc(sizeof(int) * (size_t)n);
    for (int i = 0; i < 3 * n; ++i) matrix[i] = rank * 1000003 + i;
    MPI_Datatype type;
    OK(MPI_Type_vector(n, 1, 3, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Sendrecv(matrix + 1, 1, type, right, 1, column, n, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < n; ++i) CHECK(column[i] == left * 1000003 + 3 * i + 1);
    OK(MPI_Sendrecv(column, n, MPI_INT, left, 2, matrix + 2, 1, type, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < n; ++i) {
      CHECK(matrix[3 * i + 2] == rank * 1000003 + 3 * i + 1);
      CHECK(matrix[3 * i] == rank * 1000003 + 3 * i);
    }
    OK(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
    free(matrix);
    free(column);
  }
}

static void truncation(void) {
  char small[4] = {0}, large[100000];
  memset(large, 7, sizeof large);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (int bytes = 10; bytes <= 100000; bytes *= 100) {
    MPI_Request request;
    OK(MPI_Isend(large, bytes, MPI_BYTE, right, 9, MPI_COMM_WORLD, &request));
    FAILS(MPI_Recv(small, 3, MPI_BYTE, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK(small[3] == 0);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  /* And the next message is whole. */
  OK(MPI_Sendrecv(large, 3, MPI_BYTE, right, 9, small, 3, MPI_BYTE, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(small[0] == 7 && small[2] == 7 && small[3] == 0);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void probes(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int bytes = 16; bytes <= 1 << 20; bytes *= 256) {
    unsigned char* out = malloc((size_t)bytes);
    unsigned char* in = malloc((size_t)bytes);
    fill_pattern(out, (size_t)bytes, (unsigned)rank);
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    int count;
    OK(MPI_Isend(out, bytes, MPI_BYTE, right, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Mprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == bytes && status.MPI_TAG == 3 && status.MPI_SOURCE == left);
    OK(MPI_Mrecv(in, count, MPI_BYTE, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL && is_pattern(in, (size_t)bytes, (unsigned)left));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Isend(out, bytes, MPI_BYTE, right, 4, MPI_COMM_WORLD, &request));
    int flag = 0;
    while (!flag) OK(MPI_Iprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &flag, &status));
    OK(MPI_Recv(in, bytes, MPI_BYTE, status.MPI_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD)); /* MPI_ANY_SOURCE above must not meet the next round */
    free(out);
    free(in);
  }
}

static void persistent_and_cancel(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int out = 0, in = -1, flag;
  MPI_Request requests[2];
  MPI_Status status;
  OK(MPI_Recv_init(&in, 1, MPI_INT, left, 11, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Send_init(&out, 1, MPI_INT, right, 11, MPI_COMM_WORLD, &requests[1]));
  for (int i = 0; i < 100; ++i) {
    out = rank * 1000 + i;
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in == left * 1000 + i && requests[0] != MPI_REQUEST_NULL);
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  MPI_Request receive;
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 12345, MPI_COMM_WORLD, &receive));
  OK(MPI_Cancel(&receive));
  OK(MPI_Wait(&receive, &status));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK(flag);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  int attached_bytes = 1 << 23;
  void* attached = malloc((size_t)attached_bytes);
  OK(MPI_Buffer_attach(attached, attached_bytes));
  ring_exchange(MPI_Send);
  ring_exchange(MPI_Ssend);
  ring_exchange(MPI_Rsend);
  ring_exchange(MPI_Bsend);
  OK(MPI_Buffer_detach(&attached, &attached_bytes));
  free(attached);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  unexpected_in_order();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  derived_types();
  truncation();
  probes();
  persistent_and_cancel();
  OK(MPI_Finalize());
  return 0;
}
