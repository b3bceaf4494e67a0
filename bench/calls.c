/* What each way to pass a message between two ranks takes. A library may be quick in a ping-pong of MPI_Send and MPI_Recv, which benchmarks look
   at, and slow where it is written in other calls, which programs have. Half a round trip, or one exchange; more than one message where the name
   says so, and of 256 messages the time of each. */
#include "ranks.h"

enum { kSeveral = 4, kTags = 16, kMany = 256, kColumns = 4 };

static Sizes sizes;
static const Option options[] = {{"--sizes", "LIST", "message sizes (8,1K,16K)", .sizes = &sizes}, MEMORY_OPTION, {0}};
static const Program program = {"calls", "Time of a message between two ranks, by the MPI calls that pass it.", options};

typedef struct {
  Pair pair;           /* with room for kMany messages */
  MPI_Datatype column; /* as many bytes, a quarter of a row of four columns */
  MPI_Comm ring;
  MPI_Request kept[2]; /* persistent: the receive, and the send */
} Calls;

/* ---- One way ---- */

typedef void Half(const Calls*);

static void round_trips(const Calls* calls, int times, Half* send, Half* receive) {
  for (int i = 0; i < times; ++i) {
    if (calls->pair.first) send(calls);
    receive(calls);
    if (!calls->pair.first) send(calls);
  }
}

#define MESSAGE(buffer) calls->pair.buffer, calls->pair.bytes, MPI_BYTE, calls->pair.peer, kDataTag
static void send(const Calls* calls) { MPI_Send(MESSAGE(out), calls->pair.comm); }
static void ssend(const Calls* calls) { MPI_Ssend(MESSAGE(out), calls->pair.comm); }
static void bsend(const Calls* calls) { MPI_Bsend(MESSAGE(out), calls->pair.comm); }
static void receive(const Calls* calls) { MPI_Recv(MESSAGE(in), calls->pair.comm, MPI_STATUS_IGNORE); }
static void receive_any(const Calls* calls) {
  MPI_Recv(calls->pair.in, calls->pair.bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, calls->pair.comm, MPI_STATUS_IGNORE);
}
static void probe(const Calls* calls) {
  MPI_Probe(calls->pair.peer, kDataTag, calls->pair.comm, MPI_STATUS_IGNORE);
  receive(calls);
}
static void matched_probe(const Calls* calls) {
  MPI_Message message;
  MPI_Mprobe(calls->pair.peer, kDataTag, calls->pair.comm, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(calls->pair.in, calls->pair.bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}
static void probe_again_and_again(const Calls* calls) {
  for (int found = 0; !found;) MPI_Iprobe(calls->pair.peer, kDataTag, calls->pair.comm, &found, MPI_STATUS_IGNORE);
  receive(calls);
}
static void test_again_and_again(const Calls* calls) {
  MPI_Request request;
  MPI_Irecv(MESSAGE(in), calls->pair.comm, &request);
  for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}
static void send_column(const Calls* calls) {
  MPI_Send(calls->pair.out, 1, calls->column, calls->pair.peer, kDataTag, calls->pair.comm);
}
static void receive_column(const Calls* calls) {
  MPI_Recv(calls->pair.in, 1, calls->column, calls->pair.peer, kDataTag, calls->pair.comm, MPI_STATUS_IGNORE);
}

#define ROUND_TRIPS(name, sends, receives) \
  static void name(void* context, int times) { round_trips(context, times, sends, receives); }
ROUND_TRIPS(standard, send, receive)
ROUND_TRIPS(synchronous, ssend, receive)
ROUND_TRIPS(buffered, bsend, receive)
ROUND_TRIPS(any_source, send, receive_any)
ROUND_TRIPS(probed, send, probe)
ROUND_TRIPS(probed_and_matched, send, matched_probe)
ROUND_TRIPS(looked_for, send, probe_again_and_again)
ROUND_TRIPS(tested, send, test_again_and_again)
ROUND_TRIPS(column, send_column, receive_column)

/* ---- Both ways ---- */

static void exchange(void* context, int times) {
  const Calls* calls = context;
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(MESSAGE(out), MESSAGE(in), calls->pair.comm, MPI_STATUS_IGNORE);
}
static void replace(void* context, int times) {
  const Calls* calls = context;
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv_replace(MESSAGE(in), calls->pair.peer, kDataTag, calls->pair.comm, MPI_STATUS_IGNORE);
}
static void several(const Calls* calls, int count) {
  const Pair* pair = &calls->pair;
  for (int i = 0; i < count; ++i)
    MPI_Irecv(pair->in + (size_t)i * (size_t)pair->bytes, pair->bytes, MPI_BYTE, pair->peer, i, pair->comm, &pair->requests[i]);
  for (int i = 0; i < count; ++i)
    MPI_Isend(pair->out + (size_t)i * (size_t)pair->bytes, pair->bytes, MPI_BYTE, pair->peer, i, pair->comm, &pair->requests[count + i]);
}
static void exchange_all(const Calls* calls, int times, int count) {
  for (int i = 0; i < times; ++i) {
    several(calls, count);
    MPI_Waitall(2 * count, calls->pair.requests, MPI_STATUSES_IGNORE);
  }
}
static void one_at_once(void* context, int times) { exchange_all(context, times, 1); }
static void several_at_once(void* context, int times) { exchange_all(context, times, kSeveral); }
static void any_of_several(void* context, int times) {
  const Calls* calls = context;
  for (int i = 0; i < times; ++i) {
    several(calls, kSeveral);
    for (int left = 2 * kSeveral, index; left > 0; --left) MPI_Waitany(2 * kSeveral, calls->pair.requests, &index, MPI_STATUS_IGNORE);
  }
}
/* They come in another order than they are waited for. */
static void exchange_many(const Calls* calls) {
  const Pair* pair = &calls->pair;
  for (int i = 0; i < kMany; ++i)
    MPI_Irecv(pair->in + (size_t)i * (size_t)pair->bytes, pair->bytes, MPI_BYTE, pair->peer, i, pair->comm, &pair->requests[i]);
  for (int i = 0; i < kMany; ++i) {
    const int tag = i * 77 % kMany;
    MPI_Isend(pair->out + (size_t)tag * (size_t)pair->bytes, pair->bytes, MPI_BYTE, pair->peer, tag, pair->comm, &pair->requests[kMany + i]);
  }
}
static void any_of_many(void* context, int times) {
  const Calls* calls = context;
  for (int i = 0; i < times; ++i) {
    exchange_many(calls);
    for (int left = kMany, index; left > 0; --left) MPI_Waitany(kMany, calls->pair.requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitall(kMany, calls->pair.requests + kMany, MPI_STATUSES_IGNORE);
  }
}
static void some_of_many(void* context, int times) {
  const Calls* calls = context;
  int found[kMany];
  for (int i = 0; i < times; ++i) {
    exchange_many(calls);
    for (int left = kMany, count; left > 0; left -= count)
      MPI_Waitsome(kMany, calls->pair.requests, &count, found, MPI_STATUSES_IGNORE);
    MPI_Waitall(kMany, calls->pair.requests + kMany, MPI_STATUSES_IGNORE);
  }
}
static void persistent(void* context, int times) {
  Calls* calls = context;
  for (int i = 0; i < times; ++i) {
    MPI_Startall(2, calls->kept);
    MPI_Waitall(2, calls->kept, MPI_STATUSES_IGNORE);
  }
}
/* Blocks for both neighbours, who are the same rank. */
static void neighbors(void* context, int times) {
  const Calls* calls = context;
  const Pair* pair = &calls->pair;
  for (int i = 0; i < times; ++i)
    MPI_Neighbor_alltoall(pair->out, pair->bytes, MPI_BYTE, pair->in, pair->bytes, MPI_BYTE, calls->ring);
}
/* Messages that no receive waits for yet, but the last. */
static void last_tag_first(void* context, int times) {
  const Calls* calls = context;
  const Pair* pair = &calls->pair;
  for (int i = 0; i < times; ++i) {
    for (int tag = 0; tag < kTags; ++tag)
      MPI_Send(pair->out + (size_t)tag * (size_t)pair->bytes, pair->bytes, MPI_BYTE, pair->peer, tag, pair->comm);
    for (int tag = kTags - 1; tag >= 0; --tag)
      MPI_Recv(pair->in + (size_t)tag * (size_t)pair->bytes, pair->bytes, MPI_BYTE, pair->peer, tag, pair->comm, MPI_STATUS_IGNORE);
  }
}
static void to_itself(void* context, int times) {
  const Calls* calls = context;
  const Pair* pair = &calls->pair;
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(pair->out, pair->bytes, MPI_BYTE, rank, kDataTag, pair->in, pair->bytes, MPI_BYTE, rank, kDataTag, pair->comm, MPI_STATUS_IGNORE);
}

/* ---- All ---- */

static const struct {
  const char* series;
  void (*run)(void*, int);
  int messages;    /* that have arrived then, and are looked at */
  double per_call; /* of the figure: so many in one run */
} ways[] = {
    {"MPI_Send, MPI_Recv", standard, 1, 2},
    {"MPI_Ssend", synchronous, 1, 2},
    {"MPI_Bsend", buffered, 1, 2},
    {"MPI_Recv from any source, any tag", any_source, 1, 2},
    {"MPI_Probe, MPI_Recv", probed, 1, 2},
    {"MPI_Mprobe, MPI_Mrecv", probed_and_matched, 1, 2},
    {"MPI_Iprobe until it is there", looked_for, 1, 2},
    {"MPI_Test until it is there", tested, 1, 2},
    {"a column of four", column, 0, 2},
    {"MPI_Sendrecv", exchange, 1, 1},
    {"MPI_Sendrecv_replace", replace, 1, 1},
    {"MPI_Irecv, MPI_Isend, MPI_Waitall", one_at_once, 1, 1},
    {"four of them", several_at_once, kSeveral, 1},
    {"four of them, MPI_Waitany", any_of_several, kSeveral, 1},
    {"256 messages, MPI_Waitany", any_of_many, kMany, kMany},
    {"256 messages, MPI_Waitsome", some_of_many, kMany, kMany},
    {"MPI_Startall, MPI_Waitall", persistent, 1, 1},
    {"MPI_Neighbor_alltoall", neighbors, 0, 1},
    {"16 messages, the last tag first", last_tag_first, kTags, 1},
    {"to itself", to_itself, 1, 1},
};
enum { kWays = sizeof ways / sizeof *ways };

static Calls make_calls(size_t bytes) {
  Calls calls = {.pair = make_pair(MPI_COMM_WORLD, bytes, kMany)};
  Pair* pair = &calls.pair;
  const int part = pair->bytes / kColumns, two = 2, periodic = 1;
  MPI_Type_vector(kColumns, part, kColumns * part, MPI_BYTE, &calls.column);
  MPI_Type_commit(&calls.column);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &periodic, 0, &calls.ring);
  MPI_Recv_init(pair->in, pair->bytes, MPI_BYTE, pair->peer, kDataTag, pair->comm, &calls.kept[0]);
  MPI_Send_init(pair->out, pair->bytes, MPI_BYTE, pair->peer, kDataTag, pair->comm, &calls.kept[1]);
  return calls;
}

static void free_calls(Calls* calls) {
  MPI_Request_free(&calls->kept[0]);
  MPI_Request_free(&calls->kept[1]);
  MPI_Comm_free(&calls->ring);
  MPI_Type_free(&calls->column);
  free_pair(&calls->pair);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 2);
  default_sizes(&sizes, "8,1K,16K", "8,1K,16K");
  Samples times = {0};
  for (int s = 0; s < sizes.count; ++s) {
    const size_t room = kTags * (sizes.values[s] + MPI_BSEND_OVERHEAD);
    void* buffer = allocate(room);
    MPI_Buffer_attach(buffer, (int)room);
    Calls calls = make_calls(sizes.values[s]);
    const size_t all = sizes.values[s] * kMany;
    for (int way = 0; way < kWays; ++way) {
      /* What is replaced has been received. */
      memset(calls.pair.in, 0, all);
      if (ways[way].run == replace) memcpy(calls.pair.in, calls.pair.out, all);
      measure_in(MPI_COMM_WORLD, ways[way].run, &calls, 0.1, 50e-6, &times);
      check_received(&calls.pair, ways[way].messages);
      scale_samples(&times, 1e6 / ways[way].per_call);
      report(&program, (Figure){ways[way].series, "us", "lower", (double)sizes.values[s], "message size", "B"}, &times);
    }
    free_calls(&calls);
    MPI_Buffer_detach(&buffer, &(int){0});
    free(buffer);
  }
  return MPI_Finalize();
}
