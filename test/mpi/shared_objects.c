/* MPI_THREAD_MULTIPLE: threads that change what belongs to one communicator, while others read it or copy it. */
#include "all_threads.h"

#include <stdatomic.h>

enum { kRounds = 200000 };

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

/* All threads set one attribute, the name and the hints. Each value of the attribute is deleted once. */
static atomic_int deleted;
static int key;

static int count_deletion(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

static void* attributes(void* argument) {
  const int t = *(int*)argument;
  static const char* const names[kThreads] = {"a", "a communicator with a longer name", "b", "another communicator with a longer name"};
  for (int i = 0; i < kRounds / 100; ++i) {
    char name[MPI_MAX_OBJECT_NAME];
    int length, known = 0;
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, argument));
    OK(MPI_Comm_set_name(MPI_COMM_SELF, names[t]));
    OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    for (int n = 0; n < kThreads; ++n) known |= strcmp(name, names[n]) == 0;
    CHECK(known || strcmp(name, "MPI_COMM_SELF") == 0);
  }
  return NULL;
}

static void* hints(void* argument) {
  MPI_Info given, kept;
  (void)argument;
  OK(MPI_Info_create(&given));
  OK(MPI_Info_set(given, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Comm_set_info(MPI_COMM_SELF, given));
  OK(MPI_Comm_get_info(MPI_COMM_SELF, &kept));
  OK(MPI_Info_free(&kept));
  OK(MPI_Info_free(&given));
  return NULL;
}

static void attributes_of_one(void) {
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_deletion, &key, NULL));
  on_all_threads(attributes);
  OK(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
  CHECK(deleted == kThreads * (kRounds / 100));
  FAILS(MPI_Comm_delete_attr(MPI_COMM_SELF, key), MPI_ERR_KEYVAL);
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  on_all_threads(error_handlers);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  attributes_of_one();
  on_all_threads(hints);
  OK(MPI_Finalize());
  return 0;
}
