/* Communicators between two groups: made, duplicated, split, merged, from groups; with messages across. */
#include <pthread.h>

#include "check.h"

static int rank, size;

/* Ranks of the world on this side and on the other, and messages across to each of them. */
static void joins(MPI_Comm inter, const int* near, int near_count, const int* far, int far_count) {
  int n, m, me, flag;
  OK(MPI_Comm_test_inter(inter, &flag));
  OK(MPI_Comm_size(inter, &n));
  OK(MPI_Comm_remote_size(inter, &m));
  OK(MPI_Comm_rank(inter, &me));
  CHECK(flag && n == near_count && m == far_count && near[me] == rank);
  MPI_Request requests[64];
  int received[64];
  for (int i = 0; i < m; ++i) OK(MPI_Irecv(&received[i], 1, MPI_INT, i, 9, inter, &requests[i]));
  for (int i = 0; i < m; ++i) OK(MPI_Send(&rank, 1, MPI_INT, i, 9, inter));
  OK(MPI_Waitall(m, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < m; ++i) CHECK(received[i] == far[i]);
  int* all = malloc(sizeof(int) * (size_t)m);
  OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter));
  for (int i = 0; i < m; ++i) CHECK(all[i] == far[i]);
  free(all);
}

/* The even ranks and the odd ones. `sides` says which one this process is in. */
static int sides[2][64], counts[2];

static MPI_Comm even_and_odd(void) {
  MPI_Comm half, inter;
  const int color = rank % 2;
  counts[0] = counts[1] = 0;
  for (int i = 0; i < size; ++i) sides[i % 2][counts[i % 2]++] = i;
  OK(MPI_Comm_split(MPI_COMM_WORLD, color, rank, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 23, &inter));
  OK(MPI_Comm_free(&half));
  joins(inter, sides[color], counts[color], sides[1 - color], counts[1 - color]);
  return inter;
}

static void merges(MPI_Comm inter) {
  MPI_Comm merged;
  int me, n;
  /* The even side is the lower one; then the odd one; then both say the same. */
  for (int round = 0; round < 3; ++round) {
    const int high = round == 2 ? 1 : (rank % 2) ^ round;
    OK(MPI_Intercomm_merge(inter, high, &merged));
    OK(MPI_Comm_rank(merged, &me));
    OK(MPI_Comm_size(merged, &n));
    CHECK(n == size);
    const int side = rank % 2, first = round == 2 ? side == 0 : !high;
    const int place = rank / 2 + (first ? 0 : counts[1 - side]);
    CHECK(me == place);
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK(sum == size * (size - 1) / 2);
    OK(MPI_Comm_free(&merged));
  }
}

static void duplicates(MPI_Comm inter) {
  MPI_Comm copy, later;
  MPI_Request request;
  int result;
  const int side = rank % 2;
  OK(MPI_Comm_dup(inter, &copy));
  joins(copy, sides[side], counts[side], sides[1 - side], counts[1 - side]);
  OK(MPI_Comm_compare(inter, copy, &result));
  CHECK(result == MPI_CONGRUENT);
  OK(MPI_Comm_compare(inter, MPI_COMM_WORLD, &result));
  CHECK(result == MPI_UNEQUAL);
  OK(MPI_Comm_idup(inter, &later, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  joins(later, sides[side], counts[side], sides[1 - side], counts[1 - side]);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_disconnect(&later));
}

/* By colour: the first of each side, and the rest where both sides have some. */
static void splits(MPI_Comm inter) {
  MPI_Comm part;
  const int side = rank % 2, first = rank < 2;
  OK(MPI_Comm_split(inter, first ? 0 : 1, -rank, &part));
  if (first) {
    joins(part, &rank, 1, sides[1 - side], 1);
  } else if (counts[1 - side] == 1) {
    CHECK(part == MPI_COMM_NULL);
  } else {
    int near[64], far[64];
    for (int i = 1; i < counts[side]; ++i) near[counts[side] - 1 - i] = sides[side][i];
    for (int i = 1; i < counts[1 - side]; ++i) far[counts[1 - side] - 1 - i] = sides[1 - side][i];
    joins(part, near, counts[side] - 1, far, counts[1 - side] - 1);
  }
  if (part != MPI_COMM_NULL) OK(MPI_Comm_free(&part));
}

static void from_subgroups(MPI_Comm inter) {
  MPI_Group group, leader;
  MPI_Comm part;
  const int zero = 0, side = rank % 2;
  OK(MPI_Comm_group(inter, &group));
  OK(MPI_Group_incl(group, 1, &zero, &leader));
  OK(MPI_Comm_create(inter, leader, &part));
  CHECK((part == MPI_COMM_NULL) == (rank >= 2));
  if (part != MPI_COMM_NULL) {
    joins(part, &rank, 1, sides[1 - side], 1);
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Group_free(&leader));
  OK(MPI_Group_free(&group));
}

static void from_groups(MPI_Comm inter) {
  MPI_Group near, far;
  MPI_Comm made;
  const int side = rank % 2;
  OK(MPI_Comm_group(inter, &near));
  OK(MPI_Comm_remote_group(inter, &far));
  int near_rank;
  OK(MPI_Group_rank(near, &near_rank));
  const int leads = near_rank == counts[side] - 1; /* the other group counts at the leader only */
  OK(MPI_Intercomm_create_from_groups(near, counts[side] - 1, leads ? far : MPI_GROUP_NULL, counts[1 - side] - 1, "org.example/pair",
                                      MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made));
  joins(made, sides[side], counts[side], sides[1 - side], counts[1 - side]);
  OK(MPI_Comm_free(&made));
  OK(MPI_Group_free(&near));
  OK(MPI_Group_free(&far));
}

/* A communicator between groups can be the peer of another. */
static void through_another(MPI_Comm inter) {
  MPI_Comm half, made;
  const int side = rank % 2;
  OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half));
  OK(MPI_Intercomm_create(half, 0, inter, 0, 5, &made));
  joins(made, sides[side], counts[side], sides[1 - side], counts[1 - side]);
  OK(MPI_Comm_free(&half));
  OK(MPI_Comm_free(&made));
}

static void overlapping_groups(void) {
  MPI_Comm made;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_WORLD, 0, 5, &made), MPI_ERR_RANK);
  FAILS(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_WORLD, size, 5, &made), MPI_ERR_RANK);
  FAILS(MPI_Intercomm_create(MPI_COMM_WORLD, size, MPI_COMM_WORLD, 0, 5, &made), MPI_ERR_RANK);
}

/* Two communicators between ranks 0 and 1 that are made at the same time: by tags that differ in a high bit only, or by texts of which short hashes are
 * the same. Each rank makes the one on a thread of its own, rank 0 the first and rank 1 the second. */
static MPI_Comm pairs[2];
static MPI_Group of_rank[2];

static void* by_tag(void* which) {
  const int i = *(int*)which;
  OK(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, i == 0 ? 5 : 5 + (1 << 29), &pairs[i]));
  return NULL;
}
static void* by_text(void* which) {
  const int i = *(int*)which;
  OK(MPI_Intercomm_create_from_groups(of_rank[rank], 0, of_rank[1 - rank], 0, i == 0 ? "org.example.comm.696" : "org.example.comm.2808", MPI_INFO_NULL,
                                      MPI_ERRORS_ARE_FATAL, &pairs[i]));
  return NULL;
}

static void at_the_same_time(void* (*make)(void*)) {
  int first = rank, second = 1 - rank;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, make, &first) == 0);
  make(&second);
  CHECK(pthread_join(thread, NULL) == 0);
  MPI_Request requests[4];
  int sent[2] = {100, 200}, received[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Irecv(&received[i], 1, MPI_INT, 0, 0, pairs[i], &requests[i]));
    OK(MPI_Isend(&sent[i], 1, MPI_INT, 0, 0, pairs[i], &requests[2 + i]));
  }
  OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  CHECK(received[0] == 100 && received[1] == 200);
  for (int i = 0; i < 2; ++i) OK(MPI_Comm_free(&pairs[i]));
}

static void of_similar_names(void) {
  MPI_Group world;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (int i = 0; i < 2; ++i) OK(MPI_Group_incl(world, 1, &i, &of_rank[i]));
  for (int i = 0; i < 20 && rank < 2; ++i) {
    at_the_same_time(by_tag);
    at_the_same_time(by_text);
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Group_free(&of_rank[i]));
  OK(MPI_Group_free(&world));
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(size >= 2);
  MPI_Comm inter = even_and_odd();
  merges(inter);
  duplicates(inter);
  splits(inter);
  from_subgroups(inter);
  from_groups(inter);
  through_another(inter);
  of_similar_names();
  overlapping_groups();
  OK(MPI_Comm_free(&inter));
  OK(MPI_Finalize());
  return 0;
}
