/* Does a message arrive while its receiver computes (LA-MPI-ED, figures 10 to 12): the receiver posts MPI_Irecv,
   makes a number of increments, and calls MPI_Wait; the sender calls MPI_Send as the computing begins. Rank 0
   receives.

   Reported by message size: the time in MPI_Wait; the total receive time, from the posting on; and that total
   relative to the same increments alone, which are timed right before each. Of Lapwing also how often its event thread
   is woken for a message, from the posting to the end of MPI_Wait. */
#include "ranks.h"

enum { kReadyTag = 3 };

static Sizes sizes;
static const Option options[] = {{"--sizes", "LIST", "message sizes (8,512,4K-1Mx4)", .sizes = &sizes}, MEMORY_OPTION, {0}};
static const Program program = {
    "overlap_receive", "What is left of a receive after computing: MPI_Irecv, increments, MPI_Wait, by message size.",
    options};

typedef struct {
  const char* name;
  long increments;
  double seconds; /* instead of a number of increments */
  bool in_quick;
} Amount;

static const Amount amounts[] = {{"1 M increments", 1000000, 0, false},
                                 {"10 M increments", 10000000, 0, true},
                                 {"100 M increments", 100000000, 0, false},
                                 {"20 ms", 0, 0.020, true}};

/* The library's own count of wake-ups (MPI 5.0, chapter 15.3.7), where it has one. */
static struct {
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  bool there;
} wakeups;

static void find_wakeups(void) {
  int provided, index, count;
  wakeups.there = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS &&
                  MPI_T_pvar_get_index("lapwing_event_thread_wakeups", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS &&
                  MPI_T_pvar_session_create(&wakeups.session) == MPI_SUCCESS &&
                  MPI_T_pvar_handle_alloc(wakeups.session, index, NULL, &wakeups.handle, &count) == MPI_SUCCESS;
}

static void leave_wakeups(void) {
  if (wakeups.there) MPI_T_pvar_session_free(&wakeups.session);
  MPI_T_finalize();
}

static double wakeups_so_far(void) {
  unsigned long long value = 0;
  if (wakeups.there) MPI_T_pvar_read(wakeups.session, wakeups.handle, &value);
  return (double)value;
}

typedef struct {
  Samples wait, total, relative;
  double wakeups;
} Times;

static double compute_alone(long increments) {
  const double begin = now();
  increment(increments);
  return now() - begin;
}

static void receive(const Pair* pair, long increments, Times* times) {
  MPI_Request request;
  const double alone = compute_alone(increments), woken = wakeups_so_far();
  const double begin = now();
  MPI_Irecv(pair->in, pair->bytes, MPI_BYTE, 1, kDataTag, MPI_COMM_WORLD, &request);
  const double posting = now() - begin;
  MPI_Send(NULL, 0, MPI_BYTE, 1, kReadyTag, MPI_COMM_WORLD);
  const double start = now();
  increment(increments);
  const double computed = now();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const double end = now();
  add_sample(&times->wait, (end - computed) * 1e6);
  add_sample(&times->total, (posting + end - start) * 1e6);
  add_sample(&times->relative, (posting + end - start) / alone);
  times->wakeups += wakeups_so_far() - woken;
}

static void send_when_asked(const Pair* pair) {
  MPI_Recv(NULL, 0, MPI_BYTE, 0, kReadyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(pair->out, pair->bytes, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD);
}

static void report_times(const Amount* amount, size_t bytes, Times* times) {
  struct {
    const char *what, *unit;
    Samples* samples;
  } all[] = {{"wait", "us", &times->wait},
             {"total", "us", &times->total},
             {"total over computing alone", "ratio", &times->relative}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    char series[64];
    snprintf(series, sizeof series, "%s, %s", all[i].what, amount->name);
    report(&program, (Figure){series, all[i].unit, "lower", (double)bytes, "message size", "B"}, all[i].samples);
  }
}

static void report_wakeups(const Amount* amount, size_t bytes, const Times* times) {
  if (!wakeups.there) return;
  char series[64];
  Samples mean = {0};
  snprintf(series, sizeof series, "event-thread wake-ups, %s", amount->name);
  add_sample(&mean, times->wakeups / (double)times->wait.count);
  report(&program, (Figure){series, "per message", "lower", (double)bytes, "message size", "B"}, &mean);
  free(mean.values);
}

static void answer_for(const Amount* amount, size_t bytes) {
  static long increments_of_fixed_time; /* the same for all sizes */
  if (increments_of_fixed_time == 0 && amount->seconds > 0) increments_of_fixed_time = increments_for(amount->seconds);
  const long increments = amount->seconds > 0 ? increments_of_fixed_time : amount->increments;
  const double budget = quick ? 0.5 : 0.6;
  Pair pair = make_pair(MPI_COMM_WORLD, bytes, 1);
  Times times = {0};
  const double pairs = budget / (2 * compute_alone(increments));
  const long rounds = agree_in(&pair.comm, pairs < 5 ? 5 : pairs > 200 ? 200 : (long)pairs);
  for (long i = -1; i < rounds; ++i) {
    if (rank == 1) {
      send_when_asked(&pair);
      continue;
    }
    if (i == 0) { /* the first was to warm up */
      times.wait.count = times.total.count = times.relative.count = 0;
      times.wakeups = 0;
    }
    receive(&pair, increments, &times);
  }
  if (rank == 0) {
    check_received(&pair, 1);
    report_wakeups(amount, bytes, &times);
  }
  report_times(amount, bytes, &times);
  free(times.wait.values);
  free(times.total.values);
  free(times.relative.values);
  free_pair(&pair);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  default_sizes(&sizes, "8,512,4K-1Mx4", "8,64K,1M");
  find_wakeups();
  for (unsigned a = 0; a < sizeof amounts / sizeof *amounts; ++a) {
    if (quick && !amounts[a].in_quick) continue;
    for (int s = 0; s < sizes.count; ++s) answer_for(&amounts[a], sizes.values[s]);
  }
  leave_wakeups();
  return MPI_Finalize();
}
