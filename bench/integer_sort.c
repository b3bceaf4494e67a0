/* An integer sort as in the NAS Parallel Benchmarks (IS), the application that gained most from a receive queue for each endpoint (paper 3,
   table 3). Each iteration counts its keys in buckets (MPI_Allreduce), gives each rank neighbouring buckets with about as many keys as the
   others have, and sends every key where it belongs (MPI_Alltoall of the counts, MPI_Alltoallv of the keys), where keys are counted once
   more. Messages are long and all ranks send at once. Two times are told: that of an iteration, and that of the exchange alone. */
#include "ranks.h"

enum { kBuckets = 1024, kBucketBits = 9, kMostKey = kBuckets << kBucketBits };

static Sizes keys;
static const Option options[] = {{"--keys", "LIST", "keys of each rank (64K-1Mx4)", .sizes = &keys}, {0}};
static const Program program = {
    "integer_sort", "An integer sort: the time of an iteration, and of its exchange, by the keys of each rank.",
    options};

typedef struct {
  int count, received;
  int *unsorted, *by_bucket, *in; /* keys; `in` has room for `room` */
  int room;
  int *to, *to_at, *from, *from_at;    /* for each rank: how many keys, and where they begin */
  int sizes[kBuckets], sums[kBuckets]; /* keys in each bucket, of this rank and of all */
  int owner[kBuckets];
  int* ranking; /* of the keys that came, by their value */
} Sort;

static int bucket_of(int key) {
  return key >> kBucketBits;
}

/* The mean of four draws, as in IS: keys in the middle are more frequent. */
static void draw_keys(Sort* sort) {
  unsigned long state = 314159265UL + (unsigned long)rank;
  for (int i = 0; i < sort->count; ++i) {
    long sum = 0;
    for (int draw = 0; draw < 4; ++draw) {
      state = state * 6364136223846793005UL + 1442695040888963407UL;
      sum += (long)(state >> 33) % kMostKey;
    }
    sort->unsorted[i] = (int)(sum / 4);
  }
}

static void count_keys(Sort* sort) {
  memset(sort->sizes, 0, sizeof sort->sizes);
  for (int i = 0; i < sort->count; ++i) ++sort->sizes[bucket_of(sort->unsorted[i])];
}

/* Who gets which bucket; the keys in the order of their buckets; how many go to whom. */
static void divide_keys(Sort* sort) {
  long before = 0, all = (long)sort->count * size;
  int at[kBuckets], place = 0;
  memset(sort->to, 0, sizeof(int) * (size_t)size);
  for (int i = 0; i < kBuckets; ++i) {
    sort->owner[i] =
        before < all ? (int)(before * size / all) : size - 1; /* empty ones at the end are the last rank's */
    before += sort->sums[i];
    at[i] = place;
    place += sort->sizes[i];
    sort->to[sort->owner[i]] += sort->sizes[i];
  }
  for (int i = 0; i < sort->count; ++i) sort->by_bucket[at[bucket_of(sort->unsorted[i])]++] = sort->unsorted[i];
}

static int places(const int* counts, int* at) {
  int sum = 0;
  for (int i = 0; i < size; ++i) {
    at[i] = sum;
    sum += counts[i];
  }
  return sum;
}

static void exchange_keys(Sort* sort) {
  MPI_Alltoall(sort->to, 1, MPI_INT, sort->from, 1, MPI_INT, MPI_COMM_WORLD);
  places(sort->to, sort->to_at);
  sort->received = places(sort->from, sort->from_at);
  if (sort->received > sort->room) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Alltoallv(sort->by_bucket, sort->to, sort->to_at, MPI_INT, sort->in, sort->from, sort->from_at, MPI_INT,
                MPI_COMM_WORLD);
}

static void rank_keys(Sort* sort) {
  memset(sort->ranking, 0, sizeof(int) * kMostKey);
  for (int i = 0; i < sort->received; ++i) ++sort->ranking[sort->in[i]];
}

static void iterate(void* context, int times) {
  for (Sort* sort = context; times > 0; --times) {
    count_keys(sort);
    MPI_Allreduce(sort->sizes, sort->sums, kBuckets, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    divide_keys(sort);
    exchange_keys(sort);
    rank_keys(sort);
  }
}

static void only_exchange(void* context, int times) {
  while (times-- > 0) exchange_keys(context);
}

/* Every key is where it belongs, and none is lost: their number and sum are what they were. */
static void check(const Sort* sort) {
  long here[2] = {sort->count, 0}, there[2] = {sort->received, 0}, difference[2];
  bool right = true;
  for (int i = 0; i < sort->count; ++i) here[1] += sort->unsorted[i];
  for (int i = 0; i < sort->received; ++i) {
    right = right && sort->owner[bucket_of(sort->in[i])] == rank;
    there[1] += sort->in[i];
  }
  for (int i = 0; i < 2; ++i) here[i] -= there[i];
  MPI_Allreduce(here, difference, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (right && difference[0] == 0 && difference[1] == 0) return;
  fprintf(stderr, "rank %d: the keys that came are not those that were sent\n", rank);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int* integers(int count) {
  return allocate(sizeof(int) * (size_t)count);
}

static void answer_for(int count) {
  Sort* sort = allocate(sizeof *sort);
  *sort = (Sort){.count = count,
                 .room = 2 * count + kMostKey / kBuckets,
                 .unsorted = integers(count),
                 .by_bucket = integers(count)};
  sort->in = integers(sort->room);
  sort->to = integers(size), sort->to_at = integers(size), sort->from = integers(size), sort->from_at = integers(size);
  sort->ranking = integers(kMostKey);
  draw_keys(sort);
  Samples times = {0};
  const struct {
    const char* series;
    void (*run)(void*, int);
  } all[] = {{"iteration", iterate}, {"exchange", only_exchange}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    measure_in(MPI_COMM_WORLD, all[i].run, sort, quick ? 0.4 : 1.2, 5e-3, &times);
    check(sort);
    scale_samples(&times, 1e3);
    report(&program, (Figure){all[i].series, "ms", "lower", count, "keys of each rank", ""}, &times);
  }
  free(sort->unsorted), free(sort->by_bucket), free(sort->in), free(sort->ranking);
  free(sort->to), free(sort->to_at), free(sort->from), free(sort->from_at), free(sort);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 1024);
  default_sizes(&keys, "64K-1Mx4", "256K");
  for (int s = 0; s < keys.count; ++s) answer_for((int)keys.values[s]);
  return MPI_Finalize();
}
