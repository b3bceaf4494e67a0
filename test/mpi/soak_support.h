/* What the soak test is made of: random numbers, layouts of memory, parcels (a message's memory, filled and checked),
   and the many ways to wait. */
#ifndef LAPWING_TEST_SOAK_SUPPORT_H
#define LAPWING_TEST_SOAK_SUPPORT_H

#include "check.h"

#include <sched.h>
#include <stdint.h>
#include <unistd.h>

/* ---- random numbers (splitmix64) ---- */

typedef struct {
  uint64_t state;
} Random;

static inline uint64_t next_random(Random* random) {
  uint64_t value = (random->state += 0x9e3779b97f4a7c15u);
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}
/* 0 ... limit-1 */
static inline int below(Random* random, int limit) {
  return (int)(next_random(random) % (uint64_t)limit);
}

/* ---- one thread of one rank ---- */

enum { kComms = 3 };

typedef struct {
  uint64_t seed;
  int thread, rank, size;
  long done, wanted;      /* operations of all ranks; done by this thread, wanted of all threads */
  Random plan;            /* the same on all ranks: what is done */
  Random own;             /* this rank's: how and when it does it */
  MPI_Comm comms[kComms]; /* only this thread uses them */
  MPI_Comm wild;          /* for receives from anybody */
} Worker;

/* Like CHECK, and says where in the plan it was. */
#define SOUND(worker, condition)                                                                             \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "soak: seed %llu, thread %d, after operation %ld:\n",                                  \
              (unsigned long long)(worker)->seed, (worker)->thread, (worker)->done);                         \
      CHECK(condition);                                                                                      \
    }                                                                                                        \
  } while (0)

/* Between two calls: nothing, mostly; computing; or being away, shorter or longer than a millisecond. */
static inline void pause_between(Worker* worker) {
  const int kind = below(&worker->own, 100);
  if (kind < 85) return;
  if (kind < 90) {
    sched_yield();
  } else if (kind < 96) {
    volatile double x = 1;
    for (int i = below(&worker->own, 20000); i > 0; --i) x = x * 1.0000001;
  } else if (kind < 99) {
    usleep((useconds_t)below(&worker->own, 500));
  } else {
    usleep(2000);
  }
}

/* ---- layouts: the same numbers, lying differently in memory ---- */

enum { kPlain, kBlocks, kStrided, kPieces, kLayouts, kIntsPerUnit = 12 };

typedef struct {
  int kind, ints, count;
  MPI_Datatype type;
} Layout;

/* `ints` is a multiple of kIntsPerUnit. */
static inline Layout make_layout(int kind, int ints) {
  Layout layout = {ints == 0 ? kPlain : kind, ints, ints, MPI_INT};
  switch (layout.kind) {
    case kBlocks:
      OK(MPI_Type_contiguous(4, MPI_INT, &layout.type));
      layout.count = ints / 4;
      break;
    case kStrided:
      OK(MPI_Type_vector(ints / 3, 3, 5, MPI_INT, &layout.type));
      layout.count = 1;
      break;
    case kPieces: {
      const int lengths[] = {4, 8}, places[] = {0, 6};
      MPI_Datatype tight;
      OK(MPI_Type_indexed(2, lengths, places, MPI_INT, &tight));
      OK(MPI_Type_create_resized(tight, 0, 16 * (MPI_Aint)sizeof(int), &layout.type));
      OK(MPI_Type_free(&tight));
      layout.count = ints / kIntsPerUnit;
      break;
    }
  }
  if (layout.type != MPI_INT) OK(MPI_Type_commit(&layout.type));
  return layout;
}
static inline void free_layout(Layout* layout) {
  if (layout->type != MPI_INT) OK(MPI_Type_free(&layout->type));
}
static inline size_t place_of(const Layout* layout, int i) {
  if (layout->kind == kStrided) return (size_t)(i / 3 * 5 + i % 3);
  if (layout->kind == kPieces) return (size_t)(i / 12 * 16 + i % 12 + (i % 12 < 4 ? 0 : 2));
  return (size_t)i;
}
static inline size_t ints_spanned(const Layout* layout) {
  if (layout->ints == 0) return 0;
  return layout->kind == kPieces ? (size_t)layout->ints / 12 * 16 : place_of(layout, layout->ints - 1) + 1;
}

/* ---- parcels ---- */

typedef struct {
  int source, dest, tag, mode;
  int bytes;   /* of the message; a multiple of 48 unless it is one of bytes */
  int of_ints; /* else of bytes */
  unsigned seed;
} Message;

typedef struct {
  const Message* message;
  Layout layout;
  void* memory;
  int count; /* for the MPI call, with layout.type or MPI_BYTE */
  int of_mpi; /* the memory is MPI_Alloc_mem's */
} Parcel;

enum { kGap = 0x5a5a5a5a };

static inline int value_at(int i, unsigned seed) {
  return (int)((unsigned)i * 2654435761u ^ seed * 40503u);
}
static inline MPI_Datatype type_of(const Parcel* parcel) {
  return parcel->message->of_ints ? parcel->layout.type : MPI_BYTE;
}

static inline void* allocate_for(Worker* worker, Parcel* parcel, size_t bytes) {
  void* memory = NULL;
  parcel->of_mpi = below(&worker->own, 2);
  if (parcel->of_mpi)
    OK(MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory));
  else
    memory = malloc(bytes);
  return memory;
}

static inline Parcel make_parcel(Worker* worker, const Message* message, int sending) {
  Parcel parcel = {message, {kPlain, 0, 0, MPI_INT}, NULL, message->bytes, 0};
  if (!message->of_ints) {
    parcel.memory = allocate_for(worker, &parcel, (size_t)message->bytes + 1);
    if (sending) fill_pattern(parcel.memory, (size_t)message->bytes, message->seed);
    return parcel;
  }
  parcel.layout = make_layout(below(&worker->own, kLayouts), message->bytes / (int)sizeof(int));
  parcel.count = parcel.layout.count;
  const size_t span = ints_spanned(&parcel.layout);
  int* ints = allocate_for(worker, &parcel, (span + 1) * sizeof(int));
  for (size_t i = 0; i < span; ++i) ints[i] = kGap;
  const int filled = sending ? parcel.layout.ints : 0;
  for (int i = 0; i < filled; ++i) ints[place_of(&parcel.layout, i)] = value_at(i, message->seed);
  parcel.memory = ints;
  return parcel;
}

static inline void free_parcel(Parcel* parcel) {
  free_layout(&parcel->layout);
  if (parcel->of_mpi)
    OK(MPI_Free_mem(parcel->memory));
  else
    free(parcel->memory);
  parcel->memory = NULL;
}

/* What was received: every byte, and that the gaps between them are untouched. */
static inline void check_parcel(Worker* worker, const Parcel* parcel, const MPI_Status* status) {
  const Message* message = parcel->message;
  SOUND(worker, status->MPI_SOURCE == message->source);
  SOUND(worker, status->MPI_TAG == message->tag);
  int count = -1;
  OK(MPI_Get_count(status, type_of(parcel), &count));
  SOUND(worker, count == parcel->count);
  if (!message->of_ints) {
    SOUND(worker, is_pattern(parcel->memory, (size_t)message->bytes, message->seed));
    return;
  }
  const int* ints = parcel->memory;
  size_t expected = 0;
  for (int i = 0; i < parcel->layout.ints; ++i, ++expected) {
    const size_t place = place_of(&parcel->layout, i);
    for (; expected < place; ++expected) SOUND(worker, ints[expected] == kGap);
    SOUND(worker, ints[place] == value_at(i, message->seed));
  }
}

/* ---- waiting, in one of eight ways ---- */

enum { kPatience = 100 }; /* tests in vain before a plain wait */

/* Between two tests in vain. False when it has been enough. */
static inline int test_again(Worker* worker, int* tests) {
  if (++*tests % 8 == 0) usleep((useconds_t)below(&worker->own, 300));
  return *tests < kPatience;
}

/* Waits or tests for one after the other, in any order. */
static inline void finish_each(Worker* worker, int count, MPI_Request* requests, MPI_Status* statuses, int testing) {
  const int first = below(&worker->own, count);
  for (int i = 0; i < count; ++i) {
    const int at = (first + i) % count;
    int flag = 0, tests = 0;
    while (testing && !flag && test_again(worker, &tests)) OK(MPI_Test(&requests[at], &flag, &statuses[at]));
    if (!flag) OK(MPI_Wait(&requests[at], &statuses[at]));
    pause_between(worker);
  }
}

/* Whichever is complete, one at a time. */
static inline void finish_any(Worker* worker, int count, MPI_Request* requests, MPI_Status* statuses, int testing) {
  for (int left = count, tests = 0; left > 0;) {
    int index = MPI_UNDEFINED, flag = 1;
    MPI_Status status;
    if (testing && test_again(worker, &tests))
      OK(MPI_Testany(count, requests, &index, &flag, &status));
    else
      OK(MPI_Waitany(count, requests, &index, &status));
    if (!flag) continue;
    SOUND(worker, index >= 0 && index < count);
    statuses[index] = status;
    --left;
    pause_between(worker);
  }
}

static inline void finish_some(Worker* worker, int count, MPI_Request* requests, MPI_Status* statuses, int testing) {
  int* indices = malloc((size_t)count * sizeof *indices);
  MPI_Status* some = malloc((size_t)count * sizeof *some);
  for (int left = count, tests = 0; left > 0;) {
    int finished = 0;
    if (testing && test_again(worker, &tests))
      OK(MPI_Testsome(count, requests, &finished, indices, some));
    else
      OK(MPI_Waitsome(count, requests, &finished, indices, some));
    SOUND(worker, finished >= 0 && finished <= left);
    for (int i = 0; i < finished; ++i) statuses[indices[i]] = some[i];
    left -= finished;
    pause_between(worker);
  }
  free(indices);
  free(some);
}

static inline void finish(Worker* worker, int count, MPI_Request* requests, MPI_Status* statuses) {
  if (count == 0) return;
  const int way = below(&worker->own, 8);
  int flag = 0, tests = 0;
  switch (way) {
    case 0:
    case 1:
      finish_each(worker, count, requests, statuses, way == 1);
      break;
    case 2:
    case 3:
      finish_any(worker, count, requests, statuses, way == 3);
      break;
    case 4:
    case 5:
      finish_some(worker, count, requests, statuses, way == 5);
      break;
    default:
      while (way == 7 && !flag && test_again(worker, &tests)) OK(MPI_Testall(count, requests, &flag, statuses));
      if (!flag) OK(MPI_Waitall(count, requests, statuses));
      break;
  }
  for (int i = 0; i < count; ++i)
    if (requests[i] != MPI_REQUEST_NULL) OK(MPI_Request_free(&requests[i])); /* persistent */
}

#endif
