/* Wrong arguments: each is reported with its class and a text that names the function and the argument, and changes nothing. */
#include "check.h"

/* The sanitizers report it, rightly. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { kMayReadFreed = 0 };
#else
enum { kMayReadFreed = 1 };
#endif

static int rank, size;

/* The call fails with this class, and the text says the function and `word`. */
#define SAYS(call, wanted, word)                                              \
  do {                                                                        \
    char text_[MPI_MAX_ERROR_STRING];                                         \
    int length_, code_ = (call), class_ = -1;                                 \
    OK(MPI_Error_class(code_, &class_));                                      \
    OK(MPI_Error_string(code_, text_, &length_));                             \
    if (class_ != (wanted) || !strstr(text_, word) || !strstr(text_, "MPI_")) { \
      fprintf(stderr, "%s:%d: class %d (wanted %s): %s\n", __FILE__, __LINE__, class_, #wanted, text_); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                           \
    }                                                                         \
  } while (0)

static int value;
static MPI_Request request = MPI_REQUEST_NULL;
static MPI_Status status;

static void point_to_point(void) {
  SAYS(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "-1");
  SAYS(MPI_Send_c(&value, -5, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "-5");
  SAYS(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Send");
  SAYS(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "MPI_Send");
  SAYS(MPI_Send(&value, 1, MPI_INT, -17, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "-17");
  SAYS(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "MPI_Send");
  SAYS(MPI_Send(&value, 1, MPI_INT, 0, -3, MPI_COMM_WORLD), MPI_ERR_TAG, "-3");
  SAYS(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG, "MPI_Send");
  SAYS(MPI_Recv(&value, 1, MPI_INT, size + 1, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK, "MPI_Recv");
  SAYS(MPI_Recv(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &status), MPI_ERR_TAG, "-5");
  SAYS(MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &request), MPI_ERR_COMM, "MPI_Isend");
  SAYS(MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "request");
  SAYS(MPI_Probe(size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK, "MPI_Probe");
  SAYS(MPI_Iprobe(0, 0, MPI_COMM_WORLD, NULL, &status), MPI_ERR_ARG, "flag");
  MPI_Message message = MPI_MESSAGE_NULL;
  CHECK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status) != MPI_SUCCESS);
  SAYS(MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, &value, -2, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_COUNT, "-2");
  SAYS(MPI_Wait(NULL, &status), MPI_ERR_ARG, "request");
  int found;
  SAYS(MPI_Waitsome(1, &request, &found, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "array_of_indices");
  SAYS(MPI_Testsome(1, &request, &found, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "array_of_indices");
  OK(MPI_Waitsome(0, NULL, &found, NULL, MPI_STATUSES_IGNORE));
  SAYS(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start");
  SAYS(MPI_Request_free(&request), MPI_ERR_REQUEST, "MPI_Request_free");
  CHECK(request == MPI_REQUEST_NULL);
}

/* NULL is MPI_BOTTOM: wrong where data would lie in page 0, right where none does. */
static void null_buffers(void) {
  void* null = NULL;
  SAYS(MPI_Send(null, 10, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "buf is a null pointer");
  SAYS(MPI_Send((char*)8, 10, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "buf is close to a null pointer");
  SAYS(MPI_Isend_c(null, 10, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER, "MPI_Isend_c: buf is");
  SAYS(MPI_Recv(null, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_BUFFER, "buf is a null pointer");
  SAYS(MPI_Recv_init(null, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER, "buf is a null pointer");
  SAYS(MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, null, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_BUFFER, "recvbuf is");
  SAYS(MPI_Psend_init(null, 2, 3, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request), MPI_ERR_BUFFER, "buf is");
  CHECK(request == MPI_REQUEST_NULL);
  int position = 0;
  SAYS(MPI_Pack(null, 1, MPI_INT, &value, 4, &position, MPI_COMM_WORLD), MPI_ERR_BUFFER, "inbuf is a null pointer");
  SAYS(MPI_Unpack(&value, 4, &position, null, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER, "outbuf is a null pointer");

  MPI_Datatype absolute, empty;
  MPI_Aint address;
  int one = 1, in = -1;
  value = 4711;
  OK(MPI_Get_address(&value, &address));
  OK(MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute));
  OK(MPI_Type_commit(&absolute));
  OK(MPI_Sendrecv(MPI_BOTTOM, 1, absolute, rank, 0, &in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &status));
  CHECK(in == 4711);
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Sendrecv(NULL, 0, MPI_INT, rank, 0, NULL, 5, empty, rank, 0, MPI_COMM_WORLD, &status));
  OK(MPI_Send(NULL, 10, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD)); /* at the border of a grid */
  OK(MPI_Recv(NULL, 10, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  OK(MPI_Sendrecv_replace(NULL, 10, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  SAYS(MPI_Sendrecv_replace(NULL, 10, MPI_INT, MPI_PROC_NULL, 0, rank, 0, MPI_COMM_WORLD, &status), MPI_ERR_BUFFER, "buf is");
  SAYS(MPI_Buffer_attach(NULL, 1000), MPI_ERR_BUFFER, "buffer is a null pointer");
  OK(MPI_Type_free(&absolute));
  OK(MPI_Type_free(&empty));
}

/* More bytes than an MPI_Count can tell: nothing is sent, reduced or packed of them, and a receive of so many is one of whatever comes. */
static void uncountable_bytes(void) {
  const MPI_Count many = ((MPI_Count)1 << 62) + 1;
  MPI_Count bytes = 0;
  MPI_Datatype gaps;
  int in = -1;
  value = 4711;
  OK(MPI_Type_create_resized(MPI_INT, 0, 0, &gaps));
  OK(MPI_Type_commit(&gaps));
  SAYS(MPI_Send_c(&value, many, gaps, rank, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "MPI_Send_c: the count is 4611686018427387905");
  SAYS(MPI_Sendrecv_c(&value, many, gaps, rank, 0, &in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &status), MPI_ERR_COUNT, "sendtype");
  SAYS(MPI_Bcast_c(&value, many, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "MPI_INT");
  SAYS(MPI_Allreduce_c(&value, &in, many, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT, "MPI_INT");
  const MPI_Count one = 1;
  const MPI_Aint start = 0;
  SAYS(MPI_Alltoallv_c(&value, &many, &start, MPI_INT, &in, &one, &start, MPI_INT, MPI_COMM_SELF), MPI_ERR_COUNT, "sendtype");
  SAYS(MPI_Pack_c(&value, many, gaps, &in, sizeof in, &bytes, MPI_COMM_WORLD), MPI_ERR_COUNT, "MPI_Pack_c");
  OK(MPI_Pack_size_c(many, MPI_INT, MPI_COMM_WORLD, &bytes));
  CHECK(bytes == MPI_UNDEFINED);
  OK(MPI_Pack_external_size_c("external32", many, MPI_INT, &bytes));
  CHECK(bytes == MPI_UNDEFINED);
  OK(MPI_Sendrecv_c(&value, 1, MPI_INT, rank, 0, &in, many, MPI_INT, rank, 0, MPI_COMM_WORLD, &status));
  CHECK(in == 4711);
  in = -1;
  OK(MPI_Sendrecv_c(&value, 1, MPI_INT, rank, 0, &in, many, gaps, rank, 0, MPI_COMM_WORLD, &status));
  CHECK(in == 4711);
  OK(MPI_Type_free(&gaps));
}

/* Numbers that no handle has, and addresses where nothing can be: the argument is named, and not followed. */
static void garbage_handles(void) {
  const MPI_Aint garbage[] = {1, 5, 0x17f, 0xfff, 4096, 5000, 65535, -1, -4096};
  int n;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Info info;
  for (int i = 0; i < (int)(sizeof garbage / sizeof garbage[0]); ++i) {
    void* bad = (void*)garbage[i];
    SAYS(MPI_Comm_size((MPI_Comm)bad, &n), MPI_ERR_COMM, "MPI_Comm_size: comm ");
    SAYS(MPI_Comm_get_name((MPI_Comm)bad, name, &n), MPI_ERR_COMM, "MPI_Comm_get_name: comm ");
    SAYS(MPI_Send(&value, 1, MPI_INT, 0, 0, (MPI_Comm)bad), MPI_ERR_COMM, "MPI_Send: comm ");
    SAYS(MPI_Send(&value, 1, (MPI_Datatype)bad, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Send: datatype ");
    SAYS(MPI_Type_size((MPI_Datatype)bad, &n), MPI_ERR_TYPE, "MPI_Type_size: datatype ");
    SAYS(MPI_Reduce_local(&value, &n, 1, MPI_INT, (MPI_Op)bad), MPI_ERR_OP, "MPI_Reduce_local: op ");
    SAYS(MPI_Group_size((MPI_Group)bad, &n), MPI_ERR_GROUP, "MPI_Group_size: group ");
    SAYS(MPI_Info_get_nkeys((MPI_Info)bad, &n), MPI_ERR_INFO, "MPI_Info_get_nkeys: info ");
    SAYS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, (MPI_Errhandler)bad), MPI_ERR_ERRHANDLER, "errhandler ");
    SAYS(MPI_Session_get_info((MPI_Session)bad, &info), MPI_ERR_SESSION, "session ");
    MPI_Request waited = (MPI_Request)bad;
    SAYS(MPI_Wait(&waited, &status), MPI_ERR_REQUEST, "MPI_Wait: request ");
    MPI_Message message = (MPI_Message)bad;
    SAYS(MPI_Mrecv(&n, 1, MPI_INT, &message, &status), MPI_ERR_REQUEST, "MPI_Mrecv: message ");
  }
}

static void datatypes(void) {
  MPI_Datatype type, made, integer = MPI_INT;
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  SAYS(MPI_Send(&value, 1, type, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Type_commit");
  OK(MPI_Type_free(&type));
  SAYS(MPI_Type_contiguous(-1, MPI_INT, &made), MPI_ERR_COUNT, "-1");
  SAYS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &made), MPI_ERR_TYPE, "MPI_Type_contiguous");
  SAYS(MPI_Type_free(&integer), MPI_ERR_TYPE, "MPI_Type_free");
  CHECK(integer == MPI_INT);
  int sizes[1] = {4}, parts[1] = {3}, starts[1] = {2};
  CHECK(MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made) != MPI_SUCCESS);
  SAYS(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG, "size");
  int position = 0;
  CHECK(MPI_Pack(&value, 1, MPI_INT, &value, 2, &position, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(position == 0);
}

static void sum(void* in, void* inout, int* count, MPI_Datatype* type) {}

static void collectives(void) {
  int in[2] = {0}, out[2] = {0};
  SAYS(MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT, "MPI_Bcast");
  SAYS(MPI_Bcast(&value, 1, MPI_INT, -8, MPI_COMM_WORLD), MPI_ERR_ROOT, "-8");
  SAYS(MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "-1");
  SAYS(MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_Allreduce");
  SAYS(MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_BAND");
  SAYS(MPI_Allreduce(in, out, 1, MPI_FLOAT_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_SUM");
  SAYS(MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Allreduce");
  SAYS(MPI_Reduce_local(in, out, 1, MPI_INT, MPI_OP_NULL), MPI_ERR_OP, "MPI_Reduce_local");
  CHECK(MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS);
  MPI_Op op = MPI_SUM;
  SAYS(MPI_Op_free(&op), MPI_ERR_OP, "MPI_Op_free");
  CHECK(op == MPI_SUM);
  OK(MPI_Op_create(sum, 1, &op));
  OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL);
}

/* One buffer on both sides. Every rank fails alike, so that nothing is left over. */
static void aliased_buffers(void) {
  int *b = malloc(sizeof(int) * 2 * (size_t)size), *counts = malloc(sizeof(int) * (size_t)size);
  int *displs = malloc(sizeof(int) * (size_t)size), out;
  MPI_Datatype* types = malloc(sizeof *types * (size_t)size);
  for (int i = 0; i < size; ++i) {
    b[2 * i] = b[2 * i + 1] = 1;
    counts[i] = 1;
    displs[i] = i;
    types[i] = MPI_INT;
  }
  SAYS(MPI_Allreduce(b, b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE as sendbuf");
  SAYS(MPI_Iallreduce(b, b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER, "MPI_Iallreduce");
  SAYS(MPI_Allreduce_init(b, b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  SAYS(MPI_Scan(b, b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  SAYS(MPI_Reduce_scatter_block(b, b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  SAYS(MPI_Reduce_scatter(b, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  SAYS(MPI_Alltoall(b, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  SAYS(MPI_Alltoallv(b, counts, displs, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  SAYS(MPI_Alltoallw(b, counts, displs, types, b, counts, displs, types, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  SAYS(MPI_Allgather(b + rank, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE as sendbuf");
  SAYS(MPI_Allgatherv(b + rank, 1, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_IN_PLACE");
  SAYS(MPI_Reduce_local(b, b, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, "the same memory");
  SAYS(MPI_Reduce(b, b, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF), MPI_ERR_BUFFER, "sendbuf instead, at the root");
  SAYS(MPI_Gather(b, 1, MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER, "sendbuf instead, at the root");
  SAYS(MPI_Gatherv(b + rank, 1, MPI_INT, b, counts, &displs[rank], MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER, "at the root");
  SAYS(MPI_Scatter(b, 1, MPI_INT, b, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER, "recvbuf instead, at the root");
  SAYS(MPI_Allreduce(NULL, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER, "sendbuf is a null pointer");
  SAYS(MPI_Allreduce(MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER, "recvbuf is a null pointer");
  SAYS(MPI_Bcast(NULL, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "buffer is a null pointer");
  SAYS(MPI_Alltoall(b, 1, MPI_INT, NULL, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER, "recvbuf is a null pointer");
  for (int i = 0; i < size; ++i) displs[i] = -1 - i;
  SAYS(MPI_Allgatherv(b, 1, MPI_INT, NULL, counts, displs, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER, "recvbuf is close to a null pointer");

  /* All of these are right. */
  OK(MPI_Allreduce(b, b, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(b[0] == size);
  OK(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
  OK(MPI_Gather(&value, 1, MPI_INT, rank == 0 ? b : &value, 1, MPI_INT, 0, MPI_COMM_WORLD)); /* counts at the root only */
  OK(MPI_Gather(&value, 1, MPI_INT, rank == 0 ? b : NULL, 1, MPI_INT, 0, MPI_COMM_WORLD));
  OK(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : b, rank == 0 ? b : NULL, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  OK(MPI_Scatter(rank == 0 ? b : NULL, 1, MPI_INT, rank == 0 ? MPI_IN_PLACE : b, 1, MPI_INT, 0, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) displs[i] = size + i; /* the same base, but behind what is sent */
  OK(MPI_Allgatherv(b, 1, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD));
  int* upper = malloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < size; ++i) upper[i] = i;
  OK(MPI_Alltoallv(b, counts, upper, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD));
  if (rank == 0) OK(MPI_Exscan(b, b, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF)); /* nothing is received by the first rank */

  /* A grid without neighbours: nothing is touched. */
  MPI_Comm line;
  int dims[1] = {1}, periods[1] = {0};
  OK(MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &line));
  OK(MPI_Neighbor_allgather(NULL, 1, MPI_INT, NULL, 1, MPI_INT, line));
  OK(MPI_Neighbor_alltoall(b, 1, MPI_INT, b, 1, MPI_INT, line));
  OK(MPI_Comm_free(&line));
  periods[0] = 1;
  OK(MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &line));
  SAYS(MPI_Neighbor_alltoall(b, 1, MPI_INT, NULL, 1, MPI_INT, line), MPI_ERR_BUFFER, "recvbuf is a null pointer");
  OK(MPI_Comm_free(&line));
  free(upper);
  free(b);
  free(counts);
  free(displs);
  free(types);
}

static void objects(void) {
  MPI_Comm comm, copy;
  MPI_Group group, other;
  MPI_Info info;
  int n, unknown = 123456, bad[1] = {size}, twice[2] = {0, 0}, dims[1] = {size + 1}, periods[1] = {0};
  SAYS(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "rank");
  SAYS(MPI_Comm_dup(MPI_COMM_NULL, &comm), MPI_ERR_COMM, "MPI_Comm_dup");
  OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  SAYS(MPI_Group_incl(group, 1, bad, &other), MPI_ERR_RANK, "MPI_Group_incl");
  SAYS(MPI_Group_incl(group, 2, twice, &other), MPI_ERR_RANK, "MPI_Group_incl");
  OK(MPI_Group_free(&group));
  CHECK(group == MPI_GROUP_NULL);
  SAYS(MPI_Group_rank(group, &n), MPI_ERR_GROUP, "MPI_Group_rank");
  SAYS(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm), MPI_ERR_TOPOLOGY, "MPI_Cart_create");
  SAYS(MPI_Cart_rank(MPI_COMM_WORLD, dims, &n), MPI_ERR_TOPOLOGY, "MPI_Cart_rank");
  SAYS(MPI_Info_get_nkeys(MPI_INFO_NULL, &n), MPI_ERR_INFO, "MPI_Info_get_nkeys");
  OK(MPI_Info_create(&info));
  SAYS(MPI_Info_set(info, NULL, "x"), MPI_ERR_ARG, "key");
  OK(MPI_Info_free(&info));
  SAYS(MPI_Comm_free_keyval(&unknown), MPI_ERR_KEYVAL, "MPI_Comm_free_keyval");
  SAYS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER, "MPI_Comm_set_errhandler");

  /* A handle that has been freed is known as such. */
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  copy = comm;
  OK(MPI_Comm_free(&comm));
  if (kMayReadFreed) CHECK(MPI_Comm_size(copy, &n) != MPI_SUCCESS);
}

/* What is lacking in this version says so. */
static void lacking(void) {
  MPI_File file;
  MPI_Win win;
  CHECK(MPI_File_open(MPI_COMM_WORLD, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
  CHECK(MPI_Win_create(&value, 4, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win) != MPI_SUCCESS);
}

static int handled;
static void handler(MPI_Comm* comm, int* code, ...) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  OK(MPI_Error_string(*code, text, &length));
  CHECK(strstr(text, "MPI_Send") != NULL);
  ++handled;
}

static void user_handlers(void) {
  MPI_Errhandler made;
  MPI_Comm comm;
  OK(MPI_Comm_create_errhandler(handler, &made));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, made));
  OK(MPI_Errhandler_free(&made));
  CHECK(MPI_Send(&value, 1, MPI_INT, size, 0, comm) != MPI_SUCCESS && handled == 1);
  CHECK(MPI_Send(&value, 1, MPI_INT, 0, -1, comm) != MPI_SUCCESS && handled == 2);
  OK(MPI_Comm_free(&comm));
}

/* Before MPI_Init these are allowed; the others say that MPI is not running. */
static void before_init(void) {
  int flag = 7, version, subversion, length;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  OK(MPI_Initialized(&flag));
  CHECK(!flag);
  OK(MPI_Finalized(&flag));
  CHECK(!flag);
  OK(MPI_Get_version(&version, &subversion));
  CHECK(version == 5 && subversion == 0);
  OK(MPI_Get_library_version(text, &length));
  CHECK(strstr(text, "Lapwing") && (int)strlen(text) == length);
  OK(MPI_Error_string(MPI_ERR_TRUNCATE, text, &length));
}

int main(int argc, char** argv) {
  before_init();
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  point_to_point();
  null_buffers();
  uncountable_bytes();
  garbage_handles();
  datatypes();
  collectives();
  aliased_buffers();
  objects();
  lacking();
  user_handlers();
  /* After all this everything still works. */
  int all = 0;
  OK(MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(all == size * (size - 1) / 2);
  OK(MPI_Finalize());
  int flag;
  OK(MPI_Finalized(&flag));
  return flag ? 0 : 1;
}
