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
#include "collective_calls.h"

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
enum { kMostCells = 4096, kMostSamples = 2000 };
static const double kComputes = 200e-6;

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
  return (!(traits & kUnsized) || first_size) && has_length(cell->collective, cell->bytes);
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
    if (cell->mode == kRotating) next_root(job);
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
  set_length(job, cell->bytes);
  check_call(cell->collective, job);
  Samples samples = {0};
  run_cell(cell, job, &samples);
  check_call(cell->collective, job);
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
  for (int i = 0; i < only_sizes.count; ++i)
    if ((size_t)most < only_sizes.values[i]) most = (long)only_sizes.values[i];
  Job job = make_job((size_t)most);
  const int count = draw_sample(chosen, all_cells(cells), (int)wanted, (unsigned)seed);
  for (int i = 0; i < count; ++i) answer_for(&cells[chosen[i]], &job);
  return MPI_Finalize();
}
