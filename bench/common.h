/* What every bench program needs and has nothing to do with MPI: the command line, samples, results, and what the
   system knows of this process. What concerns ranks is in ranks.h.

   A program prints its results on stdout, one JSON object a line (report()); all else it has to say goes to stderr.
   */
#ifndef LAPWING_BENCH_COMMON_H
#define LAPWING_BENCH_COMMON_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stddef.h>

/* ---- The command line ---- */

typedef struct {
  size_t values[64];
  int count; /* 0: none chosen yet */
} Sizes;

/* One option; its value goes to one of number, text and sizes. */
typedef struct {
  const char *name, *argument, *help;
  long* number; /* whole, at least 1 */
  const char** text;
  const char* const* choices; /* what text may be; ends with NULL */
  Sizes* sizes;
} Option;

typedef struct {
  const char* name;      /* of the program and in its results */
  const char* purpose;   /* for --help */
  const Option* options; /* ends with a name of NULL */
} Program;

typedef struct {
  bool stop; /* print `text` (on stderr if code is not 0) and exit with `code` */
  int code;
  char text[4096];
} CommandLine;

extern bool quick; /* --quick was given: about three seconds */

CommandLine read_command_line(const Program* program, int argc, char** argv);

/* Sizes of a list like "8,64K,1M-8M": K and M are units of 1024, a range goes in doublings, "1-4Kx4" in steps of four.
   False if it is none. */
bool parse_sizes(const char* list, Sizes* sizes);
/* What the command line chose, else the sizes of one of the lists. */
void default_sizes(Sizes* sizes, const char* list, const char* quick_list);

/* ---- Drawing cells ---- */

/* Some of the numbers below `count`, `wanted` or all, in order; returns how many. The same draw on every machine. */
int draw_sample(int* numbers, int count, int wanted, unsigned seed);

/* ---- Samples and results ---- */

typedef struct {
  double* values;
  int count, capacity;
} Samples;

void add_sample(Samples* samples, double value);
void scale_samples(Samples* samples, double factor);    /* seconds to microseconds, and the like */
double median(Samples* samples);                        /* sorts them; there must be one */
void samples_to_rates(Samples* samples, double amount); /* seconds per operation to amounts per second */

typedef struct {
  const char *series, *unit, *better; /* better: lower, higher or none */
  double x;                           /* where x_name is NULL, the series is a single figure */
  const char *x_name, *x_unit;
} Figure;

/* Prints the median, and the 10th and 90th percentile, then empties the samples. Nothing for no samples. */
void report(const Program* program, Figure figure, Samples* samples);
void report_one(const Program* program, Figure figure, double value);

/* ---- Measuring ---- */

/* An operation, done by several processes together, of which one leads: it takes the time and decides how often. */
typedef struct {
  void (*run)(void* context, int times);
  void* context;
  long (*agree)(void* among, long value); /* returns the leader's value to all */
  void* among;
  bool leads;
  double budget; /* seconds that all samples take together, about */
  double batch;  /* seconds that one sample takes at least; it is the mean of a batch of operations */
  double (*not_counted)(void* context); /* seconds of the last run that are not the operation's; NULL: none. Every
                                           process calls it after every run. */
} Measurement;

/* Warms up, then adds samples at the leader: seconds per operation. */
void measure(const Measurement* measurement, Samples* samples);

/* ---- Time, computing, and what the system knows ---- */

double now(void);                /* seconds */
double processor_seconds(void);  /* of all threads of this process */
double own_thread_seconds(void); /* of the calling thread */
long voluntary_switches(void);   /* of all threads of this process: how often one went to sleep */
double memory_kib(void);         /* this process's share of memory (Pss), KiB; 0 if the system does not say */
double data_kib(void);           /* of that, what is no file: programs and libraries come and go with other processes */
double kernel_kib(void);         /* memory that the kernel of this machine keeps for all processes */
/* All threads of this process have one processor, the first, second... of those they may use now, counted round. */
void stay_on_processor(int which);
/* The same on the processor of this number; false if it is not to be had. */
bool run_on_processor(int number);

/* So many increments of an integer, one after the other. */
void increment(long times);
/* How many increments take so long here, the processor being all ours. */
long increments_for(double seconds);
/* Computes until the time has passed. */
void compute_for(double seconds);
void sleep_for(double seconds);

/* ---- Content ---- */

void fill(void* buffer, size_t bytes, unsigned seed);
bool is_filled(const void* buffer, size_t bytes, unsigned seed);
/* Memory that has been touched. Says why and exits if there is none. */
void* allocate(size_t bytes);

#endif
