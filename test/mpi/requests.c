/* Requests: every Wait and Test, what their statuses say, errors inside a list, generalized and persistent requests. */
#include "check.h"

static int rank, size, right, left;

enum { kMany = 6 };

/* kMany receives from the left neighbour, in `in`; the sends that answer them come with `send_all`. */
static int in[kMany], out[kMany];
static void post_receives(MPI_Request* requests) {
  for (int i = 0; i < kMany; ++i) {
    in[i] = -1;
    out[i] = rank * 100 + i;
    OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]));
  }
}
static void send_one(int i) { OK(MPI_Send(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD)); }
static void received(int i, const MPI_Status* status) {
  int count;
  OK(MPI_Get_count(status, MPI_INT, &count));
  CHECK(in[i] == left * 100 + i && status->MPI_TAG == i && status->MPI_SOURCE == left && count == 1);
}

static void is_empty(const MPI_Status* status) {
  int count, flag;
  OK(MPI_Get_count(status, MPI_BYTE, &count));
  OK(MPI_Test_cancelled(status, &flag));
  CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0 && !flag);
}

static void one_at_a_time(void) {
  MPI_Request requests[kMany];
  MPI_Status status;
  int flag;
  post_receives(requests);
  for (int i = 0; i < kMany; ++i) send_one(i);
  OK(MPI_Wait(&requests[0], &status));
  received(0, &status);
  for (flag = 0; !flag;) OK(MPI_Test(&requests[1], &flag, &status));
  received(1, &status);
  for (flag = 0; !flag;) OK(MPI_Request_get_status(requests[2], &flag, &status));
  received(2, &status);
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL && requests[2] != MPI_REQUEST_NULL);
  OK(MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kMany; ++i) CHECK(requests[i] == MPI_REQUEST_NULL && in[i] == left * 100 + i);
}

/* Messages come one by one in reverse order, so that the last request completes first. */
static void any(int testing) {
  MPI_Request requests[kMany];
  MPI_Status status;
  int index, flag;
  post_receives(requests);
  for (int i = kMany - 1; i >= 0; --i) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    send_one(i);
    if (testing) {
      for (flag = 0; !flag;) OK(MPI_Testany(kMany, requests, &index, &flag, &status));
    } else {
      OK(MPI_Waitany(kMany, requests, &index, &status));
    }
    CHECK(index == i && requests[i] == MPI_REQUEST_NULL);
    received(i, &status);
  }
  OK(MPI_Waitany(kMany, requests, &index, &status));
  CHECK(index == MPI_UNDEFINED);
  is_empty(&status);
  flag = 0;
  OK(MPI_Testany(kMany, requests, &index, &flag, &status));
  CHECK(flag && index == MPI_UNDEFINED);
  OK(MPI_Waitany(0, NULL, &index, &status));
  CHECK(index == MPI_UNDEFINED);
}

static void some(int testing) {
  MPI_Request requests[kMany];
  MPI_Status statuses[kMany];
  int indices[kMany], count, seen = 0, flag;
  post_receives(requests);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kMany; i += 2) {
    send_one(i);
    send_one(i + 1);
  }
  for (int done = 0; done < kMany; done += count) {
    if (testing) {
      OK(MPI_Testsome(kMany, requests, &count, indices, statuses));
    } else {
      OK(MPI_Waitsome(kMany, requests, &count, indices, statuses));
      CHECK(count > 0);
    }
    for (int k = 0; k < count; ++k) {
      CHECK(!(seen & 1 << indices[k]) && requests[indices[k]] == MPI_REQUEST_NULL);
      seen |= 1 << indices[k];
      received(indices[k], &statuses[k]);
    }
  }
  OK(MPI_Waitsome(kMany, requests, &count, indices, statuses));
  CHECK(count == MPI_UNDEFINED);
  OK(MPI_Testsome(kMany, requests, &count, indices, statuses));
  CHECK(count == MPI_UNDEFINED);
  OK(MPI_Testall(kMany, requests, &flag, statuses));
  CHECK(flag);
  is_empty(&statuses[3]);
}

static void all(void) {
  MPI_Request requests[kMany];
  MPI_Status statuses[kMany];
  int flag = 1;
  post_receives(requests);
  OK(MPI_Cancel(&requests[2]));
  OK(MPI_Wait(&requests[2], &statuses[2]));
  OK(MPI_Testall(kMany, requests, &flag, statuses));
  CHECK(!flag); /* no rank has sent: the barrier comes after */
  for (int i = 0; i < kMany; ++i) CHECK((requests[i] == MPI_REQUEST_NULL) == (i == 2));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kMany; ++i)
    if (i != 2) send_one(i);
  for (flag = 0; !flag;) OK(MPI_Request_get_status_all(kMany, requests, &flag, statuses));
  CHECK(requests[0] != MPI_REQUEST_NULL);
  for (flag = 0; !flag;) OK(MPI_Testall(kMany, requests, &flag, statuses));
  for (int i = 0; i < kMany; ++i) {
    CHECK(requests[i] == MPI_REQUEST_NULL);
    if (i == 2)
      is_empty(&statuses[i]);
    else
      received(i, &statuses[i]);
  }
}

static void looks_that_change_nothing(void) {
  MPI_Request requests[kMany];
  MPI_Status status, statuses[kMany];
  int flag, index, count, indices[kMany];
  post_receives(requests);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  send_one(4);
  for (flag = 0; !flag;) OK(MPI_Request_get_status_any(kMany, requests, &index, &flag, &status));
  CHECK(index == 4);
  received(4, &status);
  for (count = 0; count == 0;) OK(MPI_Request_get_status_some(kMany, requests, &count, indices, statuses));
  CHECK(count == 1 && indices[0] == 4 && requests[4] != MPI_REQUEST_NULL);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kMany; ++i)
    if (i != 4) send_one(i);
  OK(MPI_Waitall(kMany, requests, statuses));
  for (int i = 0; i < kMany; ++i) received(i, &statuses[i]);
}

/* One of three is truncated: the list fails as a whole, the statuses say which one. */
static void errors_in_a_list(void) {
  int large[4] = {1, 2, 3, 4}, small[3][2], sorts[3] = {0};
  MPI_Request requests[3];
  MPI_Status statuses[3];
  for (int i = 0; i < 3; ++i) OK(MPI_Irecv(small[i], 2, MPI_INT, left, 20 + i, MPI_COMM_WORLD, &requests[i]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) OK(MPI_Send(large, i == 1 ? 4 : 2, MPI_INT, right, 20 + i, MPI_COMM_WORLD));
  for (int waiting = 3; waiting > 0;) {
    FAILS(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
    for (int i = waiting = 0; i < 3; ++i) {
      if (statuses[i].MPI_ERROR != MPI_ERR_PENDING) sorts[i] = statuses[i].MPI_ERROR;
      waiting += requests[i] != MPI_REQUEST_NULL;
    }
    if (waiting > 0) {
      OK(MPI_Waitall(3, requests, statuses)); /* what was pending completes without an error */
      break;
    }
  }
  int class1 = -1;
  OK(MPI_Error_class(sorts[1], &class1));
  CHECK(class1 == MPI_ERR_TRUNCATE && sorts[0] == MPI_SUCCESS && sorts[2] == MPI_SUCCESS);
  CHECK(small[0][1] == 2 && small[2][1] == 2);

  /* MPI_Waitany says the error itself. */
  int index;
  OK(MPI_Irecv(small, 2, MPI_INT, left, 25, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Send(large, 3, MPI_INT, right, 25, MPI_COMM_WORLD));
  FAILS(MPI_Waitany(1, requests, &index, &statuses[0]), MPI_ERR_TRUNCATE);
  CHECK(index == 0 && requests[0] == MPI_REQUEST_NULL);
}

static void no_partner(void) {
  MPI_Request requests[2];
  MPI_Status status;
  int value = 7, count;
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Wait(&requests[0], &status));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0 && value == 7);
  OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  OK(MPI_Wait(&requests[1], &status)); /* null by now */
  is_empty(&status);
}

static void persistent(void) {
  MPI_Request requests[2];
  MPI_Status status;
  int flag, index, from = -1;
  OK(MPI_Recv_init(&from, 1, MPI_INT, left, 30, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Ssend_init(&rank, 1, MPI_INT, right, 30, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Test(&requests[0], &flag, &status)); /* inactive */
  CHECK(flag && requests[0] != MPI_REQUEST_NULL);
  is_empty(&status);
  OK(MPI_Waitany(2, requests, &index, &status));
  CHECK(index == MPI_UNDEFINED);
  for (int i = 0; i < 20; ++i) {
    from = -1;
    OK(MPI_Start(&requests[0]));
    OK(MPI_Start(&requests[1]));
    FAILS(MPI_Start(&requests[1]), MPI_ERR_REQUEST);
    OK(MPI_Wait(&requests[0], &status));
    CHECK(from == left && status.MPI_SOURCE == left);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  CHECK(requests[0] == MPI_REQUEST_NULL);
}

/* A freed active request still does its work. */
static void freed(void) {
  MPI_Request request;
  static int values[100000];
  const int n = sizeof values / sizeof *values;
  int* got = malloc(sizeof values);
  for (int i = 0; i < n; ++i) values[i] = rank + i;
  OK(MPI_Isend(values, n, MPI_INT, right, 31, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Recv(got, n, MPI_INT, left, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < n; ++i) CHECK(got[i] == left + i);
  free(got);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* That of a collective operation is not, before it is completed; and is as good as before. */
static void freed_collectives(void) {
  MPI_Request request;
  int sum = 0;
  OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL && sum == size * (size - 1) / 2);
  OK(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  for (int round = 0; round < 2; ++round) {
    OK(MPI_Start(&request));
    FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
}

typedef struct {
  int queried, freed, cancelled;
} Steps;
static int query(void* extra, MPI_Status* status) {
  ++((Steps*)extra)->queried;
  OK(MPI_Status_set_elements(status, MPI_INT, 3));
  OK(MPI_Status_set_cancelled(status, ((Steps*)extra)->cancelled));
  status->MPI_SOURCE = 5;
  status->MPI_TAG = 6;
  return MPI_SUCCESS;
}
static int release(void* extra) {
  ++((Steps*)extra)->freed;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  if (!complete) ((Steps*)extra)->cancelled = 1;
  return MPI_SUCCESS;
}

static void generalized(void) {
  Steps steps = {0, 0, 0};
  MPI_Request request, requests[2];
  MPI_Status status, statuses[2];
  int flag, count, value = -1;
  OK(MPI_Grequest_start(query, release, cancel, &steps, &request));
  OK(MPI_Test(&request, &flag, &status));
  CHECK(!flag && steps.freed == 0);
  OK(MPI_Cancel(&request));
  OK(MPI_Grequest_complete(request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  OK(MPI_Test_cancelled(&status, &flag));
  CHECK(flag && count == 3 && status.MPI_SOURCE == 5 && status.MPI_TAG == 6);
  CHECK(steps.queried == 1 && steps.freed == 1 && request == MPI_REQUEST_NULL);

  /* Beside a receive. */
  Steps again = {0, 0, 0};
  OK(MPI_Grequest_start(query, release, cancel, &again, &requests[0]));
  OK(MPI_Irecv(&value, 1, MPI_INT, left, 40, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 40, MPI_COMM_WORLD));
  OK(MPI_Grequest_complete(requests[0]));
  OK(MPI_Waitall(2, requests, statuses));
  CHECK(value == left && statuses[0].MPI_SOURCE == 5 && again.queried == 1 && again.freed == 1);
}

/* Of failures on several communicators the first one is raised, by the handler of its own communicator. */
static int heard;
static MPI_Comm told;
static char said[MPI_MAX_ERROR_STRING];
static void listener(MPI_Comm* comm, int* code, ...) {
  int length;
  ++heard;
  told = *comm;
  OK(MPI_Error_string(*code, said, &length));
}
static void on_two_communicators(void) {
  enum { kWaitall, kTestall, kWaitsome, kLook, kWays };
  int words[2] = {1, 2}, room[2];
  MPI_Comm comms[2];
  MPI_Errhandler made;
  OK(MPI_Comm_create_errhandler(listener, &made));
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[i]));
    OK(MPI_Comm_set_errhandler(comms[i], made));
  }
  for (int way = 0; way < kWays; ++way) {
    MPI_Request requests[2];
    int flag = 1, count, indices[2];
    for (int i = 0; i < 2; ++i) {
      OK(MPI_Irecv(&room[i], 1, MPI_INT, 0, 11 * (i + 1), comms[i], &requests[i]));
      OK(MPI_Send(words, 2, MPI_INT, 0, 11 * (i + 1), comms[i]));
    }
    told = MPI_COMM_NULL;
    heard = 0;
    if (way == kWaitall) FAILS(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    if (way == kTestall) FAILS(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    if (way == kWaitsome) FAILS(MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    if (way == kLook) FAILS(MPI_Request_get_status_all(2, requests, &flag, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    CHECK(flag && heard == 1 && told == comms[0] && strstr(said, "tag 11 ") != NULL);
    if (way == kLook) FAILS(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Comm_free(&comms[i]));
  OK(MPI_Errhandler_free(&made));
}

/* What the program says of an operation of its own that failed. */
static int failed_query(void* extra, MPI_Status* status) {
  query(extra, status);
  return MPI_ERR_TRUNCATE;
}
static void failed_generalized(void) {
  Steps steps = {0, 0, 0};
  MPI_Request request;
  MPI_Status status;
  int flag, count;
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Grequest_start(failed_query, release, cancel, &steps, &request));
  OK(MPI_Grequest_complete(request));
  for (int taking = 0; taking < 2; ++taking) {
    memset(&status, 0, sizeof status);
    if (taking)
      FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    else
      FAILS(MPI_Request_get_status(request, &flag, &status), MPI_ERR_TRUNCATE);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 3 && status.MPI_SOURCE == 5 && status.MPI_TAG == 6);
  }
  CHECK(request == MPI_REQUEST_NULL && steps.freed == 1);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

/* The error handler of a communicator that the program has freed speaks for what is still under way on it. */
static int handled;
static void handler(MPI_Comm* comm, int* code, ...) {
  ++handled;
}
static void of_a_freed_communicator(void) {
  enum { kWait, kWaitall, kMatched, kWays };
  MPI_Errhandler made;
  OK(MPI_Comm_create_errhandler(handler, &made));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  for (int way = 0; way < kWays; ++way) {
    int words[2] = {1, 2}, room;
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status statuses[2];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, made));
    if (way != kMatched) OK(MPI_Irecv(&room, 1, MPI_INT, left, 1, comm, &requests[0]));
    OK(MPI_Isend(words, 2, MPI_INT, right, 1, comm, &requests[1]));
    if (way == kMatched) OK(MPI_Mprobe(left, 1, comm, &message, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
    if (way == kWaitall) {
      FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
      CHECK(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
    } else {
      OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
      if (way == kWait)
        FAILS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
      else
        FAILS(MPI_Mrecv(&room, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    }
    CHECK(handled == way + 1);
  }
  OK(MPI_Errhandler_free(&made));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  one_at_a_time();
  for (int testing = 0; testing < 2; ++testing) {
    any(testing);
    some(testing);
  }
  all();
  looks_that_change_nothing();
  errors_in_a_list();
  no_partner();
  persistent();
  freed();
  freed_collectives();
  of_a_freed_communicator();
  on_two_communicators();
  generalized();
  failed_generalized();
  OK(MPI_Finalize());
  return 0;
}
