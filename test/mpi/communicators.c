/* Communicators from communicators and from groups: which ranks are in them, and that their messages stay apart. */
#include "check.h"

static int rank, size;

/* The members of `comm` are `count` ranks of the world, in this order; and messages in it arrive where they should. */
static void is_made_of(MPI_Comm comm, const int* world_ranks, int count) {
  int n, me;
  OK(MPI_Comm_size(comm, &n));
  OK(MPI_Comm_rank(comm, &me));
  CHECK(n == count && world_ranks[me] == rank);
  int* all = malloc(sizeof(int) * (size_t)n);
  OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm));
  for (int i = 0; i < n; ++i) CHECK(all[i] == world_ranks[i]);
  free(all);
  int from = -1;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (me + 1) % n, 3, &from, 1, MPI_INT, (me + n - 1) % n, 3, comm, MPI_STATUS_IGNORE));
  CHECK(from == world_ranks[(me + n - 1) % n]);
}

static int* everybody(void) {
  int* ranks = malloc(sizeof(int) * (size_t)size);
  for (int i = 0; i < size; ++i) ranks[i] = i;
  return ranks;
}

static void expect_compare(MPI_Comm a, MPI_Comm b, int wanted) {
  int result;
  OK(MPI_Comm_compare(a, b, &result));
  CHECK(result == wanted);
}

static void duplicates(void) {
  MPI_Comm copy, later;
  MPI_Request request;
  int* all = everybody();
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  is_made_of(copy, all, size);
  expect_compare(MPI_COMM_WORLD, copy, MPI_CONGRUENT);
  expect_compare(copy, copy, MPI_IDENT);
  OK(MPI_Comm_idup(copy, &later, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  is_made_of(later, all, size);
  OK(MPI_Comm_free(&copy));
  CHECK(copy == MPI_COMM_NULL);
  is_made_of(later, all, size);
  OK(MPI_Comm_disconnect(&later));
  CHECK(later == MPI_COMM_NULL);
  free(all);
}

/* Several at once, and their agreements mixed with other messages. */
static void many_duplicates(void) {
  enum { kMany = 8 };
  MPI_Comm copies[kMany];
  MPI_Request requests[kMany];
  int* all = everybody();
  for (int i = 0; i < kMany; ++i) OK(MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kMany; ++i) {
    is_made_of(copies[i], all, size);
    OK(MPI_Comm_free(&copies[i]));
  }
  free(all);
}

/* A communicator can be freed while its messages are under way. */
static void freed_early(void) {
  MPI_Comm copy;
  MPI_Request requests[2];
  static char out[100000], in[100000];
  memset(out, 'a' + rank, sizeof out);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Isend(out, sizeof out, MPI_CHAR, (rank + 1) % size, 0, copy, &requests[0]));
  OK(MPI_Irecv(in, sizeof in, MPI_CHAR, (rank + size - 1) % size, 0, copy, &requests[1]));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(in[0] == 'a' + (rank + size - 1) % size && in[sizeof in - 1] == in[0]);
}

static void splits(void) {
  MPI_Comm part;
  int members[64], count = 0;
  /* Odd and even, in reverse order. */
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part));
  for (int i = size - 1; i >= 0; --i)
    if (i % 2 == rank % 2) members[count++] = i;
  is_made_of(part, members, count);
  OK(MPI_Comm_free(&part));
  /* The same key everywhere keeps the order; rank 0 stays out. */
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 7, 1, &part));
  if (rank == 0) {
    CHECK(part == MPI_COMM_NULL);
  } else {
    for (int i = 1; i < size; ++i) members[i - 1] = i;
    is_made_of(part, members, size - 1);
    OK(MPI_Comm_free(&part));
  }
}

/* The ranks whose host has the same name, and the same letter where hosts are emulated (list.txt); their number. */
static int ranks_of_this_host(int* ranks) {
  char mine[MPI_MAX_PROCESSOR_NAME] = "", *all = malloc((size_t)size * sizeof mine);
  int length, count = 0;
  const char* letters = getenv("LAPWING_INTERNAL_HOSTS");
  OK(MPI_Get_processor_name(mine, &length));
  if (letters != NULL && length + 1 < MPI_MAX_PROCESSOR_NAME) mine[length] = letters[(size_t)rank % strlen(letters)];
  OK(MPI_Allgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, MPI_COMM_WORLD));
  for (int i = 0; i < size; ++i)
    if (strcmp(all + (size_t)i * sizeof mine, mine) == 0) ranks[count++] = i;
  free(all);
  return count;
}

static void split_types(void) {
  MPI_Comm part;
  MPI_Info info;
  int* here = malloc(sizeof(int) * (size_t)size);
  const int count = ranks_of_this_host(here);
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
  is_made_of(part, here, count);
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
  CHECK((part == MPI_COMM_NULL) == (rank != 0));
  if (rank == 0) OK(MPI_Comm_free(&part));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, MPI_INFO_NULL, &part));
  CHECK(part == MPI_COMM_NULL);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
  is_made_of(part, here, count);
  OK(MPI_Comm_free(&part));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "the_moon"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
  CHECK(part == MPI_COMM_NULL);
  OK(MPI_Info_free(&info));
  OK(MPI_Info_create(&info));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part));
  if (part != MPI_COMM_NULL) {
    int n, flag, length = 0;
    OK(MPI_Comm_size(part, &n));
    CHECK(n < size);
    OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, NULL, &flag));
    CHECK(flag && length > 1);
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Info_free(&info));
  free(here);
}

/* Disjoint groups at the same time, by MPI_Comm_create and, without the others, by MPI_Comm_create_group. */
static void from_groups(void) {
  MPI_Group world, half;
  MPI_Comm part;
  const int middle = size / 2;
  int ranges[1][3] = {{rank < middle ? middle - 1 : size - 1, rank < middle ? 0 : middle, -1}};
  int members[64], count = 0;
  for (int i = ranges[0][0]; i >= ranges[0][1]; --i) members[count++] = i;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_range_incl(world, 1, ranges, &half));
  OK(MPI_Comm_create(MPI_COMM_WORLD, half, &part));
  is_made_of(part, members, count);
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &part));
  CHECK(part == MPI_COMM_NULL);
  if (rank >= middle) {
    for (int i = 0; i < 3; ++i) {
      MPI_Comm again;
      OK(MPI_Comm_create_group(MPI_COMM_WORLD, half, 17, &part));
      OK(MPI_Comm_create_group(MPI_COMM_WORLD, half, 17, &again));
      is_made_of(part, members, count);
      is_made_of(again, members, count);
      expect_compare(part, again, MPI_CONGRUENT);
      OK(MPI_Comm_free(&part));
      OK(MPI_Comm_free(&again));
    }
    OK(MPI_Comm_create_from_group(half, "org.example/half", MPI_INFO_NULL, MPI_ERRORS_RETURN, &part));
    is_made_of(part, members, count);
    MPI_Errhandler handler;
    OK(MPI_Comm_get_errhandler(part, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Group_free(&half));
  OK(MPI_Group_free(&world));
}

static void names_and_hints(void) {
  char name[MPI_MAX_OBJECT_NAME], value[16];
  int length, flag, space = sizeof value;
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK(strcmp(name, "MPI_COMM_SELF") == 0);
  MPI_Comm copy;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Info_set(info, "something_else", "true"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_get_name(copy, name, &length));
  CHECK(length == 0 && name[0] == 0);
  OK(MPI_Comm_set_name(copy, "a copy"));
  OK(MPI_Comm_get_name(copy, name, &length));
  CHECK(strcmp(name, "a copy") == 0);
  OK(MPI_Comm_get_info(copy, &info));
  OK(MPI_Info_get_string(info, "mpi_assert_no_any_tag", &space, value, &flag));
  CHECK(flag && strcmp(value, "true") == 0);
  OK(MPI_Info_get_string(info, "something_else", &space, value, &flag));
  CHECK(!flag);
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&copy));
}

static void errors(void) {
  MPI_Comm comm = MPI_COMM_WORLD, other;
  MPI_Group group, empty;
  int n;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_Comm_free(&comm), MPI_ERR_COMM);
  CHECK(comm == MPI_COMM_WORLD);
  FAILS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
  FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &n), MPI_ERR_COMM);
  FAILS(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &other), MPI_ERR_ARG);
  FAILS(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &other), MPI_ERR_COMM);
  FAILS(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &other), MPI_ERR_ARG);
  OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  FAILS(MPI_Group_incl(group, 1, &size, &empty), MPI_ERR_RANK);
  if (size > 1) FAILS(MPI_Comm_create(MPI_COMM_SELF, group, &other), MPI_ERR_GROUP);
  OK(MPI_Group_excl(group, 0, NULL, &empty));
  OK(MPI_Group_free(&empty));
  OK(MPI_Group_difference(group, group, &empty));
  CHECK(empty == MPI_GROUP_EMPTY);
  OK(MPI_Group_free(&empty));
  OK(MPI_Group_free(&group));
  FAILS(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  duplicates();
  many_duplicates();
  freed_early();
  splits();
  split_types();
  from_groups();
  names_and_hints();
  errors();
  OK(MPI_Finalize());
  return 0;
}
