/* A random mix of everything, for long: sends of all modes, wildcards, probes, persistent requests, derived datatypes,
   blocking and non-blocking collectives on several communicators, completed in every way, with computing and sleeping
   between the calls.

     soak [SEED [OPERATIONS|FILE [THREADS [MS]]]]

   All ranks make the same plan from the seed (Worker.plan); how and when a rank does its part is its own affair
   (Worker.own). Every byte received is checked. With THREADS, that many threads per rank each follow a plan of their
   own, on communicators of their own. With FILE, it goes on until that file exists, of which rank 0 tells the others. With
   MS, each rank breaks one of its TCP connections every so many milliseconds at
   most (LAPWING_RESUME=on). test/README.md says how to run it for long. */
#include "breaker.h"
#include "soak_collectives.h"
#include "soak_support.h"

#include <pthread.h>

enum { kMostMessages = 96, kAttachedBytes = 1 << 20, kMostBuffered = 4096, kEpisodeBytes = 4 << 20, kMostThreads = 8 };
enum { kStandard, kSynchronous, kBuffered, kModes };

/* ---- messages ---- */

/* Sizes from nothing to some MiB, the small ones most often; at most `budget`. */
static int plan_bytes(Random* plan, int of_ints, int budget) {
  static const int most[] = {0, 200, 200, 2000, 2000, 20000, 20000, 200000, 200000, 4 << 20};
  const int limit = most[below(plan, 10)];
  int bytes = limit == 0 ? 0 : below(plan, limit);
  if (bytes > budget) bytes = budget;
  return of_ints ? bytes - bytes % (kIntsPerUnit * (int)sizeof(int)) : bytes;
}

static Message plan_message(Worker* worker, int source, int dest, int tag, int budget) {
  Random* plan = &worker->plan;
  Message message = {.source = source, .dest = dest, .tag = tag, .mode = below(plan, kModes)};
  message.of_ints = below(plan, 2);
  message.seed = (unsigned)next_random(plan);
  message.bytes = plan_bytes(plan, message.of_ints, budget);
  if (message.mode == kBuffered && message.bytes > kMostBuffered) message.mode = kStandard;
  return message;
}

/* Between ranks at random, at most kEpisodeBytes in all; how many. `numbered`: the tag is the number of the message. */
static int plan_messages(Worker* worker, Message* messages, int numbered) {
  Random* plan = &worker->plan;
  const int most = 2 * worker->size + 4 < kMostMessages ? 2 * worker->size + 4 : kMostMessages;
  const int count = 1 + below(plan, most);
  int budget = kEpisodeBytes;
  for (int i = 0; i < count; ++i) {
    const int source = below(plan, worker->size), dest = below(plan, worker->size);
    messages[i] = plan_message(worker, source, dest, numbered ? i : below(plan, 3), budget);
    budget -= messages[i].bytes;
  }
  worker->done += count;
  return count;
}

static void start_send(Worker* worker, const Parcel* parcel, MPI_Comm comm, MPI_Request* request) {
  const Message* m = parcel->message;
  const MPI_Datatype type = type_of(parcel);
  const int persistent = below(&worker->own, 4) == 0;
  int (*const immediate[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {MPI_Isend, MPI_Issend,
                                                                                               MPI_Ibsend};
  int (*const prepared[])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {
      MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init};
  OK((persistent ? prepared : immediate)[m->mode](parcel->memory, parcel->count, type, m->dest, m->tag, comm, request));
  if (persistent) OK(MPI_Start(request));
}

static void start_receive(Worker* worker, const Parcel* parcel, MPI_Comm comm, MPI_Request* request) {
  const Message* m = parcel->message;
  const MPI_Datatype type = type_of(parcel);
  if (below(&worker->own, 4) != 0) {
    OK(MPI_Irecv(parcel->memory, parcel->count, type, m->source, m->tag, comm, request));
  } else {
    OK(MPI_Recv_init(parcel->memory, parcel->count, type, m->source, m->tag, comm, request));
    OK(MPI_Start(request));
  }
}

/* Any number of messages between anybody, with few tags: those that match the same keep their order. */
static void episode_messages(Worker* worker) {
  Message messages[kMostMessages];
  Parcel parcels[2 * kMostMessages];
  MPI_Request requests[2 * kMostMessages];
  MPI_Status statuses[2 * kMostMessages];
  int receives[2 * kMostMessages];
  MPI_Comm comm = worker->comms[below(&worker->plan, kComms)];
  const int count = plan_messages(worker, messages, 0);
  int started = 0, next_send = 0, next_receive = 0, buffered = 0;
  /* Sends and receives each in the order of the plan, mixed as this rank likes. */
  while (next_send < count || next_receive < count) {
    const int sending = next_receive == count || (next_send < count && below(&worker->own, 2) == 0);
    const Message* message = &messages[sending ? next_send++ : next_receive++];
    if ((sending ? message->source : message->dest) != worker->rank) continue;
    parcels[started] = make_parcel(worker, message, sending);
    receives[started] = !sending;
    if (sending)
      start_send(worker, &parcels[started], comm, &requests[started]);
    else
      start_receive(worker, &parcels[started], comm, &requests[started]);
    buffered |= sending && message->mode == kBuffered;
    ++started;
    pause_between(worker);
  }
  finish(worker, started, requests, statuses);
  for (int i = 0; i < started; ++i) {
    if (receives[i]) check_parcel(worker, &parcels[i], &statuses[i]);
    free_parcel(&parcels[i]);
  }
  if (buffered) OK(MPI_Comm_flush_buffer(comm));
}

/* ---- receives from anybody ---- */

/* What has arrived at `memory`, according to its status: which message it is, and that it came once. */
static void check_wild(Worker* worker, const Message* messages, int count, char* seen, const MPI_Status* status,
                       const void* memory) {
  const int number = status->MPI_TAG;
  SOUND(worker, number >= 0 && number < count && !seen[number]);
  seen[number] = 1;
  const Message* message = &messages[number];
  SOUND(worker, message->source == status->MPI_SOURCE && message->dest == worker->rank);
  int bytes = -1;
  OK(MPI_Get_count(status, MPI_BYTE, &bytes));
  SOUND(worker, bytes == message->bytes && is_pattern(memory, (size_t)bytes, message->seed));
}

/* Looks for one message, blocking or not, matched or not, and receives it. */
static void receive_probed(Worker* worker, const Message* messages, int count, char* seen) {
  MPI_Status status;
  MPI_Message matched;
  const int matching = below(&worker->own, 2), testing = below(&worker->own, 2);
  int flag = 0, tests = 0, bytes = -1;
  while (testing && !flag && test_again(worker, &tests)) {
    if (matching)
      OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, worker->wild, &flag, &matched, &status));
    else
      OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, worker->wild, &flag, &status));
  }
  if (!flag && matching) OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, worker->wild, &matched, &status));
  if (!flag && !matching) OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, worker->wild, &status));
  OK(MPI_Get_count(&status, MPI_BYTE, &bytes));
  SOUND(worker, bytes >= 0);
  void* memory = malloc((size_t)bytes + 1);
  pause_between(worker);
  if (matching)
    OK(MPI_Mrecv(memory, bytes, MPI_BYTE, &matched, &status));
  else
    OK(MPI_Recv(memory, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, worker->wild, &status));
  check_wild(worker, messages, count, seen, &status, memory);
  free(memory);
}

static void episode_wildcards(Worker* worker) {
  Message messages[kMostMessages];
  Parcel sent[kMostMessages];
  void* received[kMostMessages];
  MPI_Request requests[2 * kMostMessages];
  MPI_Status statuses[2 * kMostMessages];
  char seen[kMostMessages] = {0};
  const int count = plan_messages(worker, messages, 1);
  int started = 0, sends = 0, mine = 0, longest = 0, wild = 0;
  for (int i = 0; i < count; ++i) {
    messages[i].of_ints = 0;
    if (messages[i].mode == kBuffered) messages[i].mode = kStandard; /* nothing is attached to this communicator */
    if (messages[i].dest != worker->rank) continue;
    ++mine;
    if (messages[i].bytes > longest) longest = messages[i].bytes;
  }
  /* Some of them into receives that take anything; they come first in `requests`. */
  for (const int posted = mine == 0 ? 0 : below(&worker->own, mine + 1); wild < posted; ++wild) {
    received[wild] = malloc((size_t)longest + 1);
    OK(MPI_Irecv(received[wild], longest, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, worker->wild, &requests[started++]));
  }
  for (int i = 0; i < count; ++i) {
    if (messages[i].source != worker->rank) continue;
    sent[sends] = make_parcel(worker, &messages[i], 1);
    start_send(worker, &sent[sends++], worker->wild, &requests[started++]);
    pause_between(worker);
  }
  /* The others are looked for. */
  for (int probed = wild; probed < mine; ++probed) receive_probed(worker, messages, count, seen);
  finish(worker, started, requests, statuses);
  for (int i = 0; i < wild; ++i) {
    check_wild(worker, messages, count, seen, &statuses[i], received[i]);
    free(received[i]);
  }
  for (int i = 0; i < sends; ++i) free_parcel(&sent[i]);
  OK(MPI_Barrier(worker->wild)); /* the next one's messages must not be taken for these */
}

/* ---- pairs ---- */

/* Everybody with one partner, by calls that block: the lower rank sends first. */
static void episode_pairs(Worker* worker) {
  Random* plan = &worker->plan;
  MPI_Comm comm = worker->comms[below(plan, kComms)];
  const int sum = below(plan, worker->size), tag = below(plan, 3);
  const unsigned seed = (unsigned)next_random(plan);
  const int of_ints = below(plan, 2), bytes = plan_bytes(plan, of_ints, 1 << 20), mode = below(plan, kModes);
  const int partner = (sum - worker->rank + worker->size) % worker->size;
  const Message out = {worker->rank, partner, tag, mode, bytes, of_ints, seed + (unsigned)worker->rank};
  const Message in = {partner, worker->rank, tag, mode, bytes, of_ints, seed + (unsigned)partner};
  worker->done += worker->size;
  Parcel give = make_parcel(worker, &out, 1), take = make_parcel(worker, &in, 0);
  MPI_Status status;
  if (partner == worker->rank) {
    OK(MPI_Sendrecv(give.memory, give.count, type_of(&give), partner, tag, take.memory, take.count, type_of(&take),
                    partner, tag, comm, &status));
  } else {
    for (int turn = 0; turn < 2; ++turn) {
      pause_between(worker);
      if ((turn == 0) != (worker->rank < partner))
        OK(MPI_Recv(take.memory, take.count, type_of(&take), partner, tag, comm, &status));
      else if (mode == kSynchronous)
        OK(MPI_Ssend(give.memory, give.count, type_of(&give), partner, tag, comm));
      else if (mode == kBuffered && bytes <= kMostBuffered)
        OK(MPI_Bsend(give.memory, give.count, type_of(&give), partner, tag, comm));
      else
        OK(MPI_Send(give.memory, give.count, type_of(&give), partner, tag, comm));
    }
  }
  check_parcel(worker, &take, &status);
  free_parcel(&give);
  free_parcel(&take);
  if (mode == kBuffered) OK(MPI_Comm_flush_buffer(comm));
}

/* Around the ring, some rounds of the same requests; or with MPI_Sendrecv; or with ready sends. */
static void episode_ring(Worker* worker) {
  enum { kPersistent, kSendrecv, kReady, kRounds = 3 };
  Random* plan = &worker->plan;
  MPI_Comm comm = worker->comms[below(plan, kComms)];
  const int way = below(plan, 3), distance = below(plan, worker->size), tag = below(plan, 3);
  const int of_ints = below(plan, 2), bytes = plan_bytes(plan, of_ints, kEpisodeBytes / worker->size);
  const unsigned seed = (unsigned)next_random(plan);
  const int to = (worker->rank + distance) % worker->size;
  const int from = (worker->rank - distance + worker->size) % worker->size;
  const Message out = {worker->rank, to, tag, kStandard, bytes, of_ints, seed + (unsigned)worker->rank};
  const Message in = {from, worker->rank, tag, kStandard, bytes, of_ints, seed + (unsigned)from};
  worker->done += worker->size * (way == kPersistent ? kRounds : 1);
  Parcel give = make_parcel(worker, &out, 1), take = make_parcel(worker, &in, 0);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  if (way == kSendrecv) {
    OK(MPI_Sendrecv(give.memory, give.count, type_of(&give), to, tag, take.memory, take.count, type_of(&take), from,
                    tag, comm, &statuses[0]));
  } else if (way == kReady) {
    OK(MPI_Irecv(take.memory, take.count, type_of(&take), from, tag, comm, &requests[0]));
    OK(MPI_Barrier(comm)); /* all are ready */
    OK(MPI_Irsend(give.memory, give.count, type_of(&give), to, tag, comm, &requests[1]));
    finish(worker, 2, requests, statuses);
  } else {
    OK(MPI_Recv_init(take.memory, take.count, type_of(&take), from, tag, comm, &requests[0]));
    OK(MPI_Send_init(give.memory, give.count, type_of(&give), to, tag, comm, &requests[1]));
    for (int round = 0; round < kRounds; ++round) {
      OK(MPI_Startall(2, requests));
      pause_between(worker);
      if (round < kRounds - 1) OK(MPI_Waitall(2, requests, statuses));
    }
    finish(worker, 2, requests, statuses);
  }
  check_parcel(worker, &take, &statuses[0]);
  free_parcel(&give);
  free_parcel(&take);
}

/* ---- collectives ---- */

static void episode_collective(Worker* worker) {
  Collective c = plan_collective(worker, worker->comms[below(&worker->plan, kComms)]);
  start_collective(&c, NULL);
  check_collective(worker, &c);
  ++worker->done;
}

/* Several at a time, some on the same communicator, perhaps with messages meanwhile. */
static void episode_collectives(Worker* worker) {
  enum { kMost = 4 };
  Collective collectives[kMost];
  MPI_Request requests[kMost];
  MPI_Status statuses[kMost];
  const int count = 1 + below(&worker->plan, kMost);
  for (int i = 0; i < count; ++i) {
    collectives[i] = plan_collective(worker, worker->comms[below(&worker->plan, kComms)]);
    start_collective(&collectives[i], &requests[i]);
    pause_between(worker);
  }
  if (below(&worker->plan, 3) == 0) episode_messages(worker);
  finish(worker, count, requests, statuses);
  for (int i = 0; i < count; ++i) check_collective(worker, &collectives[i]);
  worker->done += count;
}

/* A communicator is made, used and freed. */
static void episode_communicator(Worker* worker) {
  MPI_Comm parent = worker->comms[below(&worker->plan, kComms)], made;
  const int colors = 1 + below(&worker->plan, 3);
  if (colors == 1) {
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Comm_idup(parent, &made, &request));
    finish(worker, 1, &request, &status);
  } else {
    OK(MPI_Comm_split(parent, worker->rank % colors, -worker->rank, &made));
  }
  const int one = 1, color = worker->rank % colors;
  const int expected = (worker->size - color + colors - 1) / colors;
  int members = 0;
  OK(MPI_Allreduce(&one, &members, 1, MPI_INT, MPI_SUM, made));
  SOUND(worker, members == expected);
  OK(MPI_Comm_free(&made));
  ++worker->done;
}

/* ---- the whole ---- */

static Worker workers[kMostThreads];
static int plans = 1; /* how many of them work */
static pthread_barrier_t all_threads;
static Breaker breaker;

static const char* until; /* the file; NULL: a number of operations is wanted */
static int file_exists;   /* as rank 0 has seen it */

/* By one thread of each rank, at the same place of the plan. */
static void look_for_file(Worker* worker) {
  if (worker->rank == 0) file_exists = access(until, F_OK) == 0;
  OK(MPI_Bcast(&file_exists, 1, MPI_INT, 0, worker->comms[0]));
}

/* Threads wait for each other now and then: a thread that sleeps through its wake-up must not be woken by the traffic
   of the others, or it would not be noticed. How many operations all of them have done. */
static long meet_threads(Worker* worker) {
  long done = 0;
  if (plans > 1) pthread_barrier_wait(&all_threads);
  for (int t = 0; t < plans; ++t) done += workers[t].done;
  if (until != NULL && worker->thread == 0) look_for_file(worker);
  if (plans > 1) pthread_barrier_wait(&all_threads);
  return done;
}

static int is_enough(const Worker* worker, long done) {
  return until != NULL ? file_exists : done >= worker->wanted;
}

/* Ten times, or after each thousand operations. */
static void say_how_far(const Worker* worker, long done, long* said) {
  const long step = until != NULL ? done / 1000 + 1 : done * 10 / worker->wanted;
  if (worker->rank != 0 || worker->thread != 0 || step <= *said) return;
  *said = step;
  printf("soak: seed %llu: %ld", (unsigned long long)worker->seed, done);
  if (until == NULL) printf(" of %ld", worker->wanted);
  printf(" operations\n");
  fflush(stdout);
}

static void* follow_plan(void* argument) {
  static void (*const episodes[])(Worker*) = {
      episode_messages,    episode_messages,    episode_messages,    episode_messages,    episode_wildcards,
      episode_wildcards,   episode_pairs,       episode_pairs,       episode_ring,        episode_ring,
      episode_collective,  episode_collective,  episode_collective,  episode_collectives, episode_collectives,
      episode_collectives, episode_communicator,
  };
  Worker* worker = argument;
  long done = 0, said = 0;
  while (!is_enough(worker, done)) {
    for (int left = 1 + below(&worker->plan, 3); left > 0; --left) {
      episodes[below(&worker->plan, sizeof episodes / sizeof *episodes)](worker);
      pause_between(worker);
      breaker_goes_on(&breaker);
    }
    done = meet_threads(worker);
    say_how_far(worker, done, &said);
  }
  return NULL;
}

static void prepare(Worker* worker, uint64_t seed, int thread, long operations) {
  memset(worker, 0, sizeof *worker);
  worker->seed = seed, worker->thread = thread, worker->wanted = operations;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &worker->rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &worker->size));
  worker->plan.state = seed * 1000003 + (uint64_t)thread;
  worker->own.state = worker->plan.state + ((uint64_t)worker->rank + 1) * 7919;
  for (int i = 0; i < kComms; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &worker->comms[i]));
    OK(MPI_Comm_attach_buffer(worker->comms[i], malloc(kAttachedBytes), kAttachedBytes));
  }
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &worker->wild));
}

static void clear(Worker* worker) {
  for (int i = 0; i < kComms; ++i) {
    void* buffer;
    int bytes;
    OK(MPI_Comm_detach_buffer(worker->comms[i], &buffer, &bytes));
    free(buffer);
    OK(MPI_Comm_free(&worker->comms[i]));
  }
  OK(MPI_Comm_free(&worker->wild));
}

int main(int argc, char** argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  const long operations = argc > 2 ? atol(argv[2]) : 2000;
  if (argc > 2 && operations == 0) until = argv[2];
  const int threads = argc > 3 ? atoi(argv[3]) : 0;
  const int break_ms = argc > 4 ? atoi(argv[4]) : 0;
  const int wanted = threads > 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int provided;
  OK(MPI_Init_thread(&argc, &argv, wanted, &provided));
  CHECK(provided >= wanted && threads <= kMostThreads);
  const double began = MPI_Wtime();
  int rank;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  if (break_ms > 0) CHECK(breaker_start(&breaker, seed * 31 + (uint64_t)rank, break_ms) == 0);
  if (threads > 0) plans = threads;
  for (int t = 0; t < plans; ++t) prepare(&workers[t], seed, t, operations);
  if (workers[0].rank == 0)
    printf("soak: seed %llu, %s operations, %d ranks, %d threads\n", (unsigned long long)seed,
           argc > 2 ? argv[2] : "2000", workers[0].size, threads);
  if (threads > 0) {
    pthread_t running[kMostThreads];
    CHECK(pthread_barrier_init(&all_threads, NULL, (unsigned)plans) == 0);
    for (int t = 0; t < threads; ++t) CHECK(pthread_create(&running[t], NULL, follow_plan, &workers[t]) == 0);
    for (int t = 0; t < threads; ++t) CHECK(pthread_join(running[t], NULL) == 0);
    CHECK(pthread_barrier_destroy(&all_threads) == 0);
  } else {
    follow_plan(&workers[0]);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int t = 0; t < plans; ++t) clear(&workers[t]);
  if (workers[0].rank == 0)
    printf("soak: seed %llu: done in %.1f s\n", (unsigned long long)seed, MPI_Wtime() - began);
  OK(MPI_Finalize());
  if (break_ms > 0) CHECK(breaker_stop(&breaker) > 0);
  return 0;
}
