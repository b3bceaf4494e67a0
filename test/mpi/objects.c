/* Attributes, info objects, error handlers, error codes, sessions and memory: what needs no message. */
#include "check.h"

static int rank, size;

/* ---- Attributes */

static int copies, deletions, order[8];

static int copy_plus_one(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  CHECK(extra == &copies);
  ++copies;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int note_deletion(MPI_Comm comm, int keyval, void* value, void* extra) {
  order[deletions++] = (int)(MPI_Aint)value;
  return MPI_SUCCESS;
}
static int refuse_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  return MPI_ERR_OTHER;
}
static int refuse_deletion(MPI_Comm comm, int keyval, void* value, void* extra) {
  return *(int*)value ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static void attributes(void) {
  int key, other, flag, *bound, stubborn = 1;
  void* value;
  MPI_Comm comm, copy;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag));
  CHECK(flag && *bound >= 32767);
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_create_keyval(copy_plus_one, note_deletion, &key, &copies));
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, note_deletion, &other, NULL));
  OK(MPI_Comm_get_attr(comm, key, &value, &flag));
  CHECK(!flag);
  OK(MPI_Comm_set_attr(comm, key, (void*)5));
  OK(MPI_Comm_set_attr(comm, other, (void*)20));
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_get_attr(copy, key, &value, &flag));
  CHECK(flag && value == (void*)6 && copies == 1);
  OK(MPI_Comm_get_attr(copy, other, &value, &flag));
  CHECK(flag && value == (void*)20);
  OK(MPI_Comm_free(&copy));
  CHECK(deletions == 2 && order[0] == 20 && order[1] == 6);
  OK(MPI_Comm_delete_attr(comm, key));
  CHECK(deletions == 3 && order[2] == 5);
  FAILS(MPI_Comm_delete_attr(comm, key), MPI_ERR_KEYVAL);
  OK(MPI_Comm_free_keyval(&key));
  CHECK(key == MPI_KEYVAL_INVALID);
  FAILS(MPI_Comm_get_attr(comm, key, &value, &flag), MPI_ERR_KEYVAL);
  FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL);
  OK(MPI_Comm_free_keyval(&other));
  OK(MPI_Comm_free(&comm));
  CHECK(deletions == 4);

  /* Callbacks that refuse. */
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_create_keyval(refuse_copy, refuse_deletion, &key, NULL));
  OK(MPI_Comm_set_attr(comm, key, &stubborn));
  FAILS(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
  MPI_Request request;
  copy = comm;
  FAILS(MPI_Comm_idup(comm, &copy, &request), MPI_ERR_OTHER);
  CHECK(copy == MPI_COMM_NULL);
  FAILS(MPI_Comm_free(&comm), MPI_ERR_INTERN);
  CHECK(comm != MPI_COMM_NULL);
  stubborn = 0;
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free_keyval(&key));
}

/* A keyval that was freed lives on in the attributes that use it: they are read, set anew, copied and deleted under the old value. */
static void freed_keyval(void) {
  int key, used, flag, fresh, unused;
  void* value;
  MPI_Comm comm, copy;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_create_keyval(copy_plus_one, note_deletion, &key, &copies));
  copies = deletions = 0;
  used = key;
  OK(MPI_Comm_set_attr(comm, key, (void*)3));
  OK(MPI_Comm_free_keyval(&key));
  CHECK(key == MPI_KEYVAL_INVALID);
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &fresh, NULL));
  CHECK(fresh != used); /* its number is not given out again */
  OK(MPI_Comm_get_attr(comm, used, &value, &flag));
  CHECK(flag && value == (void*)3);
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_get_attr(copy, used, &value, &flag));
  CHECK(flag && value == (void*)4 && copies == 1);
  OK(MPI_Comm_delete_attr(comm, used));
  CHECK(deletions == 1 && order[0] == 3);
  OK(MPI_Comm_get_attr(comm, used, &value, &flag)); /* `copy` still has one */
  CHECK(!flag);
  OK(MPI_Comm_set_attr(copy, used, (void*)6));
  CHECK(deletions == 2 && order[1] == 4);
  unused = used;
  OK(MPI_Comm_free_keyval(&unused)); /* once more, while it is in use: a delete callback may do so */
  OK(MPI_Comm_free(&copy));
  CHECK(deletions == 3 && order[2] == 6);
  unused = used;
  FAILS(MPI_Comm_free_keyval(&unused), MPI_ERR_KEYVAL);
  FAILS(MPI_Comm_get_attr(comm, used, &value, &flag), MPI_ERR_KEYVAL);
  FAILS(MPI_Comm_delete_attr(comm, used), MPI_ERR_KEYVAL);
  FAILS(MPI_Comm_set_attr(comm, used, (void*)5), MPI_ERR_KEYVAL);
  OK(MPI_Comm_free_keyval(&fresh));
  OK(MPI_Comm_free(&comm));
}

static int type_deletions;
static int note_type_deletion(MPI_Datatype type, int keyval, void* value, void* extra) {
  ++type_deletions;
  return MPI_SUCCESS;
}

static void type_attributes(void) {
  int key, flag;
  void* value;
  MPI_Datatype type, copy;
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, note_type_deletion, &key, NULL));
  OK(MPI_Type_set_attr(type, key, &size));
  OK(MPI_Type_dup(type, &copy));
  OK(MPI_Type_get_attr(copy, key, &value, &flag));
  CHECK(flag && value == &size);
  OK(MPI_Type_free(&copy));
  const int used = key;
  OK(MPI_Type_free_keyval(&key));
  OK(MPI_Type_get_attr(type, used, &value, &flag));
  CHECK(flag && value == &size);
  OK(MPI_Type_delete_attr(type, used));
  CHECK(type_deletions == 2);
  FAILS(MPI_Type_get_attr(type, used, &value, &flag), MPI_ERR_KEYVAL);
  OK(MPI_Type_free(&type));
}

/* Attributes of MPI_COMM_SELF are deleted when MPI_Finalize begins, the last one first, and MPI still works then. */
static int finalize_steps;
static int at_finalize(MPI_Comm comm, int keyval, void* value, void* extra) {
  int done = 1, token = 0;
  OK(MPI_Finalized(&done));
  CHECK(!done);
  OK(MPI_Allreduce(&rank, &token, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK((int)(MPI_Aint)value == 2 - finalize_steps++);
  return MPI_SUCCESS;
}

static void prepare_finalize(void) {
  int keys[2];
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &keys[i], NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], (void*)(MPI_Aint)(i + 1)));
  }
}

/* ---- Info */

static void infos(void) {
  MPI_Info info, copy;
  char value[32], key[MPI_MAX_INFO_KEY];
  int flag, n, length = 3;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "first", "one"));
  OK(MPI_Info_set(info, "second", "a longer value"));
  OK(MPI_Info_get_nkeys(info, &n));
  CHECK(n == 2);
  OK(MPI_Info_get_nthkey(info, 1, key));
  CHECK(strcmp(key, "second") == 0);
  OK(MPI_Info_get_string(info, "second", &length, value, &flag));
  CHECK(flag && length == 15 && strcmp(value, "a ") == 0);
  length = 0;
  OK(MPI_Info_get_string(info, "second", &length, NULL, &flag));
  CHECK(flag && length == 15);
  FAILS(MPI_Info_get_string(info, "second", &length, NULL, &flag), MPI_ERR_ARG);
  OK(MPI_Info_get(info, "second", 4, value, &flag));
  CHECK(flag && strcmp(value, "a lo") == 0);
  OK(MPI_Info_get_valuelen(info, "first", &length, &flag));
  CHECK(flag && length == 3);
  OK(MPI_Info_dup(info, &copy));
  OK(MPI_Info_delete(info, "first"));
  OK(MPI_Info_get_string(copy, "first", &length, value, &flag));
  CHECK(flag);
  FAILS(MPI_Info_delete(info, "first"), MPI_ERR_INFO_NOKEY);
  FAILS(MPI_Info_get_nthkey(info, 1, key), MPI_ERR_ARG);
  FAILS(MPI_Info_set(info, "", "x"), MPI_ERR_INFO_KEY);
  OK(MPI_Info_set(info, "empty", ""));
  length = sizeof value;
  OK(MPI_Info_get_string(info, "empty", &length, value, &flag));
  CHECK(flag && length == 1 && value[0] == 0);
  OK(MPI_Info_free(&info));
  OK(MPI_Info_free(&copy));
  CHECK(info == MPI_INFO_NULL);
}

/* MPI_Info_create_env gives the same before, while and after MPI runs; so does MPI_INFO_ENV while it runs. */
static MPI_Info environment_before;

static int same_infos(MPI_Info a, MPI_Info b) {
  char key[MPI_MAX_INFO_KEY];
  static char of_a[MPI_MAX_INFO_VAL + 1], of_b[MPI_MAX_INFO_VAL + 1];
  int keys_a, keys_b, flag;
  OK(MPI_Info_get_nkeys(a, &keys_a));
  OK(MPI_Info_get_nkeys(b, &keys_b));
  for (int n = 0; n < keys_a; ++n) {
    int room_a = sizeof of_a, room_b = sizeof of_b;
    OK(MPI_Info_get_nthkey(a, n, key));
    OK(MPI_Info_get_string(a, key, &room_a, of_a, &flag));
    OK(MPI_Info_get_string(b, key, &room_b, of_b, &flag));
    if (!flag || strcmp(of_a, of_b) != 0) return 0;
  }
  return keys_a == keys_b && keys_a > 0;
}

static void environment(int argc, char** argv) {
  MPI_Info now;
  char value[16];
  int flag, length = sizeof value;
  OK(MPI_Info_create_env(argc, argv, &now));
  CHECK(same_infos(now, environment_before));
  OK(MPI_Info_get_string(now, "maxprocs", &length, value, &flag));
  CHECK(flag && atoi(value) == size);
  OK(MPI_Info_free(&now));
}

/* ---- Errors */

static int handled, last_code;
static MPI_Comm handled_comm;
static void handle(MPI_Comm* comm, int* code, ...) {
  ++handled;
  last_code = *code;
  handled_comm = *comm;
}

static void error_handlers(void) {
  MPI_Errhandler handler, got;
  MPI_Comm comm, child;
  char text[MPI_MAX_ERROR_STRING];
  int length, n;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_create_errhandler(handle, &handler));
  OK(MPI_Comm_set_errhandler(comm, handler));
  OK(MPI_Comm_get_errhandler(comm, &got));
  CHECK(got == handler);
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Errhandler_free(&handler));
  CHECK(handler == MPI_ERRHANDLER_NULL);
  OK(MPI_Comm_dup(comm, &child)); /* inherits it */
  FAILS(MPI_Cartdim_get(child, &n), MPI_ERR_TOPOLOGY);
  CHECK(handled == 1 && last_code == MPI_ERR_TOPOLOGY && handled_comm == child);
  OK(MPI_Error_string(MPI_ERR_TOPOLOGY, text, &length));
  CHECK(strstr(text, "MPI_Cartdim_get") != NULL);
  OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
  CHECK(handled == 2 && last_code == MPI_ERR_OTHER && handled_comm == comm);
  OK(MPI_Comm_free(&comm));
  FAILS(MPI_Comm_remote_size(child, &n), MPI_ERR_COMM);
  CHECK(handled == 3);
  MPI_Message message; /* of child's, which no argument names */
  MPI_Request request;
  OK(MPI_Isend(&n, 1, MPI_INT, 0, 1, child, &request));
  OK(MPI_Mprobe(0, 1, child, &message, MPI_STATUS_IGNORE));
  FAILS(MPI_Mrecv(&n, -1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  CHECK(handled == 4 && last_code == MPI_ERR_COUNT && handled_comm == child);
  OK(MPI_Mrecv(&n, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_free(&child));
}

/* A callback that fails with the program's own class or code: callers get it, with exactly the program's text. */
static int refuse_with(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  return *(int*)in;
}

static void own_text_of(int error, const char* wanted) {
  char text[MPI_MAX_ERROR_STRING];
  int key, length;
  MPI_Comm comm, copy;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  OK(MPI_Comm_create_keyval(refuse_with, MPI_COMM_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Comm_set_attr(comm, key, &error));
  CHECK(MPI_Comm_dup(comm, &copy) == error);
  OK(MPI_Error_string(error, text, &length));
  CHECK(strcmp(text, wanted) == 0 && length == (int)strlen(wanted));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free_keyval(&key));
}

static void own_texts(void) {
  int error_class, code, textless, length;
  char text[MPI_MAX_ERROR_STRING];
  OK(MPI_Add_error_class(&error_class));
  OK(MPI_Add_error_code(error_class, &code));
  OK(MPI_Add_error_code(error_class, &textless));
  OK(MPI_Add_error_string(error_class, "trouble with the kitchen"));
  OK(MPI_Add_error_string(code, "the oven is cold"));
  own_text_of(error_class, "trouble with the kitchen");
  own_text_of(code, "the oven is cold");
  OK(MPI_Error_string(textless, text, &length));
  CHECK(length == 0 && text[0] == 0); /* the standard's word: an empty string where none was added */
}

static void error_codes(void) {
  int error_class, code, found, *last, flag, length;
  char text[MPI_MAX_ERROR_STRING];
  OK(MPI_Add_error_class(&error_class));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last == error_class && error_class > MPI_ERR_LASTCODE);
  OK(MPI_Add_error_code(error_class, &code));
  OK(MPI_Add_error_string(code, "the oven is cold"));
  OK(MPI_Error_class(code, &found));
  CHECK(found == error_class && *last == code);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strcmp(text, "the oven is cold") == 0 && length == 16);
  FAILS(MPI_Remove_error_class(error_class), MPI_ERR_ARG);
  OK(MPI_Remove_error_string(code));
  OK(MPI_Remove_error_code(code));
  OK(MPI_Remove_error_class(error_class));
}

/* ---- Sessions and the rest */

static void sessions(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Info info;
  char name[64], value[16];
  int n, length = 0, flag, space = sizeof value;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
  CHECK(n == 2);
  OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL));
  CHECK(length == 12);
  OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name));
  CHECK(strcmp(name, "mpi://WORLD") == 0);
  OK(MPI_Session_get_pset_info(session, name, &info));
  OK(MPI_Info_get_string(info, "mpi_size", &space, value, &flag));
  CHECK(flag && atoi(value) == size);
  OK(MPI_Info_free(&info));
  OK(MPI_Group_from_session_pset(session, name, &group));
  OK(MPI_Group_size(group, &n));
  CHECK(n == size);
  OK(MPI_Group_free(&group));
  FAILS(MPI_Group_from_session_pset(session, "mpi://MOON", &group), MPI_ERR_ARG);
  FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 2, &length, name), MPI_ERR_ARG);
  OK(MPI_Session_get_info(session, &info));
  OK(MPI_Info_free(&info));
  OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
  OK(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
}

static void memory(void) {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length;
  void* base = NULL;
  OK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &base));
  CHECK(base != NULL);
  memset(base, 1, 1000);
  OK(MPI_Free_mem(base));
  FAILS(MPI_Alloc_mem(-1, MPI_INFO_NULL, &base), MPI_ERR_ARG);
  OK(MPI_Get_processor_name(name, &length));
  CHECK((int)strlen(name) == length && length > 0);
}

static void add_up(void* in, void* in_out, int* length, MPI_Datatype* type) {
  (void)in, (void)in_out, (void)length, (void)type;
}

/* Equal handles have one number, which goes with the last of them. */
static void numbers_of_handles(void) {
  MPI_Group group, same;
  MPI_Errhandler handler, got;
  MPI_Op op;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &same));
  int number = MPI_Group_toint(group);
  OK(MPI_Group_free(&group));
  CHECK(MPI_Group_fromint(number) == same);
  OK(MPI_Group_free(&same));
  CHECK(MPI_Group_fromint(number) == MPI_GROUP_NULL);
  OK(MPI_Comm_create_errhandler(handle, &handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
  number = MPI_Errhandler_toint(handler);
  OK(MPI_Errhandler_free(&handler));
  CHECK(MPI_Errhandler_fromint(number) == got);
  OK(MPI_Errhandler_free(&got));
  CHECK(MPI_Errhandler_fromint(number) == MPI_ERRHANDLER_NULL);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Op_create(add_up, 1, &op));
  number = MPI_Op_toint(op);
  OK(MPI_Op_free(&op));
  CHECK(MPI_Op_fromint(number) == MPI_OP_NULL);
}

int main(int argc, char** argv) {
  OK(MPI_Info_create_env(argc, argv, &environment_before));
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  attributes();
  freed_keyval();
  type_attributes();
  infos();
  environment(argc, argv);
  error_handlers();
  numbers_of_handles();
  error_codes();
  own_texts();
  sessions();
  memory();
  prepare_finalize();
  OK(MPI_Finalize());
  environment(argc, argv);
  OK(MPI_Info_free(&environment_before));
  return finalize_steps == 2 ? 0 : 1;
}
