/* Breaks this process's own TCP connections at random, from a thread of its own, for as long as it runs: shut down (what has left still arrives), or
   disconnected (what the kernel holds is thrown away, and the peer gets a reset). For programs under LAPWING_RESUME=on. The program says when it has
   come further: between two such moments connections are broken a few times only, because a message that takes longer than there is between two
   breaks, on a slow machine, would never arrive. */
#ifndef LAPWING_TEST_BREAKER_H
#define LAPWING_TEST_BREAKER_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kBreaksAtOnce = 8 }; /* until the program has come further */

typedef struct {
  uint64_t state;  /* of the random numbers */
  int most_ms;     /* between two breaks */
  atomic_int stop;
  atomic_int allowed; /* so many breaks more */
  atomic_long breaks;
  pthread_t thread;
} Breaker;

static unsigned breaker_random(Breaker* breaker) {
  breaker->state = breaker->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(breaker->state >> 33);
}

static int is_tcp_connection(int fd) {
  struct sockaddr_storage peer;
  socklen_t length = sizeof peer;
  if (getpeername(fd, (struct sockaddr*)&peer, &length) != 0) return 0;
  return peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
}

static void break_one(Breaker* breaker) {
  int found[64], count = 0;
  for (int fd = 3; fd < 1024 && count < 64; ++fd)
    if (is_tcp_connection(fd)) found[count++] = fd;
  if (count == 0) return;
  const int fd = found[breaker_random(breaker) % (unsigned)count];
  struct sockaddr nowhere;
  memset(&nowhere, 0, sizeof nowhere);
  nowhere.sa_family = AF_UNSPEC;
  /* The system call itself: the thread sanitizer takes the C library's connect() for the making of a descriptor, which then would be in use by two
     threads without order. */
  const long cut =
      breaker_random(breaker) % 3 == 0 ? shutdown(fd, SHUT_RDWR) : syscall(SYS_connect, fd, &nowhere, sizeof nowhere);
  if (cut != 0) return;
  atomic_fetch_add(&breaker->breaks, 1);
  atomic_fetch_sub(&breaker->allowed, 1);
}

static void* break_on(void* argument) {
  Breaker* breaker = argument;
  while (!atomic_load(&breaker->stop)) {
    const long ms = (long)(breaker_random(breaker) % (unsigned)breaker->most_ms) + 1;
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
    if (atomic_load(&breaker->allowed) > 0) break_one(breaker);
  }
  return NULL;
}

static int breaker_start(Breaker* breaker, uint64_t seed, int most_ms) {
  memset(breaker, 0, sizeof *breaker);
  breaker->state = seed;
  breaker->most_ms = most_ms;
  breaker->allowed = kBreaksAtOnce;
  return pthread_create(&breaker->thread, NULL, break_on, breaker);
}

/* The program has come further. */
static void breaker_goes_on(Breaker* breaker) { atomic_store(&breaker->allowed, kBreaksAtOnce); }

/* How many connections it broke. */
static long breaker_stop(Breaker* breaker) {
  atomic_store(&breaker->stop, 1);
  pthread_join(breaker->thread, NULL);
  return atomic_load(&breaker->breaks);
}

#endif
