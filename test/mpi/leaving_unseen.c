/* A rank that ends without having taken part in anything on some communicators (sessions, no MPI_Init), while others wait for it there, or
 * begin to: they have never had a message from it, and must fail instead of waiting for ever.
 *
 *     leaving_unseen before      the others begin to wait when its process has ended
 *     leaving_unseen meanwhile   nothing says which comes first
 *
 * The rank that leaves holds a file lock, which the system takes back when its process has ended; so the others know that without a word
 * of MPI. */
#include "check.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static int rank, size;

static MPI_Comm make(MPI_Session session, int number) {
  char name[64];
  MPI_Group group;
  MPI_Comm comm;
  snprintf(name, sizeof name, "org.example/leaving_unseen/%d", number);
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  return comm;
}

/* What needs a word of every other rank, or of the one that leaves. */
static int needs_all(int number, int leaver, MPI_Comm comm) {
  int in[64] = {0}, out[64];
  switch (number) {
    case 0: return MPI_Barrier(comm);
    case 1: return MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm);
    case 2: return MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm);
    default: return MPI_Bcast(out, 1, MPI_INT, leaver, comm);
  }
}
enum { kNeedingAll = 4 };

static void wait_for_the_end_of_the_leaver(int file) {
  CHECK(flock(file, LOCK_SH) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const int before = strcmp(argv[1], "before") == 0;
  char path[] = "/tmp/lapwing_unseen_XXXXXX";
  MPI_Session session;
  /* Never freed: the end of the session must do. Static, so that nothing that watches for leaks takes them for lost. */
  static MPI_Comm needing[kNeedingAll], talk;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  talk = make(session, 1000);
  OK(MPI_Comm_rank(talk, &rank));
  OK(MPI_Comm_size(talk, &size));
  for (int i = 0; i < kNeedingAll; ++i) needing[i] = make(session, i);

  /* Not the rank that leads when communicators are made, which has had messages from all. */
  const int leaver = size - 1;
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
    unlink(path);
  } else {
    if (before) wait_for_the_end_of_the_leaver(file);
    for (int i = 0; i < kNeedingAll; ++i) CHECK(needs_all(i, leaver, needing[i]) != MPI_SUCCESS);
    wait_for_the_end_of_the_leaver(file);
  }
  OK(MPI_Session_finalize(&session));
  return 0;
}
