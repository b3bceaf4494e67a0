#include "base/flush_streams.h"

#include <cstdio>

namespace lapwing {

void flush_streams() noexcept {
  std::FILE* const streams[] = {stdin, stdout, stderr};
  bool locked[3], all = true;
  for (int i = 0; i < 3; ++i) {
    locked[i] = ::ftrylockfile(streams[i]) == 0;
    all &= locked[i];
  }
  if (all) std::fflush(nullptr);
  for (int i = 0; i < 3; ++i) {
    if (!locked[i]) continue;
    if (!all && streams[i] != stdin) std::fflush(streams[i]);
    ::funlockfile(streams[i]);
  }
}

}  // namespace lapwing
