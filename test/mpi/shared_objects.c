/* MPI_THREAD_MULTIPLE: threads that change what belongs to one communicator, while others read it or copy it. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kThreads = 4, kRounds = 200000 };

typedef void* (*Body)(void*);
static void on_all_threads(Body body) {
  pthread_t threads[kThreads];
  static int numbers[kThreads];
  for (int t = 0; t < kThreads; ++t) {
    numbers[t] = t;
    CHECK(pthread_create(&threads[t], NULL, body, &numbers[t]) == 0);
  }
  for (int t = 0; t < kThreads; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
}

static void is_never_called(MPI_Comm* comm, int* code, ...) {
  (void)code;
  CHECK(*comm == MPI_COMM_NULL);
}

/* The first thread makes copies, which inherit the error handler that the others set and free. */
static atomic_int all_copied;

static void* error_handlers(void* argument) {
  const int t = *(int*)argument;
  MPI_Errhandler handler;
  MPI_Comm copy;
  for (int i = 0; t == 0 && i < kRounds; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
    OK(MPI_Comm_free(&copy));
  }
  while (t != 0 && !all_copied) {
    OK(MPI_Comm_create_errhandler(is_never_called, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    OK(MPI_Errhandler_free(&handler));
  }
  if (t == 0) all_copied = 1;
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  on_all_threads(error_handlers);
  OK(MPI_Finalize());
  return 0;
}
