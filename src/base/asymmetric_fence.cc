#include "base/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/internal_error.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace lapwing {
namespace {

bool has_threads() noexcept {
#if __has_include(<sys/single_threaded.h>)
  return !__libc_single_threaded;
#else
  return true;
#endif
}

}  // namespace

void AsymmetricFence::enable() noexcept {
  if (has_threads()) return;
  enabled_ = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void AsymmetricFence::fence_everywhere() noexcept {
  LAPWING_CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
}

}  // namespace lapwing
