// The limit of open files (ulimit -n). Systems set the soft limit low, for programs that use select(), and the hard limit
// high, for those that know better; a job that needs more raises the soft limit as far as it needs, and no further.
#pragma once

#include <sys/resource.h>

#include <cstddef>

namespace lapwing {

// Makes room for `descriptors` open files if the hard limit allows it, as far as it allows. Returns the limits before.
rlimit make_room_for_descriptors(std::size_t descriptors) noexcept;

}  // namespace lapwing
