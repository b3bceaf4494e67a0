/* What TCP itself takes, to see what an MPI library adds: latency, bandwidth and message rate of two processes that
   spin over non-blocking sockets. The series have the names that the programs of the same questions give theirs.

   A small message of an MPI library is a record of some 64 bytes of header and its content; the message rate is that
   of such records, 64 of which leave in one system call.

   Two processes of this machine, or of two: one listens and does what the other asks for; the other connects,
   measures and prints. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kHeader = 64 };

static Sizes sizes;
static const char *only, *listen_at, *connect_to;
static const char* const questions[] = {"latency", "bandwidth", "message_rate", NULL};
static const Option options[] = {
    {"--only", "QUESTION", "latency, bandwidth or message_rate (all)", .text = &only, .choices = questions},
    {"--sizes", "LIST", "message sizes (those of the question)", .sizes = &sizes},
    {"--listen", "ADDR:PORT", "serves one --connect from another host", .text = &listen_at},
    {"--connect", "ADDR:PORT", "measures against the --listen there", .text = &connect_to},
    {0}};
static const Program program = {"raw_sockets",
                                "Latency, bandwidth and message rate of spinning TCP sockets, without MPI.", options};

static void fail(const char* what, const char* about) {
  fprintf(stderr, "raw_sockets: %s %s: %s\n", what, about, strerror(errno));
  exit(1);
}

/* ---- Sockets ---- */

static struct addrinfo* resolve(const char* where, bool passive) {
  char host[256];
  const char* colon = strrchr(where, ':');
  const size_t length = colon == NULL ? 0 : (size_t)(colon - where);
  const bool brackets = length >= 2 && where[0] == '[' && where[length - 1] == ']';
  struct addrinfo *found,
      hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)};
  snprintf(host, sizeof host, "%.*s", (int)(length - 2 * brackets), where + brackets);
  if (colon == NULL || length >= sizeof host || getaddrinfo(host, colon + 1, &hints, &found) != 0) {
    fprintf(stderr, "raw_sockets: '%s' is no ADDR:PORT, an address in numbers and a port\n", where);
    exit(2);
  }
  return found;
}

static int listen_on(const char* where) {
  struct addrinfo* address = resolve(where, true);
  const int one = 1, listener = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) fail("no socket for", where);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, address->ai_addr, address->ai_addrlen) != 0 || listen(listener, 1) != 0)
    fail("cannot listen on", where);
  freeaddrinfo(address);
  return listener;
}

static int accept_one(int listener) {
  const int stream = accept(listener, NULL, NULL);
  if (stream < 0) fail("cannot accept", "a connection");
  close(listener);
  return stream;
}

/* The other side may still be starting. */
static int connect_with_patience(const char* where) {
  struct addrinfo* address = resolve(where, false);
  for (int attempt = 0;; ++attempt) {
    const int stream = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (stream < 0) fail("no socket for", where);
    if (connect(stream, address->ai_addr, address->ai_addrlen) == 0) {
      freeaddrinfo(address);
      return stream;
    }
    if (errno != ECONNREFUSED || attempt == 100) fail("cannot connect to", where);
    close(stream);
    sleep_for(0.1);
  }
}

/* What the operation did: `bytes` moved, 0 if there is nothing to do for now. */
static size_t moved(ssize_t result, const char* what) {
  if (result > 0) return (size_t)result;
  if (result < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (result == 0) errno = ECONNRESET;
  fail("the other process is gone; could not", what);
  return 0;
}

/* Sends and receives until both is done; spins. */
static void exchange(int stream, const char* out, size_t to_send, char* in, size_t to_receive) {
  while (to_send + to_receive > 0) {
    if (to_send > 0) {
      const size_t sent = moved(send(stream, out, to_send, MSG_NOSIGNAL), "send");
      out += sent;
      to_send -= sent;
    }
    if (to_receive > 0) {
      const size_t received = moved(recv(stream, in, to_receive, 0), "receive");
      in += received;
      to_receive -= received;
    }
  }
}

/* ---- What is measured ---- */

typedef struct {
  int64_t operation, bytes, window; /* operation -1: that was all */
} Task;

typedef struct {
  int stream;
  bool leads;
  size_t bytes, window;
  char *out, *in;
} Link;

static long agree_over(void* context, long value) {
  const Link* link = context;
  int64_t word = value;
  exchange(link->stream, (char*)&word, link->leads ? sizeof word : 0, (char*)&word, link->leads ? 0 : sizeof word);
  return word;
}

static void one_way(const Link* link, bool sends, size_t bytes) {
  exchange(link->stream, link->out, sends ? bytes : 0, link->in, sends ? 0 : bytes);
}

static void ping_pong(void* context, int times) {
  const Link* link = context;
  for (int i = 0; i < times; ++i) {
    one_way(link, link->leads, link->bytes);
    one_way(link, !link->leads, link->bytes);
  }
}

/* Message after message, a system call each; a byte comes back after the last of all. */
static void stream_blocking(void* context, int times) {
  const Link* link = context;
  for (size_t i = 0; i < (size_t)times * link->window; ++i) one_way(link, link->leads, link->bytes);
  one_way(link, !link->leads, 1);
}

/* All messages of a window at once, then a byte back. */
static void stream_window(void* context, int times) {
  const Link* link = context;
  for (int i = 0; i < times; ++i) {
    one_way(link, link->leads, link->bytes * link->window);
    one_way(link, !link->leads, 1);
  }
}

static void stream_both_ways(void* context, int times) {
  const Link* link = context;
  const size_t bytes = link->bytes * link->window;
  for (int i = 0; i < times; ++i) exchange(link->stream, link->out, bytes, link->in, bytes);
}

static void (*const operations[])(void*, int) = {ping_pong, stream_blocking, stream_window, stream_both_ways};
enum { kPingPong, kBlocking, kWindow, kBothWays };

/* Both sides do the task. The leader gets seconds per operation. */
static void perform(int stream, bool leads, Task task, double batch, Samples* samples) {
  Link link = {stream, leads, (size_t)task.bytes, (size_t)task.window, NULL, NULL};
  link.out = allocate(link.bytes * link.window);
  link.in = allocate(link.bytes * link.window);
  const Measurement measurement = {operations[task.operation], &link, agree_over, &link, leads,
                                   quick ? 0.15 : 0.3,         batch, NULL};
  measure(&measurement, samples);
  free(link.out);
  free(link.in);
}

static void serve(int stream) {
  Task task;
  for (;;) {
    exchange(stream, NULL, 0, (char*)&task, sizeof task);
    if (task.operation == -1) return;
    if (task.operation < 0 || task.operation > kBothWays || task.bytes < 1 || task.bytes > 1 << 30 || task.window < 1 ||
        task.window > 1 << 20) {
      fprintf(stderr, "raw_sockets: what connected here is no raw_sockets\n");
      exit(1);
    }
    perform(stream, false, task, 0, NULL);
  }
}

static Samples order(int stream, Task task, double batch) {
  Samples samples = {0};
  exchange(stream, (const char*)&task, sizeof task, NULL, 0);
  perform(stream, true, task, batch, &samples);
  return samples;
}

static void report_by_size(const char* question, const char* series, const char* unit, size_t bytes, Samples* samples) {
  const Program asked = {question, NULL, NULL};
  report(&asked, (Figure){series, unit, unit[0] == 'M' ? "higher" : "lower", (double)bytes, "message size", "B"},
         samples);
  free(samples->values);
}

static void latency(int stream, size_t bytes) {
  Samples times = order(stream, (Task){kPingPong, (int64_t)bytes, 1}, 50e-6);
  scale_samples(&times, 1e6 / 2);
  report_by_size("latency", "one way", "us", bytes, &times);
}

static void bandwidth(int stream, size_t bytes) {
  static const struct {
    const char* series;
    int operation, directions;
  } all[] = {{"one direction", kBlocking, 1}, {"window 64", kWindow, 1}, {"both directions", kBothWays, 2}};
  const size_t most = ((size_t)64 << 20) / bytes < 1 ? 1 : ((size_t)64 << 20) / bytes;
  const size_t window = most < 64 ? most : 64;
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    Samples times = order(stream, (Task){all[i].operation, (int64_t)bytes, (int64_t)window}, 1e-3);
    samples_to_rates(&times, (double)all[i].directions * (double)(window * bytes) / 1e6);
    report_by_size("bandwidth", all[i].series, "MB/s", bytes, &times);
  }
}

static void message_rate(int stream, size_t bytes) {
  static const struct {
    const char* series;
    int operation;
  } all[] = {{"window 64", kWindow}, {"blocking sends", kBlocking}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    Samples times = order(stream, (Task){all[i].operation, (int64_t)(kHeader + bytes), 64}, 1e-3);
    samples_to_rates(&times, 64 / 1e6);
    report_by_size("message_rate", all[i].series, "M/s", bytes, &times);
  }
}

static void ask(int stream) {
  static const struct {
    void (*run)(int stream, size_t bytes);
    const char *sizes, *quick_sizes;
  } all[] = {
      {latency, "8-4M", "8,1K,64K,1M,4M"}, {bandwidth, "1K-4Mx4", "4K,64K,1M,4M"}, {message_rate, "8-4Kx8", "8,64,1K"}};
  for (int q = 0; questions[q] != NULL; ++q) {
    if (only != NULL && strcmp(only, questions[q]) != 0) continue;
    Sizes chosen = sizes;
    default_sizes(&chosen, all[q].sizes, all[q].quick_sizes);
    for (int s = 0; s < chosen.count; ++s) all[q].run(stream, chosen.values[s]);
  }
  const Task end = {-1, 0, 0};
  exchange(stream, (const char*)&end, sizeof end, NULL, 0);
}

/* ---- Two processes ---- */

/* A core of its own for each of the two processes of one machine, as launchers give their ranks. */
static void bind_to_core(int which) {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &all) && which-- == 0) CPU_SET(core, &one);
  }
  sched_setaffinity(0, sizeof one, &one);
}

static int prepare(int stream) {
  const int one = 1;
  setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (fcntl(stream, F_SETFL, O_NONBLOCK) != 0) fail("cannot make non-blocking", "a socket");
  return stream;
}

static int both_here(void) {
  const int listener = listen_on("127.0.0.1:0");
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  getsockname(listener, (struct sockaddr*)&address, &length);
  const pid_t child = fork();
  if (child < 0) fail("cannot start", "a second process");
  bind_to_core(child == 0);
  if (child == 0) {
    serve(prepare(accept_one(listener)));
    return 0;
  }
  char where[32];
  snprintf(where, sizeof where, "127.0.0.1:%d", ntohs(address.sin_port));
  ask(prepare(connect_with_patience(where)));
  int status = 1;
  waitpid(child, &status, 0);
  return status != 0;
}

int main(int argc, char** argv) {
  CommandLine line = read_command_line(&program, argc, argv);
  if (!line.stop && listen_at != NULL && connect_to != NULL) {
    line = (CommandLine){true, 2, "raw_sockets: either --listen or --connect\n"};
  }
  if (line.stop) {
    fputs(line.text, line.code == 0 ? stdout : stderr);
    return line.code;
  }
  if (listen_at != NULL) serve(prepare(accept_one(listen_on(listen_at))));
  if (connect_to != NULL) ask(prepare(connect_with_patience(connect_to)));
  return listen_at == NULL && connect_to == NULL ? both_here() : 0;
}
