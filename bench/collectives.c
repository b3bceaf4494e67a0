/* Blocking collectives, alone: every one of them, in cells drawn from all combinations of

     collective  MPI_Bcast to MPI_Barrier, the forms with counts included (their blocks have one length here, too)
     size        8 B to 1 MiB, every 2^k and 3*2^k: of one rank's block, of the whole operand in reductions
     mode        back to back: one call follows the other, rank 0 is the root. Rotating root: the next rank each time.
                 Barrier between: each call follows an MPI_Barrier, which is not counted. After computing: each rank
                 makes increments and walks through memory first. Mean of ranks: as with a barrier between, but what
                 the ranks spend in the call on average, as other benchmarks print it

   The draw depends on --seed and the number of ranks alone, so that every library is asked the same cells.

   A time is that from the moment when the last rank has called to the moment when the last rank has returned, by a
   clock that all ranks share: all of them run on one machine (or in network namespaces of one). So a root that goes on
   early gains no more than the whole gains, but in the mean of the ranks. Back to back it is the time of many calls,
   over their number. Results are checked before and after each cell is measured. */
#include "ranks.h"

#include <string.h>

static long seed = 1, wanted = 60, most = 1 << 20, memory = 1024;
static const char *only, *only_mode;
static Sizes only_sizes;
static const char* const mode_names[] = {"back to back",    "rotating root", "barrier between",
                                         "after computing", "mean of ranks", NULL};
static const Option options[] = {
    {"--seed", "NUMBER", "of the draw (1)", .number = &seed},
    {"--cells", "COUNT", "how many are drawn (60); more than there are: all", .number = &wanted},
    {"--most", "BYTES", "largest size (1048576)", .number = &most},
    {"--memory", "KIB", "memory that the computing walks through (1024)", .number = &memory},
    {"--only", "NAME", "only this collective, as Bcast", .text = &only},
    {"--mode", "MODE", "only this mode, as 'rotating root'", .text = &only_mode, .choices = mode_names},
    {"--sizes", "LIST", "only these sizes (multiples of 8)", .sizes = &only_sizes},
    {0}};
static const Program program = {"collectives", "Blocking collectives: cells drawn from collectives, sizes and modes.",
                                options};

enum { kBackToBack, kRotating, kBarrier, kComputing, kMean, kModes };
enum { kMostCells = 4096, kMostSamples = 2000, kPeriod = 1000 };
static const size_t kMostMemory = (size_t)16 << 20; /* of one rank's blocks */
static const double kComputes = 200e-6;

/* ---- Operands ---- */

typedef struct {
  size_t bytes;                         /* of a block, or of the operand of a reduction */
  int count, numbers;                   /* of bytes, of doubles */
  int root;
  char *out, *in;                       /* a block for each rank */
  int *counts, *displacements, *shares; /* shares: doubles that each rank gets of a scattered reduction */
} Job;

static char* block(const Job* job, char* blocks, int which) {
  return blocks + (size_t)which * job->bytes;
}

static void fill_bytes(Job* job) {
  for (int i = 0; i < size; ++i) fill(block(job, job->out, i), job->bytes, (unsigned)(rank * size + i));
}

/* A broadcast is of one block, which may be longer than those of which there is one for each rank. */
static void fill_first(Job* job) {
  fill(job->out, job->bytes, (unsigned)(rank * size));
}

static void fill_numbers(Job* job) {
  double* numbers = (double*)job->out;
  for (int i = 0; i < job->numbers; ++i) numbers[i] = i % kPeriod + rank;
}

static bool has_block(const Job* job, int at, int from, int which) {
  return is_filled(block(job, job->in, at), job->bytes, (unsigned)(from * size + which));
}

/* The sum of the operands of so many ranks, from the element `first` on. */
static bool has_sum(const Job* job, int first, int count, int ranks) {
  const double* sums = (const double*)job->in;
  for (int i = 0; i < count; ++i)
    if (sums[i] != (double)((first + i) % kPeriod) * ranks + ranks * (ranks - 1) / 2.0) return false;
  return true;
}

/* ---- Collectives, and what they bring ---- */

#define WORLD MPI_COMM_WORLD

static void bcast(const Job* j) {
  MPI_Bcast(rank == j->root ? j->out : j->in, j->count, MPI_BYTE, j->root, WORLD);
}
static bool has_broadcast(const Job* j) {
  return rank == j->root || has_block(j, 0, j->root, 0);
}

static void scatter(const Job* j) {
  MPI_Scatter(j->out, j->count, MPI_BYTE, j->in, j->count, MPI_BYTE, j->root, WORLD);
}
static void scatterv(const Job* j) {
  MPI_Scatterv(j->out, j->counts, j->displacements, MPI_BYTE, j->in, j->count, MPI_BYTE, j->root, WORLD);
}
static bool has_scattered(const Job* j) {
  return has_block(j, 0, j->root, rank);
}

static void gather(const Job* j) {
  MPI_Gather(j->out, j->count, MPI_BYTE, j->in, j->count, MPI_BYTE, j->root, WORLD);
}
static void gatherv(const Job* j) {
  MPI_Gatherv(j->out, j->count, MPI_BYTE, j->in, j->counts, j->displacements, MPI_BYTE, j->root, WORLD);
}
static void allgather(const Job* j) {
  MPI_Allgather(j->out, j->count, MPI_BYTE, j->in, j->count, MPI_BYTE, WORLD);
}
static void allgatherv(const Job* j) {
  MPI_Allgatherv(j->out, j->count, MPI_BYTE, j->in, j->counts, j->displacements, MPI_BYTE, WORLD);
}
static bool has_gathered_all(const Job* j) {
  for (int from = 0; from < size; ++from)
    if (!has_block(j, from, from, 0)) return false;
  return true;
}
static bool has_gathered(const Job* j) {
  return rank != j->root || has_gathered_all(j);
}

static void alltoall(const Job* j) {
  MPI_Alltoall(j->out, j->count, MPI_BYTE, j->in, j->count, MPI_BYTE, WORLD);
}
static void alltoallv(const Job* j) {
  MPI_Alltoallv(j->out, j->counts, j->displacements, MPI_BYTE, j->in, j->counts, j->displacements, MPI_BYTE, WORLD);
}
static bool has_exchanged(const Job* j) {
  for (int from = 0; from < size; ++from)
    if (!has_block(j, from, from, rank)) return false;
  return true;
}

static void allreduce(const Job* j) {
  MPI_Allreduce(j->out, j->in, j->numbers, MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_reduced_all(const Job* j) {
  return has_sum(j, 0, j->numbers, size);
}
static void reduce(const Job* j) {
  MPI_Reduce(j->out, j->in, j->numbers, MPI_DOUBLE, MPI_SUM, j->root, WORLD);
}
static bool has_reduced(const Job* j) {
  return rank != j->root || has_reduced_all(j);
}

/* All shares together are the operand; the first ones have one element more. */
static void reduce_scatter(const Job* j) {
  MPI_Reduce_scatter(j->out, j->in, j->shares, MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_share(const Job* j) {
  int first = 0;
  for (int i = 0; i < rank; ++i) first += j->shares[i];
  return has_sum(j, first, j->shares[rank], size);
}
/* What does not go into equal parts is left out. */
static void reduce_scatter_block(const Job* j) {
  MPI_Reduce_scatter_block(j->out, j->in, j->shares[size - 1], MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_part(const Job* j) {
  return has_sum(j, rank * j->shares[size - 1], j->shares[size - 1], size);
}

static void scan(const Job* j) {
  MPI_Scan(j->out, j->in, j->numbers, MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_scanned(const Job* j) {
  return has_sum(j, 0, j->numbers, rank + 1);
}
static void exscan(const Job* j) {
  MPI_Exscan(j->out, j->in, j->numbers, MPI_DOUBLE, MPI_SUM, WORLD);
}
static bool has_scanned_before(const Job* j) {
  return rank == 0 || has_sum(j, 0, j->numbers, rank);
}

static void barrier(const Job* j) {
  (void)j;
  MPI_Barrier(WORLD);
}
static bool has_nothing(const Job* j) {
  (void)j;
  return true;
}

enum { kRooted = 1, kBlocks = 2, kParts = 4, kUnsized = 8 };
typedef struct {
  const char* name;
  void (*run)(const Job*);
  void (*prepare)(Job*);
  bool (*arrived)(const Job*);
  int traits; /* kBlocks: there is a block for each rank; kParts: an element for each, at least */
} Collective;

static const Collective collectives[] = {
    {"Bcast", bcast, fill_first, has_broadcast, kRooted},
    {"Scatter", scatter, fill_bytes, has_scattered, kRooted | kBlocks},
    {"Scatterv", scatterv, fill_bytes, has_scattered, kRooted | kBlocks},
    {"Gather", gather, fill_bytes, has_gathered, kRooted | kBlocks},
    {"Gatherv", gatherv, fill_bytes, has_gathered, kRooted | kBlocks},
    {"Allgather", allgather, fill_bytes, has_gathered_all, kBlocks},
    {"Allgatherv", allgatherv, fill_bytes, has_gathered_all, kBlocks},
    {"Alltoall", alltoall, fill_bytes, has_exchanged, kBlocks},
    {"Alltoallv", alltoallv, fill_bytes, has_exchanged, kBlocks},
    {"Allreduce", allreduce, fill_numbers, has_reduced_all, 0},
    {"Reduce", reduce, fill_numbers, has_reduced, kRooted},
    {"Reduce_scatter", reduce_scatter, fill_numbers, has_share, 0},
    {"Reduce_scatter_block", reduce_scatter_block, fill_numbers, has_part, kParts},
    {"Scan", scan, fill_numbers, has_scanned, 0},
    {"Exscan", exscan, fill_numbers, has_scanned_before, 0},
    {"Barrier", barrier, fill_bytes, has_nothing, kUnsized}};
enum { kCollectives = sizeof collectives / sizeof *collectives };

/* ---- Cells ---- */

typedef struct {
  const Collective* collective;
  int mode;
  size_t bytes;
} Cell;

static int all_sizes(size_t* sizes) {
  int count = 0;
  for (size_t bytes = 8; bytes <= (size_t)most; bytes *= 2) {
    sizes[count++] = bytes;
    if (bytes >= 16 && bytes / 2 * 3 <= (size_t)most) sizes[count++] = bytes / 2 * 3;
  }
  if (only_sizes.count == 0) return count;
  for (int i = 0; i < only_sizes.count; ++i) sizes[i] = only_sizes.values[i] / 8 * 8;
  return only_sizes.count;
}

static bool is_cell(const Cell* cell, bool first_size) {
  const int traits = cell->collective->traits;
  if (only != NULL && strcmp(only, cell->collective->name) != 0) return false;
  if (only_mode != NULL && strcmp(only_mode, mode_names[cell->mode]) != 0) return false;
  if (cell->mode == kRotating && !(traits & kRooted)) return false;
  if ((cell->mode == kBarrier || cell->mode == kMean) && (traits & kUnsized)) return false;
  if ((traits & kUnsized) && !first_size) return false;
  if ((traits & kParts) && cell->bytes < sizeof(double) * (size_t)size) return false;
  return !(traits & kBlocks) || cell->bytes * (size_t)size <= kMostMemory;
}

static int all_cells(Cell* cells) {
  size_t sizes[128];
  const int size_count = all_sizes(sizes);
  int count = 0;
  for (int mode = 0; mode < kModes; ++mode)
    for (int i = 0; i < kCollectives; ++i)
      for (int s = 0; s < size_count; ++s) {
        cells[count] = (Cell){&collectives[i], mode, sizes[s]};
        if (count < kMostCells - 1 && is_cell(&cells[count], s == 0)) ++count;
      }
  return count;
}

/* ---- Measuring ---- */

static volatile char* walked;
static long increments;

static void compute(void) {
  increment(increments);
  for (long i = 0; i < memory * 1024; i += 64) ++walked[i];
}

typedef struct {
  double begin, end;
} Times;

/* So many calls in a row, at this rank. */
static Times call(const Cell* cell, Job* job, int calls) {
  Times times;
  MPI_Barrier(MPI_COMM_WORLD);
  if (cell->mode == kComputing) compute();
  times.begin = now();
  for (int i = 0; i < calls; ++i) {
    cell->collective->run(job);
    if (cell->mode == kRotating && ++job->root == size) job->root = 0;
  }
  times.end = now();
  return times;
}

/* How many calls make a sample; the same at all ranks. */
static int calls_of(const Cell* cell, Job* job) {
  MPI_Comm world = MPI_COMM_WORLD;
  for (int calls = 1;; calls *= 2) {
    const Times times = call(cell, job, calls);
    const bool single = cell->mode == kBarrier || cell->mode == kComputing || cell->mode == kMean;
    const bool enough = times.end - times.begin > 100e-6 * size || calls >= 1 << 16;
    if (single || agree_in(&world, enough)) return calls;
  }
}

static void check(const Cell* cell, Job* job) {
  cell->collective->prepare(job);
  memset(job->in, 0, job->bytes * (size_t)(cell->collective->traits & kBlocks ? size : 1));
  cell->collective->run(job);
  if (cell->collective->arrived(job)) return;
  fprintf(stderr, "rank %d: MPI_%s of %zu bytes from rank %d brought other content than it should\n", rank,
          cell->collective->name, job->bytes, job->root);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What each rank has spent in the call, on average. */
static void add_means(const Times* own, int count, Samples* samples) {
  static double spent[kMostSamples], all[kMostSamples];
  for (int i = 0; i < count; ++i) spent[i] = own[i].end - own[i].begin;
  MPI_Reduce(spent, all, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int i = 0; i < count && rank == 0; ++i) add_sample(samples, 1e6 * all[i] / size);
}

/* From the last arrival to the last return. */
static void add_times(const Times* own, int count, int calls, Samples* samples) {
  static Times last[kMostSamples];
  MPI_Reduce(own, last, 2 * count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  for (int i = 0; i < count && rank == 0; ++i) add_sample(samples, 1e6 * (last[i].end - last[i].begin) / calls);
}

static void run_cell(const Cell* cell, Job* job, Samples* samples) {
  static Times own[kMostSamples];
  MPI_Comm world = MPI_COMM_WORLD;
  const double budget = quick ? 0.01 : 0.04;
  const int calls = calls_of(cell, job);
  const double begin = now();
  int count = 0;
  do {
    for (int i = 0; i < 5; ++i) own[count++] = call(cell, job, calls);
  } while (agree_in(&world, now() - begin < budget && count + 5 <= kMostSamples));
  cell->mode == kMean ? add_means(own, count, samples) : add_times(own, count, calls, samples);
}

static void answer_for(const Cell* cell, Job* job) {
  job->bytes = cell->bytes;
  job->count = (int)cell->bytes;
  job->numbers = (int)(cell->bytes / sizeof(double));
  job->root = 0;
  for (int i = 0; i < size; ++i) {
    job->counts[i] = job->count;
    job->displacements[i] = i * job->count;
    job->shares[i] = job->numbers / size + (i < job->numbers % size);
  }
  check(cell, job);
  Samples samples = {0};
  run_cell(cell, job, &samples);
  check(cell, job);
  char series[96];
  snprintf(series, sizeof series, "%s, %s, %d ranks", cell->collective->name, mode_names[cell->mode], size);
  report(&program, (Figure){series, "us", "lower", (double)cell->bytes, "size", "B"}, &samples);
  free(samples.values);
}

int main(int argc, char** argv) {
  static Cell cells[kMostCells];
  static int chosen[kMostCells];
  start(&program, argc, argv, 2, 1 << 10);
  walked = allocate((size_t)memory * 1024 + 1);
  MPI_Comm world = MPI_COMM_WORLD;
  increments = agree_in(&world, increments_for(kComputes));
  const size_t room = kMostMemory > (size_t)most ? kMostMemory : (size_t)most;
  const size_t numbers = sizeof(int) * (size_t)size;
  Job job = {.out = allocate(room), .in = allocate(room)};
  job.counts = allocate(numbers);
  job.displacements = allocate(numbers);
  job.shares = allocate(numbers);
  const int count = draw_sample(chosen, all_cells(cells), (int)wanted, (unsigned)seed);
  for (int i = 0; i < count; ++i) answer_for(&cells[chosen[i]], &job);
  return MPI_Finalize();
}
