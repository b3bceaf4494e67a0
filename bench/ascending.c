/* Collectives in the rhythm of the public benchmarks of collectives (IMB, OSU): a program calls one collective after the
   other, each with ascending sizes, up to a thousand times with each size and seldom enough with long ones that no more
   than 40 MB go through a call's buffer; a barrier before each call keeps the ranks together. The root goes around.

   A time is what the ranks spend in a call on average, without the barrier or with it. Communicators and whatever a
   library learns begin cold in each run; two calls of each size are not counted, and verified. */
#include "collective_calls.h"

static long most = 1 << 20, least = 8, most_calls = 1000;
static const char *only, *form = "blocking", *counted = "call", *roots = "rotating";
static const char* const forms[] = {"blocking", "nonblocking", NULL};
static const char* const counts[] = {"call", "both", NULL};
static const char* const roots_of[] = {"rotating", "fixed", NULL};
static const Option options[] = {
    {"--only", "NAME", "only this collective, as Bcast", .text = &only},
    {"--least", "BYTES", "smallest size, a multiple of 8 (8)", .number = &least},
    {"--most", "BYTES", "largest size (1048576)", .number = &most},
    {"--calls", "COUNT", "with each size, at most (1000)", .number = &most_calls},
    {"--form", "FORM", "blocking, or nonblocking: started and waited for at once (blocking)", .text = &form, .choices = forms},
    {"--counted", "WHAT", "call, or both: the barrier before it, too (call)", .text = &counted, .choices = counts},
    {"--roots", "WHICH", "rotating, or fixed: rank 0 (rotating)", .text = &roots, .choices = roots_of},
    {0}};
static const Program program = {
    "ascending", "Collectives one after the other, each with ascending sizes, as public benchmarks call them.", options};

static const long kMostVolume = 40l << 20; /* bytes of one block or operand, in all calls with one size */
enum { kQuickCalls = 100 };

static long calls_of(size_t bytes) {
  const long wanted = quick && most_calls > kQuickCalls ? kQuickCalls : most_calls;
  const long fitting = kMostVolume / (long)bytes;
  return wanted < fitting ? wanted : fitting < 1 ? 1 : fitting;
}

/* Seconds a call, what the ranks spend in it on average; at rank 0. */
static double mean_time(const Collective* collective, Job* job, long calls) {
  const bool with_barrier = strcmp(counted, "both") == 0, rotating = strcmp(roots, "rotating") == 0;
  double spent = 0, all = 0;
  for (long i = 0; i < calls; ++i) {
    double begin = now();
    MPI_Barrier(MPI_COMM_WORLD);
    if (!with_barrier) begin = now();
    run_call(collective, job);
    spent += now() - begin;
    if (rotating) next_root(job);
  }
  MPI_Reduce(&spent, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  return all / size / (double)calls;
}

static void answer_for(const Collective* collective, Job* job, size_t bytes) {
  set_length(job, bytes);
  check_call(collective, job);
  check_call(collective, job);
  const double value = 1e6 * mean_time(collective, job, calls_of(bytes));
  char series[96];
  snprintf(series, sizeof series, "%s, %s, %d ranks", name_of_call(collective, job), counted, size);
  if (rank == 0) report_one(&program, (Figure){series, "us", "lower", (double)bytes, "size", "B"}, value);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 1 << 10);
  MPI_Request request;
  Job job = make_job((size_t)most);
  if (strcmp(form, "nonblocking") == 0) job.request = &request;
  for (int i = 0; i < kCollectives; ++i) {
    if (only != NULL && strcmp(only, collectives[i].name) != 0) continue;
    const size_t begin = (size_t)(least + 7) / 8 * 8, end = collectives[i].traits & kUnsized ? begin : (size_t)most;
    for (size_t bytes = begin; bytes <= end; bytes *= 2)
      if (has_length(&collectives[i], bytes)) answer_for(&collectives[i], &job, bytes);
  }
  return MPI_Finalize();
}
