// Names a process so that another one of the same host can watch it: its id, and what tells it from a later process with the
// same id. Only within one pid namespace does that mean anything.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "net/shm/owned_fd.h"

namespace lapwing::net::shm {

struct ProcessName {
  pid_t pid = 0;
  std::uint64_t pid_namespace = 0;  // 0: unknown
  std::uint64_t start_time = 0;     // as the kernel counts it, in ticks since the host's start; 0: unknown

  static ProcessName of_this_process();
  bool operator==(const ProcessName&) const = default;
};

enum class Watched { kYes, kEnded, kImpossible };
// With kYes, `end` is a descriptor (pidfd) that becomes readable when the process ends, even while another holds what it had open.
Watched watch_process(const ProcessName& process, OwnedFd& end);
// Whether it has ended for certain.
bool has_ended(const ProcessName& process);

}  // namespace lapwing::net::shm
