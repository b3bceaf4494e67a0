/* Point to point, swept: one number says little about a library whose protocols, buffers and copies change with the
   size, the pattern and what the program does with its memory. So cells are drawn from all combinations of

     pattern   one way (half a ping-pong), exchange (MPI_Sendrecv by both ranks), window (several MPI_Isend, then an
               answer; the time of one message), both ways (such windows in both directions at once)
     size      0 B, and every 2^k and 3*2^k up to 16 MiB: thresholds lie between the powers of two, too
     buffers   reused: the same memory each time, untouched by the program. Rewritten: the program writes each message
               before it sends it, and reads it after it has received it. Pool: the next piece of a large pool, which no
               cache holds.

   The draw depends on --seed alone, so that every library is asked the same cells. They are measured in the order of
   buffers, pattern and size: a program has one habit at a time.

   The program's own writing and reading is taken out of the time, from 1 KiB on (below it costs less than a look at the
   clock). In patterns that go one way the two ranks touch memory one after the other, and both times are taken out; in
   the others they do so side by side, and the longer one is. Every message of a rewritten cell is verified, some of each
   other cell. */
#include "ranks.h"

#include <stdint.h>
#include <string.h>

static long seed = 1, wanted = 60, least = 0, most = 16 << 20, pool_mib = 64;
static const char *near_cores, *far_cores, *touching = "out";
static const char* const ways_to_count[] = {"out", "in", NULL};
static const Option options[] = {
    {"--seed", "NUMBER", "of the draw (1)", .number = &seed},
    {"--cells", "COUNT", "how many are drawn (60); more than there are: all", .number = &wanted},
    {"--least", "BYTES", "smallest message (0)", .number = &least},
    {"--most", "BYTES", "largest message (16777216); 33554432 at most", .number = &most},
    {"--pool", "MIB", "memory of the pool, for each direction (64)", .number = &pool_mib},
    {"--touching", "out|in", "whether the program's own writing and reading counts (out)", .text = &touching,
     .choices = ways_to_count},
    {"--near", "A,B", "the ranks run on these processors, and the results say: near cores", .text = &near_cores},
    {"--far", "A,B", "the same: far cores", .text = &far_cores},
    {0}};
static const Program program = {"sweep", "Point to point: cells drawn from patterns, sizes and habits with buffers.",
                                options};

enum { kWindow = 8, kMostSizes = 64, kMostCells = 1024, kClockedFrom = 1024 };
static const size_t kInFlight = (size_t)32 << 20; /* bytes of a window at most */

/* ---- Memory ---- */

/* Pieces of a region, given out round and round; `step` and `pieces` have no common divisor, so that the pieces of a
   window differ. */
typedef struct {
  char* memory;
  size_t piece, pieces, step, at;
} Pieces;

static char* take(Pieces* from) {
  from->at = (from->at + from->step) % from->pieces;
  return from->memory + from->at * from->piece;
}

static size_t common_divisor(size_t a, size_t b) {
  while (b != 0) {
    const size_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* The pieces follow each other in order where the same ones are reused, and far apart in a pool, where hardware that
   fetches the next line in advance must not help. */
static Pieces pieces_of(char* memory, size_t region, size_t bytes, int window, bool pool) {
  Pieces result = {memory, bytes < 64 ? 64 : (bytes + 63) / 64 * 64, (size_t)window, 1, 0};
  if (!pool) return result;
  result.pieces = region / result.piece;
  result.step = (size_t)(0.618 * (double)result.pieces) | 1;
  while (common_divisor(result.step, result.pieces) != 1) ++result.step;
  return result;
}

/* Message number `number` has these words, one after the other; the last may be cut short. */
static void write_message(char* to, size_t bytes, uint64_t number) {
  const size_t whole = bytes / 8;
  uint64_t word = number << 32;
  for (size_t i = 0; i < whole; ++i, ++word) memcpy(to + 8 * i, &word, 8);
  memcpy(to + 8 * whole, &word, bytes % 8);
}

static bool read_message(const char* from, size_t bytes, uint64_t number) {
  const uint64_t whole = bytes / 8, last = (number << 32) + whole;
  uint64_t sum = 0;
  for (size_t i = 0; i < whole; ++i) {
    uint64_t word;
    memcpy(&word, from + 8 * i, 8);
    sum += word;
  }
  return sum == (number << 32) * whole + whole * (whole - 1) / 2 && memcmp(from + 8 * whole, &last, bytes % 8) == 0;
}

/* ---- Traffic between the two ranks ---- */

typedef struct {
  int bytes, window;
  bool touches; /* writes before sending, reads after receiving */
  Pieces out, in;
  uint64_t sent, received; /* messages that were touched */
  double touching;         /* seconds that this rank did so in the last run */
} Traffic;

static char *outs[kWindow], *ins[kWindow];
static MPI_Request requests[2 * kWindow];

static bool clocked(const Traffic* traffic) {
  return traffic->touches && traffic->bytes >= kClockedFrom && strcmp(touching, "out") == 0;
}

static void prepare_out(Traffic* traffic, int messages) {
  const double begin = clocked(traffic) ? now() : 0;
  for (int i = 0; i < messages; ++i) {
    outs[i] = take(&traffic->out);
    if (traffic->touches) write_message(outs[i], (size_t)traffic->bytes, ++traffic->sent);
  }
  if (clocked(traffic)) traffic->touching += now() - begin;
}

static void prepare_in(Traffic* traffic, int messages) {
  for (int i = 0; i < messages; ++i) ins[i] = take(&traffic->in);
}

static void look_at_received(Traffic* traffic, int messages) {
  if (!traffic->touches) return;
  const double begin = clocked(traffic) ? now() : 0;
  for (int i = 0; i < messages; ++i) {
    if (read_message(ins[i], (size_t)traffic->bytes, ++traffic->received)) continue;
    fprintf(stderr, "rank %d: a message of %d bytes arrived with other content than it was sent with\n", rank,
            traffic->bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (clocked(traffic)) traffic->touching += now() - begin;
}

static void send_one(Traffic* traffic) {
  prepare_out(traffic, 1);
  MPI_Send(outs[0], traffic->bytes, MPI_BYTE, 1 - rank, kDataTag, MPI_COMM_WORLD);
}

static void receive_one(Traffic* traffic) {
  prepare_in(traffic, 1);
  MPI_Recv(ins[0], traffic->bytes, MPI_BYTE, 1 - rank, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  look_at_received(traffic, 1);
}

static void one_way(Traffic* traffic) {
  if (rank == 0) send_one(traffic);
  receive_one(traffic);
  if (rank == 1) send_one(traffic);
}

static void exchange(Traffic* traffic) {
  prepare_out(traffic, 1);
  prepare_in(traffic, 1);
  MPI_Sendrecv(outs[0], traffic->bytes, MPI_BYTE, 1 - rank, kDataTag, ins[0], traffic->bytes, MPI_BYTE, 1 - rank,
               kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  look_at_received(traffic, 1);
}

static void post_receives(Traffic* traffic) {
  prepare_in(traffic, traffic->window);
  for (int i = 0; i < traffic->window; ++i)
    MPI_Irecv(ins[i], traffic->bytes, MPI_BYTE, 1 - rank, kDataTag, MPI_COMM_WORLD, &requests[i]);
}

static void post_sends(Traffic* traffic, MPI_Request* to) {
  for (int i = 0; i < traffic->window; ++i)
    MPI_Isend(outs[i], traffic->bytes, MPI_BYTE, 1 - rank, kDataTag, MPI_COMM_WORLD, &to[i]);
}

static void window(Traffic* traffic) {
  if (rank == 0) {
    prepare_out(traffic, traffic->window);
    post_sends(traffic, requests);
    MPI_Waitall(traffic->window, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, kAnswerTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    post_receives(traffic);
    MPI_Waitall(traffic->window, requests, MPI_STATUSES_IGNORE);
    look_at_received(traffic, traffic->window);
    MPI_Send(NULL, 0, MPI_BYTE, 0, kAnswerTag, MPI_COMM_WORLD);
  }
}

static void both_ways(Traffic* traffic) {
  post_receives(traffic);
  prepare_out(traffic, traffic->window);
  post_sends(traffic, requests + traffic->window);
  MPI_Waitall(2 * traffic->window, requests, MPI_STATUSES_IGNORE);
  look_at_received(traffic, traffic->window);
}

static const struct {
  const char* name;
  void (*run)(Traffic*);
  bool side_by_side, windows;
} patterns[] = {{"one way", one_way, false, false},
                {"exchange", exchange, true, false},
                {"window", window, false, true},
                {"both ways", both_ways, true, true}};
enum { kPatterns = sizeof patterns / sizeof *patterns };

/* ---- Cells ---- */

enum { kReused, kRewritten, kPool, kHabits };
static const char* const habits[] = {"reused", "rewritten", "pool"};

typedef struct {
  int number, habit, pattern;
  size_t bytes;
} Cell;

static int by_size(const void* a, const void* b) {
  const size_t x = *(const size_t*)a, y = *(const size_t*)b;
  return (x > y) - (x < y);
}

static int by_number(const void* a, const void* b) {
  return ((const Cell*)a)->number - ((const Cell*)b)->number;
}

static int all_sizes(size_t* sizes) {
  int count = 0;
  const size_t from = (size_t)least, to = (size_t)most;
  if (from == 0) sizes[count++] = 0;
  for (size_t size = 1; size <= to && count < kMostSizes - 1; size *= 2) {
    if (size >= from) sizes[count++] = size;
    if (3 * size >= from && 3 * size <= to) sizes[count++] = 3 * size;
  }
  qsort(sizes, (size_t)count, sizeof *sizes, by_size);
  return count;
}

static int all_cells(Cell* cells) {
  size_t sizes[kMostSizes];
  const int size_count = all_sizes(sizes);
  int count = 0;
  for (int habit = 0; habit < kHabits; ++habit)
    for (int pattern = 0; pattern < kPatterns; ++pattern)
      for (int i = 0; i < size_count; ++i, ++count) cells[count] = (Cell){count, habit, pattern, sizes[i]};
  return count;
}

/* splitmix64: the same draw on every machine. */
static uint64_t draw(uint64_t* state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* Moves `wanted` cells to the front and puts those in order; returns how many there are. */
static int sample(Cell* cells, int count) {
  const int chosen = wanted < count ? (int)wanted : count;
  uint64_t state = (uint64_t)seed;
  for (int i = 0; i < chosen; ++i) {
    const int other = i + (int)(draw(&state) % (uint64_t)(count - i));
    const Cell cell = cells[i];
    cells[i] = cells[other], cells[other] = cell;
  }
  qsort(cells, (size_t)chosen, sizeof *cells, by_number);
  return chosen;
}

/* ---- Measuring ---- */

typedef struct {
  Traffic traffic;
  int pattern;
} Work;

static void run(void* context, int times) {
  Work* work = context;
  work->traffic.touching = 0;
  for (int i = 0; i < times; ++i) patterns[work->pattern].run(&work->traffic);
}

/* Seconds of the last run in which the two ranks touched their messages. */
static double touching_of_both(void* context) {
  const Work* work = context;
  if (!clocked(&work->traffic)) return 0;
  const double own = work->traffic.touching;
  double other = 0;
  MPI_Sendrecv(&own, 1, MPI_DOUBLE, 1 - rank, kAnswerTag, &other, 1, MPI_DOUBLE, 1 - rank, kAnswerTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (!patterns[work->pattern].side_by_side) return own + other;
  return own > other ? own : other;
}

static void verify(const Work* work) {
  Work touched = *work;
  touched.traffic.touches = true;
  touched.traffic.sent = touched.traffic.received = 0;
  run(&touched, 2);
}

static void answer_for(const Cell* cell, char* out, char* in, size_t region) {
  const bool windows = patterns[cell->pattern].windows;
  const size_t fitting = cell->bytes == 0 ? kWindow : kInFlight / cell->bytes;
  const int count = !windows ? 1 : fitting < kWindow ? (int)fitting : kWindow;
  Work work = {.pattern = cell->pattern};
  work.traffic = (Traffic){.bytes = (int)cell->bytes, .window = count, .touches = cell->habit == kRewritten};
  work.traffic.out = pieces_of(out, region, cell->bytes, count, cell->habit == kPool);
  work.traffic.in = pieces_of(in, region, cell->bytes, count, cell->habit == kPool);
  verify(&work);
  MPI_Comm comm = MPI_COMM_WORLD;
  Samples times = {0};
  measure(&(Measurement){.run = run,
                         .context = &work,
                         .agree = agree_in,
                         .among = &comm,
                         .leads = rank == 0,
                         .budget = quick ? 0.01 : 0.04,
                         .batch = 50e-6,
                         .not_counted = touching_of_both},
          &times);
  verify(&work);
  scale_samples(&times, 1e6 / (windows ? count : cell->pattern == 0 ? 2 : 1));
  char series[96];
  snprintf(series, sizeof series, "%s, %s%s", patterns[cell->pattern].name, habits[cell->habit],
           near_cores != NULL  ? ", near cores"
           : far_cores != NULL ? ", far cores"
                               : "");
  report(&program, (Figure){series, "us", "lower", (double)cell->bytes, "message size", "B"}, &times);
  free(times.values);
}

/* ---- Cores ---- */

/* What the launcher says, or -1: memory that a library takes in MPI_Init is to lie near the right core already. */
static int rank_to_be(void) {
  static const char* const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; ++i)
    if (getenv(names[i]) != NULL) return atoi(getenv(names[i]));
  return -1;
}

static void take_core(int own) {
  const char* pair = near_cores != NULL ? near_cores : far_cores;
  if (pair == NULL || own < 0 || own > 1) return;
  const char* comma = strchr(pair, ',');
  if (comma != NULL && run_on_processor(atoi(own == 0 ? pair : comma + 1))) return;
  fprintf(stderr, "sweep: rank %d cannot run on the processor that '%s' names\n", own, pair);
  exit(2);
}

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(&program, argc, argv);
  if (!line.stop) take_core(rank_to_be());
  start_threads(&program, &line, MPI_THREAD_SINGLE, 2, 2);
  if ((size_t)most > kInFlight) leave("sweep: --most takes 33554432 at most, because no window holds more bytes\n", 2);
  take_core(rank); /* with the threads that the library has started */
  const size_t pool = (size_t)pool_mib << 20, region = (pool > 2 * kInFlight ? pool : 2 * kInFlight) + 4096;
  char *out = allocate(region), *in = allocate(region);
  Cell cells[kMostCells];
  const int count = sample(cells, all_cells(cells));
  for (int i = 0; i < count; ++i) answer_for(&cells[i], out, in, region);
  free(out);
  free(in);
  return MPI_Finalize();
}
