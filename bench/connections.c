/* Do open connections cost anything (O2G, figures 5 and 6): rank 0 has one to every other rank. First only rank 1
   talks to rank 0, while all others wait in MPI_Recv and their connections are idle; then all are active.

   What idle connections cost is less than what one job differs from the next by, or one minute of it from another. So
   it is found inside one job: ranks 2 and 3, which have few connections, do the same by turns with ranks 0 and 1, and
   both do it before rank 0 has met the others and after. What has changed for rank 0, over what has changed for rank
   2 meanwhile, is the answer. Each of the four has one core for all of its threads.

   Processor time is that of the receiver, and beside it that of the senders: on one machine the kernel does much of a
   receiver's work in its sender's time. When all are active, rank 0 takes messages of any rank, one after the other,
   and then by receives that are posted for each rank beforehand.

   No step's length grows with the number of ranks but for one message each way. */
#include "ranks.h"

enum { kGoTag = 3, kTurnTag = 4 };
enum { kTeams = 4 };                              /* ranks that take turns, in two teams */
enum { kMostTurns = 200, kBlocksPerSecond = 60 }; /* about */
enum { kPerRound = 8 };                           /* messages of a peer, when all are active */

static Sizes sizes;
static size_t message; /* bytes of those whose processor time is taken, and when all are active */
static const Option options[] = {
    {"--message", "SIZE", "of the messages whose processor time is taken, and when all are active (8)", .sizes = &sizes},
    MEMORY_OPTION,
    {0}};
static const Program program = {
    "connections", "Latency, bandwidth, processor time per message and memory of rank 0, by its open connections.",
    options};

static void report_by_connections(const char* series, const char* unit, const char* better, Samples* samples) {
  report(&program, (Figure){series, unit, better, size - 1, "connections of rank 0", ""}, samples);
}

/* ---- Opening ---- */

/* A byte from rank 0 to every rank, and back. */
static void open_connections(void) {
  char byte = 0;
  if (rank != 0) {
    MPI_Recv(&byte, 1, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&byte, 1, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD);
    return;
  }
  char* bytes = allocate((size_t)size);
  MPI_Request* requests = allocate(sizeof(MPI_Request) * 2 * (size_t)size);
  int posted = 0;
  for (int peer = 1; peer < size; ++peer) {
    MPI_Irecv(&bytes[peer], 1, MPI_BYTE, peer, kDataTag, MPI_COMM_WORLD, &requests[posted++]);
    MPI_Isend(&byte, 1, MPI_BYTE, peer, kDataTag, MPI_COMM_WORLD, &requests[posted++]);
  }
  MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
  free(requests);
  free(bytes);
}

static void answer_for_opening(void) {
  const double memory = data_kib(), kernel = kernel_kib(), begin = now();
  open_connections();
  if (rank != 0) return;
  Samples growth = {0}, kernel_growth = {0}, time = {0};
  add_sample(&time, (now() - begin) / (size - 1) * 1e6);
  add_sample(&growth, (data_kib() - memory) / (size - 1));
  add_sample(&kernel_growth, (kernel_kib() - kernel) / (size - 1));
  report_by_connections("opening a connection", "us", "lower", &time);
  report_by_connections("memory per connection", "KiB", "lower", &growth);
  report_by_connections("memory of the kernel per connection, both ends", "KiB", "lower", &kernel_growth);
}

/* ---- All but one idle: by turns with a team that has few connections ---- */

typedef struct {
  MPI_Comm team; /* two ranks, the first of which leads */
  MPI_Comm all;  /* both teams, or the one that there is */
  bool leads, both;
} Teams;

static Teams make_teams(void) {
  Teams teams = {MPI_COMM_NULL, MPI_COMM_NULL, rank % 2 == 0, size >= kTeams};
  const int members[kTeams] = {0, 1, 2, 3}, first = rank / 2 * 2;
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, teams.both ? kTeams : 2, members, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &teams.all);
  MPI_Group_free(&group);
  MPI_Group_incl(world, 2, members + first, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 1 + first, &teams.team);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  if (teams.both) stay_on_processor(rank % 2);
  return teams;
}

static void free_teams(Teams* teams) {
  MPI_Comm_free(&teams->team);
  MPI_Comm_free(&teams->all);
}

typedef struct {
  const char *series, *against; /* names of the value, and of the comparison */
  const char* of_sender;        /* name of rank 1's value of the same clock; NULL: it is not reported */
  size_t bytes;
  int window;
  void (*run)(void*, int);
  bool to_leader;
  double (*clock)(void);
  double messages;  /* in one run, to divide its time by; or */
  double megabytes; /* in one run, to report a bandwidth */
  double ratio;     /* of rank 0's time to that of rank 2, before the others were met */
  Samples own;      /* seconds that a run took rank 0 */
  Samples relative; /* to what it took rank 2 */
} What;

/* So many runs of one team, after a few that wake it up. */
static double block(const What* what, const Teams* teams, Pair* pair, int times) {
  if (teams->leads)
    MPI_Send(NULL, 0, MPI_BYTE, 1, kTurnTag, teams->team);
  else
    MPI_Recv(NULL, 0, MPI_BYTE, 0, kTurnTag, teams->team, MPI_STATUS_IGNORE);
  what->run(pair, 1 + times / 10);
  const double begin = what->clock();
  what->run(pair, times);
  return (what->clock() - begin) / times;
}

/* At rank 0: the turn of the other team. */
static double let_other_team(void) {
  double took;
  MPI_Send(NULL, 0, MPI_BYTE, 2, kTurnTag, MPI_COMM_WORLD);
  MPI_Recv(&took, 1, MPI_DOUBLE, 2, kTurnTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return took;
}

static void wait_for_turn(What* what, const Teams* teams, Pair* pair, int times) {
  if (rank == 2) MPI_Recv(NULL, 0, MPI_BYTE, 0, kTurnTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double took = block(what, teams, pair, times);
  if (rank == 1) add_sample(&what->own, took);
  if (rank == 2) MPI_Send(&took, 1, MPI_DOUBLE, 0, kTurnTag, MPI_COMM_WORLD);
}

/* One turn of each team; the team that begins changes from one to the next. */
static void take_turns(What* what, const Teams* teams, Pair* pair, int times, bool begins) {
  if (rank != 0) {
    wait_for_turn(what, teams, pair, times);
    return;
  }
  double own = 0, other = 0;
  if (begins) own = block(what, teams, pair, times);
  if (teams->both) other = let_other_team();
  if (!begins) own = block(what, teams, pair, times);
  add_sample(&what->own, own);
  if (teams->both) add_sample(&what->relative, own / other);
}

static void compare(What* what, const Teams* teams, double budget) {
  MPI_Comm team = teams->team, all = teams->all;
  Pair pair = make_pair(team, what->bytes, what->window);
  if (what->to_leader) pair.first = !pair.first;
  Samples trial = {0};
  const Measurement measurement = {what->run, &pair, agree_in, &team, teams->leads, budget / 10, 1e-3, NULL};
  measure(&measurement, &trial);
  const long times = agree_in(&all, rank == 0 ? (long)(1 / (median(&trial) * kBlocksPerSecond)) + 1 : 0);
  const double begin = now();
  for (long i = 0, more = 1; more; ++i) {
    take_turns(what, teams, &pair, (int)times, i % 2 == 0);
    more = agree_in(&all, i < 4 || (i < kMostTurns && now() - begin < budget));
  }
  if (rank == 0 && what->to_leader) check_received(&pair, what->window);
  free(trial.values);
  free_pair(&pair);
}

/* Rank 1 tells rank 0 what it took. */
static void tell_of_sender(What* what) {
  if (what->of_sender == NULL || rank > 1) return;
  double took = rank == 1 ? median(&what->own) : 0;
  if (rank == 1) {
    MPI_Send(&took, 1, MPI_DOUBLE, 0, kTurnTag, MPI_COMM_WORLD);
    return;
  }
  MPI_Recv(&took, 1, MPI_DOUBLE, 1, kTurnTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  Samples samples = {0};
  add_sample(&samples, took / what->messages * 1e6);
  report_by_connections(what->of_sender, "us", "lower", &samples);
}

static void report_idle(What* what) {
  scale_samples(&what->relative, 1 / what->ratio);
  report_by_connections(what->against, "ratio", "lower", &what->relative);
  if (what->megabytes > 0)
    samples_to_rates(&what->own, what->megabytes);
  else
    scale_samples(&what->own, 1e6 / what->messages);
  const bool rate = what->megabytes > 0;
  report_by_connections(what->series, rate ? "MB/s" : "us", rate ? "higher" : "lower", &what->own);
}

/* Before the others have been met, then when they have; all ranks. */
static void answer_for_idle(double budget) {
  What whats[] = {
      {"latency, the others idle", "latency, over that with few connections", NULL, 8, 1, ping_pong, false, now,
       .messages = 2},
      {"bandwidth, the others idle", "time of a stream, over that with few connections", NULL, 1 << 20, 16,
       stream_window, true, now, .megabytes = 16.0 * (1 << 20) / 1e6},
      {"processor time per message, the others idle", "processor time, over that with few connections",
       "processor time per message of the sender, the others idle", message, 64, stream_window, true,
       processor_seconds, .messages = 64}};
  const int count = sizeof whats / sizeof *whats;
  const bool takes_part = rank < (size >= kTeams ? kTeams : 2);
  Teams teams = {0};
  if (takes_part) teams = make_teams();
  for (int i = 0; i < count && takes_part && teams.both; ++i) {
    compare(&whats[i], &teams, budget);
    if (rank == 0) whats[i].ratio = median(&whats[i].relative);
    whats[i].own.count = whats[i].relative.count = 0;
  }
  answer_for_opening();
  for (int i = 0; i < count && takes_part; ++i) {
    compare(&whats[i], &teams, budget);
    tell_of_sender(&whats[i]);
    if (rank == 0) report_idle(&whats[i]);
  }
  if (takes_part) free_teams(&teams);
}

/* ---- All active ---- */

enum { kHeader = 2 * sizeof(int) }; /* a message begins with its sender, and its number among that one's */

static void check_message(const char* bytes, int source) {
  int content[2];
  memcpy(content, bytes, kHeader);
  if (content[0] == source) return;
  fprintf(stderr, "rank 0: a message of rank %d says that it is of rank %d\n", source, content[0]);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void say_go(int messages) {
  for (int peer = 1; peer < size; ++peer) MPI_Send(&messages, 1, MPI_INT, peer, kGoTag, MPI_COMM_WORLD);
}

typedef struct {
  char* bytes; /* of all messages of a round */
  MPI_Request* requests;
  long count;
} Round;

/* Rank 0 says go to all, and takes what comes from any rank: so many messages of each. */
static void receive_from_any(Round* round) {
  say_go(kPerRound);
  for (long i = 0; i < round->count; ++i) {
    MPI_Status status;
    MPI_Recv(round->bytes, (int)message, MPI_BYTE, MPI_ANY_SOURCE, kDataTag, MPI_COMM_WORLD, &status);
    check_message(round->bytes, status.MPI_SOURCE);
  }
}

/* The same by receives that name their source, which are posted before. */
static void receive_from_each(Round* round) {
  for (long i = 0; i < round->count; ++i) {
    const int peer = 1 + (int)(i % (size - 1));
    MPI_Irecv(round->bytes + (size_t)i * message, (int)message, MPI_BYTE, peer, kDataTag, MPI_COMM_WORLD,
              &round->requests[i]);
  }
  say_go(kPerRound);
  MPI_Waitall((int)round->count, round->requests, MPI_STATUSES_IGNORE);
  for (long i = 0; i < round->count; ++i) check_message(round->bytes + (size_t)i * message, 1 + (int)(i % (size - 1)));
}

/* What the processor took in all ranks but this one, since they were told to begin. */
static double time_of_senders(void) {
  double sum = 0;
  for (int peer = 1; peer < size; ++peer) {
    double took;
    MPI_Recv(&took, 1, MPI_DOUBLE, peer, kGoTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += took;
  }
  return sum;
}

static void receive_rounds(void (*receive)(Round*), Round* round, const char* how, double budget) {
  Samples time = {0}, used = {0}, of_senders = {0};
  const double start = now(), messages = (double)round->count;
  long rounds = 0;
  for (; rounds < 3 || (now() - start < budget && rounds < 4000); ++rounds) {
    const double begin = now(), processor = processor_seconds();
    receive(round);
    if (rounds == 0) continue;
    add_sample(&time, (now() - begin) / messages * 1e6);
    add_sample(&used, (processor_seconds() - processor) / messages * 1e6);
  }
  say_go(0);
  add_sample(&of_senders, time_of_senders() / messages / (double)rounds * 1e6);
  char series[100];
  snprintf(series, sizeof series, "time per message, all active%s", how);
  report_by_connections(series, "us", "lower", &time);
  snprintf(series, sizeof series, "processor time per message, all active%s", how);
  report_by_connections(series, "us", "lower", &used);
  snprintf(series, sizeof series, "processor time per message of the senders, all active%s", how);
  report_by_connections(series, "us", "lower", &of_senders);
}

static void receive_from_all(double budget) {
  Round round = {NULL, NULL, (long)kPerRound * (size - 1)};
  round.bytes = allocate_messages((size_t)round.count * message);
  round.requests = allocate(sizeof(MPI_Request) * (size_t)round.count);
  receive_rounds(receive_from_any, &round, "", budget);
  receive_rounds(receive_from_each, &round, ", receives posted", budget);
  free(round.requests);
  free_messages(round.bytes);
}

/* Idle until rank 0 says go. */
static void send_when_told(void) {
  char* bytes = allocate(message);
  double begin = 0;
  for (int messages, told = 0;; ++told) {
    MPI_Recv(&messages, 1, MPI_INT, 0, kGoTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (messages == 0) break;
    if (told == 0) begin = processor_seconds();
    for (int i = 0; i < messages; ++i) {
      const int content[2] = {rank, i};
      memcpy(bytes, content, kHeader);
      MPI_Send(bytes, (int)message, MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD);
    }
  }
  const double took = processor_seconds() - begin;
  MPI_Send(&took, 1, MPI_DOUBLE, 0, kGoTag, MPI_COMM_WORLD);
  free(bytes);
}

int main(int argc, char** argv) {
  start(&program, argc, argv, 2, 1 << 22);
  default_sizes(&sizes, "8", "8");
  message = sizes.values[0] < kHeader ? kHeader : sizes.values[0];
  const double budget = quick ? 1 : 2.5;
  answer_for_idle(budget);
  if (rank == 0) {
    receive_from_all(budget / 2);
  } else {
    send_when_told();
    send_when_told();
  }
  return MPI_Finalize();
}
