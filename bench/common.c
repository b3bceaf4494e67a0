#include "common.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- The command line ---- */

bool quick = false;

static void append(CommandLine* line, const char* format, ...) {
  const size_t used = strlen(line->text);
  va_list values;
  va_start(values, format);
  vsnprintf(line->text + used, sizeof line->text - used, format, values);
  va_end(values);
}

static void describe(const Program* program, CommandLine* line) {
  append(line, "%s [--quick] [option...]\n\n%s\n\n", program->name, program->purpose);
  append(line, "  %-22s about three seconds\n  %-22s this text\n", "--quick", "--help");
  for (const Option* option = program->options; option->name != NULL; ++option) {
    char head[64];
    snprintf(head, sizeof head, "%s %s", option->name, option->argument);
    append(line, "  %-22s %s\n", head, option->help);
  }
}

static bool take_value(const Option* option, const char* value) {
  if (option->sizes != NULL) return parse_sizes(value, option->sizes);
  if (option->number != NULL) {
    char* end;
    *option->number = strtol(value, &end, 10);
    return end != value && *end == '\0' && *option->number >= 1 && *option->number <= 1000000000;
  }
  *option->text = value;
  for (const char* const* choice = option->choices; choice != NULL; ++choice) {
    if (*choice == NULL) return false;
    if (strcmp(*choice, value) == 0) break;
  }
  return true;
}

static CommandLine wrong(const Program* program, const char* what, const char* word) {
  CommandLine line = {.stop = true, .code = 2};
  append(&line, "%s: %s '%s'; %s --help lists the options\n", program->name, what, word, program->name);
  return line;
}

CommandLine read_command_line(const Program* program, int argc, char** argv) {
  CommandLine line = {.stop = false};
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--quick") == 0) {
      quick = true;
      continue;
    }
    if (strcmp(argv[i], "--help") == 0) {
      line.stop = true;
      describe(program, &line);
      return line;
    }
    const Option* option = program->options;
    while (option->name != NULL && strcmp(option->name, argv[i]) != 0) ++option;
    if (option->name == NULL) return wrong(program, "unknown option", argv[i]);
    if (++i == argc) return wrong(program, "a value is missing after", option->name);
    if (!take_value(option, argv[i])) {
      char what[128];
      snprintf(what, sizeof what, "%s takes %s, not", option->name, option->argument);
      return wrong(program, what, argv[i]);
    }
  }
  return line;
}

static bool parse_size(const char** text, size_t* size) {
  char* end;
  const unsigned long value = strtoul(*text, &end, 10);
  if (end == *text || **text == '-' || value > 1ul << 30) return false;
  *size = value;
  if (*end == 'K' || *end == 'k')
    *size <<= 10, ++end;
  else if (*end == 'M')
    *size <<= 20, ++end;
  *text = end;
  return *size >= 1 && *size <= 1ul << 30;
}

bool parse_sizes(const char* list, Sizes* sizes) {
  const int most = (int)(sizeof sizes->values / sizeof sizes->values[0]);
  sizes->count = 0;
  for (;; ++list) {
    size_t size, last, step = 2;
    if (!parse_size(&list, &size)) return false;
    last = size;
    if (*list == '-') {
      ++list;
      if (!parse_size(&list, &last)) return false;
      if (*list == 'x') {
        ++list;
        if (!parse_size(&list, &step)) return false;
      }
    }
    if (last < size || step < 2) return false;
    for (; size <= last; size *= step) {
      if (sizes->count == most) return false;
      sizes->values[sizes->count++] = size;
    }
    if (*list == '\0') return true;
    if (*list != ',') return false;
  }
}

void default_sizes(Sizes* sizes, const char* list, const char* quick_list) {
  if (sizes->count == 0) parse_sizes(quick ? quick_list : list, sizes);
}

/* ---- Drawing cells ---- */

/* splitmix64 */
static uint64_t next_random(uint64_t* state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static int by_number(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

int draw_sample(int* numbers, int count, int wanted, unsigned seed) {
  const int chosen = wanted < count ? wanted : count;
  uint64_t state = seed;
  for (int i = 0; i < count; ++i) numbers[i] = i;
  for (int i = 0; i < chosen; ++i) {
    const int other = i + (int)(next_random(&state) % (uint64_t)(count - i)), number = numbers[i];
    numbers[i] = numbers[other], numbers[other] = number;
  }
  qsort(numbers, (size_t)chosen, sizeof *numbers, by_number);
  return chosen;
}

/* ---- Samples and results ---- */

void add_sample(Samples* samples, double value) {
  if (samples->count == samples->capacity) {
    samples->capacity = samples->capacity == 0 ? 64 : 2 * samples->capacity;
    samples->values = realloc(samples->values, sizeof(double) * (size_t)samples->capacity);
    if (samples->values == NULL) abort();
  }
  samples->values[samples->count++] = value;
}

void scale_samples(Samples* samples, double factor) {
  for (int i = 0; i < samples->count; ++i) samples->values[i] *= factor;
}

void samples_to_rates(Samples* samples, double amount) {
  for (int i = 0; i < samples->count; ++i) samples->values[i] = amount / samples->values[i];
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double percentile(const Samples* sorted, double part) {
  const double place = part * (sorted->count - 1);
  const int below = (int)place;
  const int above = below + 1 < sorted->count ? below + 1 : below;
  return sorted->values[below] + (place - below) * (sorted->values[above] - sorted->values[below]);
}

double median(Samples* samples) {
  qsort(samples->values, (size_t)samples->count, sizeof(double), by_value);
  return percentile(samples, 0.5);
}

void report(const Program* program, Figure figure, Samples* samples) {
  if (samples->count == 0) return;
  const double value = median(samples);
  printf("{\"bench\":\"%s\",\"series\":\"%s\",", program->name, figure.series);
  if (figure.x_name != NULL)
    printf("\"x\":%.10g,\"x_name\":\"%s\",\"x_unit\":\"%s\",", figure.x, figure.x_name, figure.x_unit);
  else
    printf("\"x\":null,\"x_name\":null,\"x_unit\":null,");
  printf("\"value\":%.6g,\"unit\":\"%s\",\"low\":%.6g,\"high\":%.6g,\"samples\":%d,\"better\":\"%s\"}\n",
         value, figure.unit, percentile(samples, 0.1), percentile(samples, 0.9), samples->count,
         figure.better);
  fflush(stdout);
  samples->count = 0;
}

void report_one(const Program* program, Figure figure, double value) {
  Samples samples = {.values = &value, .count = 1, .capacity = 1};
  report(program, figure, &samples);
}

/* ---- Measuring ---- */

static double timed(const Measurement* measurement, int times) {
  const double begin = now();
  measurement->run(measurement->context, times);
  const double took = now() - begin;
  const double counted =
      measurement->not_counted == NULL ? took : took - measurement->not_counted(measurement->context);
  return counted > 1e-9 ? counted : 1e-9;
}

/* Seconds one operation takes, at this process. Runs ever longer, so that neither the slow first ones nor the clock
   matter. */
static double estimate(const Measurement* measurement) {
  static bool warm = false; /* the first time, processes still find their cores */
  const double share = measurement->budget / 20, enough = !warm ? 0.05 : share < 0.005 ? share : 0.005;
  warm = true;
  timed(measurement, 1); /* makes the connection */
  for (int times = 1;; times *= 4) {
    const double once = timed(measurement, times), again = timed(measurement, times);
    const double took = once < again ? once : again; /* not the one that something else interrupted */
    if (measurement->agree(measurement->among, took >= enough || times >= 1 << 20)) return took / times;
  }
}

static long between(double value, long least, long most) {
  return value < (double)least ? least : value > (double)most ? most : (long)value;
}

/* Every process takes its own times, so `each`, `count` and `in_time` may differ between them. What decides how often they run the operation
   together (`batch`, `block`, `more`) is the leader's at all of them. */
void measure(const Measurement* measurement, Samples* samples) {
  const double each = estimate(measurement);
  const long batch = measurement->agree(measurement->among, between(ceil(measurement->batch / each), 1, 1 << 24));
  const long count = between(measurement->budget / (each * (double)batch), 5, 4000);
  const long block = measurement->agree(measurement->among, (count + 9) / 10);
  const double begin = now();
  for (long done = 0, more = 1; more;) {
    for (long i = 0; i < block; ++i, ++done) {
      const double took = timed(measurement, (int)batch);
      if (measurement->leads) add_sample(samples, took / (double)batch);
    }
    /* What has become far slower than it was while warming up ends early. */
    const bool in_time = now() - begin < 2 * measurement->budget || done < 3;
    more = measurement->agree(measurement->among, done < count && in_time);
  }
}

/* ---- Time, computing, and what the system knows ---- */

static double clock_seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
double now(void) {
  return clock_seconds(CLOCK_MONOTONIC);
}
double processor_seconds(void) {
  return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}
double own_thread_seconds(void) {
  return clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}

/* The first line of a file of /proc that begins with `key` and goes on with a number; 0 if there is none. */
static long number_in(const char* path, const char* key) {
  char line[256];
  long number = 0;
  FILE* file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, key, strlen(key)) != 0) continue;
    number = strtol(line + strlen(key), NULL, 10);
    break;
  }
  if (file != NULL) fclose(file);
  return number;
}

static void for_each_thread(void (*visit)(const char* id, void* context), void* context) {
  DIR* threads = opendir("/proc/self/task");
  for (struct dirent* thread; threads != NULL && (thread = readdir(threads)) != NULL;)
    if (thread->d_name[0] != '.') visit(thread->d_name, context);
  if (threads != NULL) closedir(threads);
}

static void add_voluntary_switches(const char* thread, void* sum) {
  char path[300];
  snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
  *(long*)sum += number_in(path, "voluntary_ctxt_switches:");
}

long voluntary_switches(void) {
  long sum = 0;
  for_each_thread(add_voluntary_switches, &sum);
  return sum;
}

static void move_thread(const char* thread, void* processors) {
  sched_setaffinity((pid_t)strtol(thread, NULL, 10), sizeof(cpu_set_t), processors);
}

void stay_on_processor(int which) {
  cpu_set_t ours, one;
  if (sched_getaffinity(0, sizeof ours, &ours) != 0) return;
  which %= CPU_COUNT(&ours);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &ours) || which-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(i, &one);
    for_each_thread(move_thread, &one);
    return;
  }
}

bool run_on_processor(int number) {
  cpu_set_t one;
  CPU_ZERO(&one);
  if (number < 0 || number >= CPU_SETSIZE) return false;
  CPU_SET(number, &one);
  for_each_thread(move_thread, &one);
  return sched_getaffinity(0, sizeof one, &one) == 0 && CPU_COUNT(&one) == 1 && CPU_ISSET(number, &one);
}

double memory_kib(void) {
  return (double)number_in("/proc/self/smaps_rollup", "Pss:");
}

double data_kib(void) {
  return (double)(number_in("/proc/self/smaps_rollup", "Pss_Anon:") +
                  number_in("/proc/self/smaps_rollup", "Pss_Shmem:"));
}

double kernel_kib(void) {
  return (double)(number_in("/proc/meminfo", "Slab:") + number_in("/proc/meminfo", "KernelStack:") +
                  number_in("/proc/meminfo", "PageTables:"));
}

void increment(long times) {
  long value = 0;
  for (long i = 0; i < times; ++i) {
    ++value;
    __asm__ volatile("" : "+r"(value)); /* each increment is really made */
  }
}

long increments_for(double seconds) {
  const long trial = 2000000;
  double least = 1;
  for (int i = 0; i < 10; ++i) {
    const double begin = now();
    increment(trial);
    const double took = now() - begin;
    if (took < least) least = took;
  }
  return (long)(seconds / least * trial);
}

void compute_for(double seconds) {
  const double end = now() + seconds;
  while (now() < end) increment(1000);
}

void sleep_for(double seconds) {
  const struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
  nanosleep(&time, NULL);
}

/* ---- Content ---- */

/* Eight bytes of content; never zero, which memory is that nothing was written to. */
static uint64_t word(size_t i, unsigned seed) {
  return (((uint64_t)seed << 40) + i + 1) * 0x9E3779B97F4A7C15u | 0x0101010101010101u;
}

void fill(void* buffer, size_t bytes, unsigned seed) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t content = word(at, seed);
    memcpy((char*)buffer + at, &content, bytes - at < sizeof content ? bytes - at : sizeof content);
  }
}

bool is_filled(const void* buffer, size_t bytes, unsigned seed) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t content = word(at, seed);
    if (memcmp((const char*)buffer + at, &content, bytes - at < sizeof content ? bytes - at : sizeof content) != 0)
      return false;
  }
  return true;
}

void* allocate(size_t bytes) {
  void* memory = malloc(bytes == 0 ? 1 : bytes);
  if (memory == NULL) {
    fprintf(stderr, "bench: no memory for %zu bytes\n", bytes);
    exit(1);
  }
  return memset(memory, 0, bytes);
}
