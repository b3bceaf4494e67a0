/* A long message into memory that the program does not have, and one out of such memory: where the kernel finds that out, the call says so, and the
   other rank goes on or hears that the connection has ended. "receive" or "send". */
#include "check.h"

#include <sys/mman.h>

enum { kBytes = 1 << 20 };

static void expect_memory_named(int code, const char* call) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  FAILS(code, MPI_ERR_BUFFER);
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, call) != NULL && strstr(text, "look at the buffer") != NULL);
}

int main(int argc, char** argv) {
  int rank;
  CHECK(argc == 2);
  const int receives = strcmp(argv[1], "receive") == 0;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  char* const buffer = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(buffer != MAP_FAILED);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == (receives ? 1 : 0)) CHECK(mprotect(buffer + kBytes / 2, kBytes / 2, PROT_NONE) == 0); /* the first bytes the library may touch itself */
  int code;
  if (rank == 0) {
    OK(MPI_Recv(NULL, 0, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    code = MPI_Send(buffer, kBytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Request request;
    OK(MPI_Irecv(buffer, kBytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Send(NULL, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD));
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (receives && rank == 1) expect_memory_named(code, "MPI_Wait");
  if (!receives && rank == 0) expect_memory_named(code, "MPI_Send");
  if (!receives && rank == 1) FAILS(code, MPI_ERR_PROC_ABORTED);
  OK(MPI_Finalize());
  return 0;
}
