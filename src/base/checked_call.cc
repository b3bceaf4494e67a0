#include "base/checked_call.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/internal_error.h"

namespace lapwing {

void call_failed(const char* file, int line, const char* call) noexcept {
  if (errno != EBADF) internal_error(file, line, call);
  std::fprintf(stderr,
               "lapwing: fatal error, pid %d: a descriptor of the MPI library is not open any more. The program, or another library in it, has "
               "closed descriptors that it had not opened itself; while MPI runs it may close none but its own.\n",
               static_cast<int>(::getpid()));
  std::abort();
}

}  // namespace lapwing
