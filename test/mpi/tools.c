/* The tools' interface: settings that are written before MPI starts and read afterwards, statistics that count, categories, and what is refused. */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static int cvar_named(const char* name) {
  int index = -1;
  OK(MPI_T_cvar_get_index(name, &index));
  return index;
}

static void text_of(int cvar, char* text) {
  MPI_T_cvar_handle handle;
  int count = 0;
  OK(MPI_T_cvar_handle_alloc(cvar, NULL, &handle, &count));
  CHECK(count == 4096);
  OK(MPI_T_cvar_read(handle, text));
  OK(MPI_T_cvar_handle_free(&handle));
  CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
}

static int write_text(int cvar, const char* text) {
  MPI_T_cvar_handle handle;
  int count = 0;
  char buffer[4096] = {0};
  strcpy(buffer, text);
  OK(MPI_T_cvar_handle_alloc(cvar, NULL, &handle, &count));
  const int code = MPI_T_cvar_write(handle, buffer);
  OK(MPI_T_cvar_handle_free(&handle));
  return code;
}

static void all_settings(void) {
  int count = 0;
  OK(MPI_T_cvar_get_num(&count));
  CHECK(count > 20);
  for (int i = 0; i < count; ++i) {
    char name[256], meaning[2048], value[4096];
    int name_length = sizeof name, meaning_length = sizeof meaning, verbosity, bind, scope;
    MPI_Datatype type;
    MPI_T_enum none;
    OK(MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &none, meaning, &meaning_length, &bind, &scope));
    CHECK(strncmp(name, "LAPWING_", 8) == 0 && name_length == (int)strlen(name) + 1 && strlen(meaning) > 10);
    CHECK(type == MPI_CHAR && none == MPI_T_ENUM_NULL && bind == MPI_T_BIND_NO_OBJECT && scope == MPI_T_SCOPE_ALL_EQ);
    CHECK(cvar_named(name) == i);
    text_of(i, value);
  }
  int index;
  CHECK(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_cvar_get_index("LAPWING_NOTHING", &index) == MPI_T_ERR_INVALID_NAME);
}

/* What does not fit is cut off, and its length is told. */
static void short_strings(void) {
  char name[5] = "xxxx";
  int length = 4;
  OK(MPI_T_cvar_get_info(cvar_named("LAPWING_WIRE"), name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK(strcmp(name, "LAP") == 0 && length == (int)sizeof "LAPWING_WIRE");
  length = 0;
  OK(MPI_T_cvar_get_info(cvar_named("LAPWING_WIRE"), name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK(strcmp(name, "LAP") == 0 && length == (int)sizeof "LAPWING_WIRE");
}

static void settings_before_start(void) {
  char value[4096];
  CHECK(write_text(cvar_named("LAPWING_UNEXPECTED_LIMIT"), "lots") == MPI_T_ERR_INVALID);
  CHECK(write_text(cvar_named("LAPWING_UNEXPECTED_LIMIT"), "12M") == MPI_SUCCESS);
  text_of(cvar_named("LAPWING_UNEXPECTED_LIMIT"), value);
  CHECK(strcmp(value, "12M") == 0);
}

static unsigned long long read_statistic(MPI_T_pvar_session session, const char* name, int class) {
  int index = -1, count = 0;
  unsigned long long value = 77;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_index(name, class, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  CHECK(count == 1);
  OK(MPI_T_pvar_read(session, handle, &value));
  CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK(MPI_T_pvar_stop(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK(MPI_T_pvar_reset(session, handle) == MPI_T_ERR_PVAR_NO_WRITE);
  CHECK(MPI_T_pvar_write(session, handle, &value) == MPI_T_ERR_PVAR_NO_WRITE);
  CHECK(MPI_T_pvar_readreset(session, handle, &value) == MPI_T_ERR_PVAR_NO_ATOMIC);
  OK(MPI_T_pvar_handle_free(session, &handle));
  CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
  return value;
}

static void all_statistics(void) {
  int count = 0, resumed = 0;
  OK(MPI_T_pvar_get_num(&count));
  CHECK(count > 20);
  for (int i = 0; i < count; ++i) {
    char name[256], meaning[1024];
    int name_length = sizeof name, meaning_length = sizeof meaning, verbosity, class, bind, read_only, continuous, atomic, index;
    MPI_Datatype type;
    MPI_T_enum none;
    OK(MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &none, meaning, &meaning_length, &bind, &read_only, &continuous, &atomic));
    CHECK(type == MPI_UNSIGNED_LONG_LONG && read_only && continuous && !atomic && strlen(meaning) > 5);
    OK(MPI_T_pvar_get_index(name, class, &index));
    CHECK(index == i);
    resumed += strcmp(name, "lapwing_connections_resumed") == 0;
  }
  CHECK(resumed == 1);
  CHECK(MPI_T_pvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
}

static void categories(void) {
  int count = 0, index, settings = 0, statistics = 0, inner, number, indices[512];
  OK(MPI_T_category_get_num(&count));
  CHECK(count == 2);
  OK(MPI_T_category_get_index("lapwing_statistics", &index));
  OK(MPI_T_category_get_info(index, NULL, NULL, NULL, NULL, &settings, &statistics, &inner));
  OK(MPI_T_pvar_get_num(&number));
  CHECK(settings == 0 && statistics == number && inner == 0);
  memset(indices, 0, sizeof indices);
  OK(MPI_T_category_get_pvars(index, 3, indices));
  CHECK(indices[2] == 2 && indices[3] == 0);
  OK(MPI_T_category_get_cvars(index, 512, indices));
  OK(MPI_T_category_get_categories(index, 512, indices));
  OK(MPI_T_category_get_events(index, 512, indices));
  OK(MPI_T_category_get_num_events(index, &number));
  CHECK(number == 0);
  OK(MPI_T_category_changed(&number));
  CHECK(MPI_T_category_get_info(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_category_get_index("nothing", &index) == MPI_T_ERR_INVALID_NAME);
}

static void what_is_none(void) {
  int number;
  unsigned long long value;
  MPI_T_pvar_session session, other;
  MPI_T_pvar_handle handle;
  MPI_T_cvar_handle control = (MPI_T_cvar_handle)&number;
  CHECK(MPI_T_cvar_read(control, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_cvar_handle_free(&control) == MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_session_create(&other));
  CHECK(MPI_T_pvar_handle_alloc(session, 9999, NULL, &handle, &number) == MPI_T_ERR_INVALID_INDEX);
  OK(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &number));
  CHECK(MPI_T_pvar_read(other, handle, &value) == MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  CHECK(MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, &value) == MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_pvar_session_free(&session));
  CHECK(session == MPI_T_PVAR_SESSION_NULL);
  CHECK(MPI_T_pvar_read(other, handle, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
  OK(MPI_T_pvar_session_free(&other));
  CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
}

/* A tool's own thread reads all the time, from before MPI_Init until after MPI_Finalize. What counts never goes back. */
static atomic_int end_of_reading;

static void* read_all_the_time(void* unused) {
  int index, count;
  unsigned long long before = 0, now;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  MPI_T_cvar_handle control;
  char text[4096];
  OK(MPI_T_cvar_handle_alloc(cvar_named("LAPWING_WIRE"), NULL, &control, &count));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_get_index("lapwing_messages_received", MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  while (!end_of_reading) {
    OK(MPI_T_pvar_read(session, handle, &now));
    CHECK(now >= before);
    before = now;
    OK(MPI_T_cvar_read(control, text));
  }
  OK(MPI_T_cvar_handle_free(&control));
  OK(MPI_T_pvar_session_free(&session));
  return unused;
}

int main(int argc, char** argv) {
  int provided, rank, size, number;
  char value[4096];
  pthread_t reader;
  MPI_T_pvar_session session;
  CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  settings_before_start();
  OK(MPI_T_pvar_session_create(&session));
  CHECK(read_statistic(session, "lapwing_messages_received", MPI_T_PVAR_CLASS_COUNTER) == 0);
  CHECK(pthread_create(&reader, NULL, read_all_the_time, NULL) == 0);
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  text_of(cvar_named("LAPWING_UNEXPECTED_LIMIT"), value);
  CHECK(strcmp(value, "12M") == 0);
  CHECK(write_text(cvar_named("LAPWING_UNEXPECTED_LIMIT"), "13M") == MPI_T_ERR_CVAR_SET_NOT_NOW);
  all_settings();
  short_strings();
  all_statistics();
  categories();
  what_is_none();
  const unsigned long long before = read_statistic(session, "lapwing_messages_received", MPI_T_PVAR_CLASS_COUNTER);
  for (int i = 0; i < 10; ++i) {
    char sent[100] = {0}, received[100];
    OK(MPI_Sendrecv(sent, 100, MPI_CHAR, (rank + 1) % size, 3, received, 100, MPI_CHAR, (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  CHECK(read_statistic(session, "lapwing_messages_received", MPI_T_PVAR_CLASS_COUNTER) >= before + 10);
  CHECK(MPI_T_pvar_get_index("lapwing_messages_received", MPI_T_PVAR_CLASS_TIMER, &number) == MPI_T_ERR_INVALID_NAME);
  read_statistic(session, "lapwing_unexpected_bytes_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK);
  CHECK(read_statistic(session, "lapwing_bytes_moved", MPI_T_PVAR_CLASS_AGGREGATE) >= 10 * 100);
  OK(MPI_Finalize());
  CHECK(read_statistic(session, "lapwing_messages_received", MPI_T_PVAR_CLASS_COUNTER) >= before + 10);
  end_of_reading = 1;
  OK(pthread_join(reader, NULL));
  CHECK(write_text(cvar_named("LAPWING_UNEXPECTED_LIMIT"), "13M") == MPI_T_ERR_CVAR_SET_NOT_NOW);
  OK(MPI_T_finalize());
  CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
  return 0;
}
