/* How often what comes over TCP is copied, as the statistics count it: what the kernel's read, or a program in the kernel (LAPWING_RECEIVE=kernel), puts
   straight into memory of MPI_Alloc_mem or of malloc, and what comes there by way of memory of the library. */
#include "check.h"

enum { kMessages = 8, kMostRounds = 200, kReadyTag = 100, kGoOnTag = 101 };

static MPI_T_pvar_session session;

static unsigned long long statistic(const char* name) {
  int index, count;
  unsigned long long value;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  OK(MPI_T_pvar_read(session, handle, &value));
  OK(MPI_T_pvar_handle_free(session, &handle));
  return value;
}

typedef struct {
  unsigned long long received, in_kernel, once, twice; /* bytes */
} Counted;

static Counted now(void) {
  return (Counted){statistic("lapwing_bytes_received"), statistic("lapwing_bytes_matched_in_kernel"), statistic("lapwing_bytes_copied_once"),
                   statistic("lapwing_bytes_copied_twice")};
}

static Counted since(Counted before) {
  const Counted all = now();
  return (Counted){all.received - before.received, all.in_kernel - before.in_kernel, all.once - before.once, all.twice - before.twice};
}

/* Each byte that came has been copied once or twice. */
static Counted receive_round(unsigned char* room, int bytes) {
  const Counted before = now();
  MPI_Request requests[kMessages];
  for (int i = 0; i < kMessages; ++i) OK(MPI_Irecv(room + i * bytes, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
  OK(MPI_Send(NULL, 0, MPI_BYTE, 1, kReadyTag, MPI_COMM_WORLD));
  OK(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kMessages; ++i) CHECK(is_pattern(room + i * bytes, (size_t)bytes, (unsigned)i));
  const Counted counted = since(before);
  CHECK(counted.received == (unsigned long long)kMessages * (unsigned)bytes);
  CHECK(counted.once + counted.twice == counted.received);
  return counted;
}

static void send_round(unsigned char* message, int bytes) {
  OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, kReadyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < kMessages; ++i) {
    fill_pattern(message, (size_t)bytes, (unsigned)i);
    OK(MPI_Send(message, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD));
  }
}

/* Rank 0 says whether there is another round. */
static int go_on(int rank, int again) {
  OK(rank == 0 ? MPI_Send(&again, 1, MPI_INT, 1, kGoOnTag, MPI_COMM_WORLD) : MPI_Recv(&again, 1, MPI_INT, 0, kGoOnTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return again;
}

/* One round; or rounds until the program in the kernel has taken something, which it does only while the receiver polls. */
static Counted rounds(int rank, unsigned char* memory, int bytes, int in_kernel) {
  Counted counted = {0, 0, 0, 0};
  int round = 0;
  do {
    if (rank == 0)
      counted = receive_round(memory, bytes);
    else
      send_round(memory, bytes);
  } while (go_on(rank, in_kernel && counted.in_kernel == 0 && ++round < kMostRounds));
  return counted;
}

int main(int argc, char** argv) {
  enum { kShort = 64, kMiddle = 16000, kLong = 1000000 };
  const char* receive = getenv("LAPWING_RECEIVE");
  const int in_kernel = receive != NULL && strcmp(receive, "kernel") == 0;
  int provided, rank;
  unsigned char* room;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Alloc_mem(kMessages * kMiddle, MPI_INFO_NULL, &room));
  unsigned char* ordinary = malloc((size_t)kMessages * kLong);

  /* A message that is taken is where it belongs, or copied there: so the others alone may be counted otherwise. */
  const Counted in_place = rounds(rank, room, kMiddle, in_kernel);
  const Counted by_ring = rounds(rank, ordinary, kMiddle, in_kernel);
  if (rank == 0 && in_kernel) {
    CHECK(in_place.in_kernel > 0 && in_place.twice <= in_place.received - in_place.in_kernel);
    CHECK(by_ring.in_kernel > 0 && by_ring.once <= by_ring.received - by_ring.in_kernel);
  }

  /* A short message comes with its header; of a long one the rest is read to its place, but for what came with the first header. Records are opened
     into other memory than they are read to. */
  const int in_records = getenv("LAPWING_WIRE") != NULL;
  const Counted short_ones = rounds(rank, ordinary, kShort, 0);
  const Counted long_ones = rounds(rank, ordinary, kLong, 0);
  if (rank == 0) {
    CHECK(short_ones.once == 0);
    CHECK(in_records ? long_ones.once == 0 : long_ones.once > long_ones.twice);
  }
  free(ordinary);
  OK(MPI_Free_mem(room));
  OK(MPI_Finalize());
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  return 0;
}
