/* A program that forbids itself to read and write other processes' memory, by a filter of its system calls, after collectives have copied directly: the
   calls that follow move the same bytes. All ranks do it, or one of them: an argument says which. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kLongest = 1 << 18, kWarm = 400, kTurns = 40 }; /* a communicator begins, and ends, to copy directly within some hundred rounds */

static int rank, size, counts[64], places[64];
static char *mine, *all, *more;

static int forbid(void) {
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static void expect(const char* from, int bytes, unsigned seed) { CHECK(is_pattern(from, (size_t)bytes, seed)); }

static void move(int bytes, unsigned turn) {
  const int root = (int)turn % size;
  for (int i = 0; i < size; ++i) {
    counts[i] = bytes - 64 * i;
    places[i] = i * bytes;
  }
  fill_pattern(mine, (size_t)bytes, turn + (unsigned)rank);
  memset(all, 0, (size_t)(size * bytes));
  OK(MPI_Gather(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, root, MPI_COMM_WORLD));
  for (int i = 0; rank == root && i < size; ++i) expect(all + places[i], bytes, turn + (unsigned)i);
  memset(mine, 0, (size_t)bytes);
  OK(MPI_Scatter(all, bytes, MPI_CHAR, mine, bytes, MPI_CHAR, root, MPI_COMM_WORLD));
  expect(mine, bytes, turn + (unsigned)rank);
  memset(all, 0, (size_t)(size * bytes));
  OK(MPI_Allgather(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) expect(all + places[i], bytes, turn + (unsigned)i);
  for (int i = 0; i < size; ++i) fill_pattern(all + places[i], (size_t)bytes, turn + (unsigned)(rank * size + i));
  memset(more, 0, (size_t)(size * bytes));
  OK(MPI_Alltoall(all, bytes, MPI_CHAR, more, bytes, MPI_CHAR, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) expect(more + places[i], bytes, turn + (unsigned)(i * size + rank));
}

static void move_uneven(int bytes, unsigned turn) {
  const int root = (int)turn % size;
  int sent[64], at[64];
  fill_pattern(mine, (size_t)bytes, turn + (unsigned)rank);
  memset(all, 0, (size_t)(size * bytes));
  OK(MPI_Gatherv(mine, counts[rank], MPI_CHAR, all, counts, places, MPI_CHAR, root, MPI_COMM_WORLD));
  for (int i = 0; rank == root && i < size; ++i) expect(all + places[i], counts[i], turn + (unsigned)i);
  memset(mine, 0, (size_t)bytes);
  OK(MPI_Scatterv(all, counts, places, MPI_CHAR, mine, counts[rank], MPI_CHAR, root, MPI_COMM_WORLD));
  expect(mine, counts[rank], turn + (unsigned)rank);
  for (int i = 0; i < size; ++i) {
    sent[i] = counts[rank];
    at[i] = i * bytes;
    fill_pattern(all + at[i], (size_t)bytes, turn + (unsigned)(rank * size + i));
  }
  memset(more, 0, (size_t)(size * bytes));
  OK(MPI_Alltoallv(all, sent, at, MPI_CHAR, more, counts, places, MPI_CHAR, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i) expect(more + places[i], counts[i], turn + (unsigned)(i * size + rank));
}

static void move_all(unsigned turn) {
  for (int bytes = 16 << 10; bytes <= kLongest; bytes *= 4) {
    move(bytes, turn);
    move_uneven(bytes, turn);
  }
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  mine = malloc(kLongest);
  all = malloc((size_t)size * kLongest);
  more = malloc((size_t)size * kLongest);
  CHECK(mine && all && more && size <= 64);
  for (int i = 0; i < kWarm; ++i) OK(MPI_Barrier(MPI_COMM_WORLD));
  move_all(1);
  int can = argc < 2 || atoi(argv[1]) == rank ? forbid() : 1;
  OK(MPI_Allreduce(MPI_IN_PLACE, &can, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  for (unsigned turn = 0; can && turn < kTurns; ++turn) move_all(turn);
  free(mine);
  free(all);
  free(more);
  OK(MPI_Finalize());
  return can ? 0 : 77;
}
