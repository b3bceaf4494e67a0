#include "base/internal_error.h"

#include <cstdio>
#include <cstdlib>

namespace lapwing {

void internal_error(const char* file, int line, const char* what) noexcept {
  std::fprintf(stderr,
               "lapwing: internal error at %s:%d: %s does not hold. This is a bug in Lapwing; please report it.\n",
               file, line, what);
  std::abort();
}

}  // namespace lapwing
