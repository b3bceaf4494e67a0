#include "base/descriptor_limit.h"

#include <algorithm>

namespace lapwing {

rlimit make_room_for_descriptors(std::size_t descriptors) noexcept {
  rlimit before{RLIM_INFINITY, RLIM_INFINITY};
  if (getrlimit(RLIMIT_NOFILE, &before) != 0) return before;
  const rlimit wanted{std::min<rlim_t>(descriptors, before.rlim_max), before.rlim_max};
  if (wanted.rlim_cur > before.rlim_cur) setrlimit(RLIMIT_NOFILE, &wanted);
  return before;
}

}  // namespace lapwing
