/* Threads of a rank that all do the same; each is told its number. */
#pragma once

#include "check.h"

#include <pthread.h>

enum { kThreads = 4 };

static void on_all_threads(void* (*body)(void*)) {
  pthread_t threads[kThreads];
  static int numbers[kThreads];
  for (int t = 0; t < kThreads; ++t) {
    numbers[t] = t;
    CHECK(pthread_create(&threads[t], NULL, body, &numbers[t]) == 0);
  }
  for (int t = 0; t < kThreads; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
}
