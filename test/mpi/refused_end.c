/* A delete callback that refuses in MPI_Finalize: the error is told, and MPI is finalized all the same. */
#include "check.h"

static int refuse(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  return MPI_ERR_TOPOLOGY;
}

int main(int argc, char** argv) {
  int key, ended;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
  if (MPI_Finalize() != MPI_ERR_TOPOLOGY) return 2;
  return MPI_Finalized(&ended) == MPI_SUCCESS && ended ? 0 : 3;
}
