/* Bench programs as MPI programs: start, measuring between ranks, and the patterns of messages that several questions
   share. Only what both the standard ABI and Open MPI offer. */
#ifndef LAPWING_BENCH_RANKS_H
#define LAPWING_BENCH_RANKS_H
#include "common.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size; /* in MPI_COMM_WORLD */

/* ---- Start ---- */

/* Rank 0 says it, and all ranks leave. */
static inline void leave(const char* text, int code) {
  if (rank == 0) fputs(text, code == 0 ? stdout : stderr);
  MPI_Finalize();
  exit(code);
}

/* Starts MPI with this thread level. `least` and `most` ranks can answer the question. */
static inline void start_threads(const Program* program, const CommandLine* line, int level, int least, int most) {
  int provided;
  MPI_Init_thread(NULL, NULL, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (line->stop) leave(line->text, line->code);
  char text[200];
  if (size < least || size > most) {
    if (least == most)
      snprintf(text, sizeof text, "%s: needs %d ranks, this job has %d\n", program->name, least, size);
    else
      snprintf(text, sizeof text, "%s: needs %d ranks or more, this job has %d\n", program->name, least, size);
    leave(text, 2);
  }
  if (provided < level) {
    snprintf(text, sizeof text, "%s: this library does not offer the thread level asked for\n", program->name);
    leave(text, 2);
  }
}

static inline void start(const Program* program, int argc, char** argv, int least, int most) {
  const CommandLine line = read_command_line(program, argc, argv);
  start_threads(program, &line, MPI_THREAD_SINGLE, least, most);
}

/* ---- Measuring ---- */

static inline long agree_in(void* communicator, long value) {
  MPI_Bcast(&value, 1, MPI_LONG, 0, *(MPI_Comm*)communicator);
  return value;
}

/* measure() among the ranks of a communicator, of which rank 0 leads. */
static inline void measure_in(MPI_Comm comm, void (*run)(void*, int), void* context, double budget, double batch,
                              Samples* samples) {
  int own;
  MPI_Comm_rank(comm, &own);
  const Measurement measurement = {run, context, agree_in, &comm, own == 0, budget, batch, NULL};
  measure(&measurement, samples);
}

/* A series of its own for more ranks than two, where the number of ranks is not what a series goes by. */
static inline void name_series(char* series, size_t room, const char* name) {
  if (size > 2)
    snprintf(series, room, "%s, %d ranks", name, size);
  else
    snprintf(series, room, "%s", name);
}

/* ---- Patterns of messages between two ranks ---- */

enum { kDataTag = 1, kAnswerTag = 2 };

/* Where the messages of a pair lie. */
static const char* memory_of_messages = "heap";
static const char* const kinds_of_memory[] = {"heap", "mpi", NULL};
#define MEMORY_OPTION \
  {"--memory", "KIND", "where messages lie: heap, or mpi for MPI_Alloc_mem (heap)", .text = &memory_of_messages, .choices = kinds_of_memory}

static inline char* allocate_messages(size_t bytes) {
  if (strcmp(memory_of_messages, "heap") == 0) return allocate(bytes);
  char* memory;
  MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory);
  return memset(memory, 0, bytes);
}

static inline void free_messages(char* messages) {
  if (strcmp(memory_of_messages, "heap") == 0)
    free(messages);
  else
    MPI_Free_mem(messages);
}

typedef struct {
  MPI_Comm comm;
  int peer;
  bool first; /* this side sends first, or alone; it takes the time */
  int tag, answer_tag;
  int bytes, window;     /* of each message; messages in flight */
  char *out, *in;        /* `window` messages each, one after the other */
  MPI_Request* requests; /* twice the window */
} Pair;

/* Between ranks 0 and 1 of a communicator. */
static inline Pair make_pair(MPI_Comm comm, size_t bytes, int window) {
  int own;
  MPI_Comm_rank(comm, &own);
  Pair pair = {comm, 1 - own, own == 0, kDataTag, kAnswerTag, (int)bytes, window, NULL, NULL, NULL};
  pair.out = allocate_messages(bytes * (size_t)window);
  pair.in = allocate_messages(bytes * (size_t)window);
  pair.requests = allocate(sizeof(MPI_Request) * 2 * (size_t)window);
  for (int i = 0; i < window; ++i) fill(pair.out + (size_t)i * bytes, bytes, (unsigned)i);
  return pair;
}

static inline void free_pair(Pair* pair) {
  free_messages(pair->out);
  free_messages(pair->in);
  free(pair->requests);
}

/* Aborts unless every byte of the first `messages` messages has arrived. */
static inline void check_received(const Pair* pair, int messages) {
  for (int i = 0; i < messages; ++i) {
    if (is_filled(pair->in + (size_t)i * (size_t)pair->bytes, (size_t)pair->bytes, (unsigned)i)) continue;
    fprintf(stderr, "rank %d: a message of %d bytes arrived with other content than it was sent with\n", rank,
            pair->bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* One round trip. */
static inline void ping_pong(void* context, int times) {
  const Pair* pair = context;
  for (int i = 0; i < times; ++i) {
    if (pair->first) MPI_Send(pair->out, pair->bytes, MPI_BYTE, pair->peer, pair->tag, pair->comm);
    MPI_Recv(pair->in, pair->bytes, MPI_BYTE, pair->peer, pair->tag, pair->comm, MPI_STATUS_IGNORE);
    if (!pair->first) MPI_Send(pair->out, pair->bytes, MPI_BYTE, pair->peer, pair->tag, pair->comm);
  }
}

/* An empty message back: all has arrived. */
static inline void answer(const Pair* pair) {
  if (pair->first)
    MPI_Recv(NULL, 0, MPI_BYTE, pair->peer, pair->answer_tag, pair->comm, MPI_STATUS_IGNORE);
  else
    MPI_Send(NULL, 0, MPI_BYTE, pair->peer, pair->answer_tag, pair->comm);
}

static inline void post_window(const Pair* pair, bool sends, MPI_Request* requests) {
  for (int i = 0; i < pair->window; ++i) {
    const size_t at = (size_t)i * (size_t)pair->bytes;
    if (sends)
      MPI_Isend(pair->out + at, pair->bytes, MPI_BYTE, pair->peer, pair->tag, pair->comm, &requests[i]);
    else
      MPI_Irecv(pair->in + at, pair->bytes, MPI_BYTE, pair->peer, pair->tag, pair->comm, &requests[i]);
  }
}

/* A window of messages in flight at once, then the answer. */
static inline void stream_window(void* context, int times) {
  const Pair* pair = context;
  for (int i = 0; i < times; ++i) {
    post_window(pair, pair->first, pair->requests);
    MPI_Waitall(pair->window, pair->requests, MPI_STATUSES_IGNORE);
    answer(pair);
  }
}

/* A window of messages each way at once. */
static inline void stream_both_ways(void* context, int times) {
  const Pair* pair = context;
  for (int i = 0; i < times; ++i) {
    post_window(pair, false, pair->requests);
    post_window(pair, true, pair->requests + pair->window);
    MPI_Waitall(2 * pair->window, pair->requests, MPI_STATUSES_IGNORE);
  }
}

/* As many messages as a window has, but MPI_Send after MPI_Send; the answer follows the last of all. */
static inline void stream_blocking(void* context, int times) {
  const Pair* pair = context;
  for (int i = 0; i < times * pair->window; ++i) {
    const size_t at = (size_t)(i % pair->window) * (size_t)pair->bytes;
    if (pair->first)
      MPI_Send(pair->out + at, pair->bytes, MPI_BYTE, pair->peer, pair->tag, pair->comm);
    else
      MPI_Recv(pair->in + at, pair->bytes, MPI_BYTE, pair->peer, pair->tag, pair->comm, MPI_STATUS_IGNORE);
  }
  answer(pair);
}

#endif
