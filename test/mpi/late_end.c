/* The last rank comes to MPI_Finalize when all others have been there for a while, each of which it has sent messages that were received: it must
 * know that they have come, and nothing else is under way between the ranks. A second is long enough for their event threads to come to rest. */
#include "check.h"

#include <unistd.h>

enum { kMostMessages = 1000 };

int main(int argc, char** argv) {
  int rank, size, content = 0;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int last = size - 1;
  for (int messages = 1; messages <= kMostMessages; messages *= 10) {
    for (int i = 0; i < messages; ++i) {
      if (rank == last)
        for (int dest = 0; dest < last; ++dest) OK(MPI_Send(&i, 1, MPI_INT, dest, 0, MPI_COMM_WORLD));
      else
        OK(MPI_Recv(&content, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(rank == last || content == i);
    }
  }
  if (rank == last) sleep(1);
  OK(MPI_Finalize());
  return 0;
}
