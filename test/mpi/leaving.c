/* Ranks that leave the job early (sessions, no MPI_Init): what a rank has contributed to a collective counts after it has gone, and a
 * collective in which it takes no part any more fails instead of waiting for ever.
 *
 * The last rank is the one that leaves. It holds a file lock, which the system takes back when the process has ended; so the others
 * know that without a word of MPI. */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

enum { kLarge = 30000 };  // ints: more than an area takes

static int rank, size, leaver;
static int large[kLarge], sums[kLarge], parts[kLarge], given[64];

static MPI_Comm make(MPI_Session session, int number) {
  char name[64];
  MPI_Group group;
  MPI_Comm comm;
  snprintf(name, sizeof name, "org.example/leaving/%d", number);
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  return comm;
}

/* Starts case `number` of those in which the leaver is done as soon as it has given its share. */
static int start(int number, MPI_Comm comm, int* out, MPI_Request* request) {
  static int mine[3], counts[64], displacements[64];
  const int count = number == 4 || number == 5 ? kLarge : 1;
  mine[0] = rank + 1;
  for (int i = 0; i < size; ++i) counts[i] = 1, displacements[i] = i;
  switch (number) {
    case 0: return MPI_Ireduce(mine, out, 1, MPI_INT, MPI_SUM, 0, comm, request);
    case 1: return MPI_Igather(mine, 1, MPI_INT, out, 1, MPI_INT, 0, comm, request);
    case 2:
      out[0] = rank + 1;
      return MPI_Ibcast(out, 1, MPI_INT, leaver, comm, request);
    case 3:
      for (int i = 0; i < size; ++i) given[i] = leaver + 1;
      return MPI_Iscatter(given, 1, MPI_INT, out, 1, MPI_INT, leaver, comm, request);
    case 4: return MPI_Ireduce(large, sums, count, MPI_INT, MPI_SUM, 0, comm, request);
    case 5: return MPI_Igather(large, count / size, MPI_INT, parts, count / size, MPI_INT, 0, comm, request);
    case 6: return MPI_Igatherv(mine, 1, MPI_INT, out, counts, displacements, MPI_INT, 0, comm, request);
    default:
      OK(MPI_Reduce_init(mine, out, 1, MPI_INT, MPI_SUM, 0, comm, MPI_INFO_NULL, request));
      return MPI_Start(request);
  }
}
enum { kGiving = 8 };

static void check_result(int number, const int* out) {
  const int total = size * (size + 1) / 2;
  const int at_root = rank == 0;
  switch (number) {
    case 0:
    case 7:
      if (at_root) CHECK(out[0] == total);
      break;
    case 1:
    case 6:
      for (int i = 0; at_root && i < size; ++i) CHECK(out[i] == i + 1);
      break;
    case 4:
      for (int i = 0; at_root && i < kLarge; ++i) CHECK(sums[i] == total);
      break;
    case 5:
      for (int i = 0; at_root && i < kLarge / size * size; ++i) CHECK(parts[i] == i / (kLarge / size) + 1);
      break;
    default:
      CHECK(out[0] == leaver + 1);
  }
}

static void wait_for_the_end_of_the_leaver(int file) {
  CHECK(flock(file, LOCK_SH) == 0);
}

/* Takes in what the network has brought, the goodbye of the one that left above all. */
static void look_around(MPI_Comm comm) {
  int flag;
  for (int i = 0; i < 100; ++i) OK(MPI_Iprobe(MPI_ANY_SOURCE, 99, comm, &flag, MPI_STATUS_IGNORE));
}

/* A collective that needs all, after one has gone without a word. */
static int needs_all(int number, MPI_Comm comm) {
  int in[64] = {0}, out[64];
  switch (number) {
    case 0: return MPI_Barrier(comm);
    case 1: return MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm);
    case 2: return MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm);
    case 3: return MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm);
    default: return MPI_Bcast(out, 1, MPI_INT, leaver, comm);
  }
}
enum { kNeedingAll = 5 };

int main(void) {
  char path[] = "/tmp/lapwing_leaving_XXXXXX";
  MPI_Session session;
  /* Some are never freed: the end of the session must do. Static, so that nothing that watches for leaks takes them for lost. */
  static MPI_Comm giving[kGiving], needing[kNeedingAll], talk;
  static MPI_Request request[kGiving];
  static int out[kGiving][64];
  const char* transports = getenv("LAPWING_TRANSPORTS");
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  talk = make(session, 1000);
  OK(MPI_Comm_rank(talk, &rank));
  OK(MPI_Comm_size(talk, &size));
  leaver = size - 1;
  for (int i = 0; i < kLarge; ++i) large[i] = rank + 1;
  for (int i = 0; i < kGiving; ++i) giving[i] = make(session, i);
  for (int i = 0; i < kNeedingAll; ++i) needing[i] = make(session, 100 + i);
  /* Some have had a use before it ends, some not. */
  OK(MPI_Barrier(needing[0]));
  OK(MPI_Barrier(needing[2]));

  int file = -1;
  if (rank == leaver) {
    file = mkstemp(path);
    CHECK(file >= 0 && flock(file, LOCK_EX) == 0);
  }
  OK(MPI_Bcast(path, sizeof path, MPI_CHAR, leaver, talk));
  if (rank != leaver) {
    file = open(path, O_RDWR);
    CHECK(file >= 0);
  }
  OK(MPI_Barrier(talk));

  if (rank == leaver) {
    for (int i = 0; i < kGiving; ++i) {
      OK(start(i, giving[i], out[i], &request[i]));
      OK(MPI_Wait(&request[i], MPI_STATUS_IGNORE));
      if (i % 2 == 0) OK(MPI_Comm_free(&giving[i]));
    }
    unlink(path);
    OK(MPI_Session_finalize(&session));
    return 0;
  }

  /* Rank 0 waits while one contributor has gone and the others are yet to come. A long share must meet its receiver before the leaver
   * can go, and that may be any of them. */
  for (int i = 0; i < kGiving; ++i)
    if (rank == 0 || i == 4 || i == 5) OK(start(i, giving[i], out[i], &request[i]));
  wait_for_the_end_of_the_leaver(file);
  look_around(talk);
  int go = 1;
  if (rank == 0) {
    for (int other = 1; other < leaver; ++other) OK(MPI_Send(&go, 1, MPI_INT, other, 0, talk));
  } else {
    OK(MPI_Recv(&go, 1, MPI_INT, 0, 0, talk, MPI_STATUS_IGNORE));
    for (int i = 0; i < kGiving; ++i)
      if (i != 4 && i != 5) OK(start(i, giving[i], out[i], &request[i]));
  }
  for (int i = 0; i < kGiving; ++i) {
    OK(MPI_Wait(&request[i], MPI_STATUS_IGNORE));
    check_result(i, out[i]);
  }

  /* In messages only those notice that had to hear from the one that left; on an area all do. */
  if (size == 2 || (transports != NULL && strcmp(transports, "shm") == 0))
    for (int i = 0; i < kNeedingAll; ++i) CHECK(needs_all(i, needing[i]) != MPI_SUCCESS);
  OK(MPI_Session_finalize(&session));
  return 0;
}
