// How often this rank asked the kernel for something on the way of its messages, for LAPWING_STATS=1. Making and ending
// connections is left out. Plain numbers, counted with the endpoint's lock held.
#pragma once

#include <cstdint>

namespace lapwing::engine {

struct SystemCalls {
  std::uint64_t sends = 0;          // sendmsg
  std::uint64_t receives = 0;       // recvmsg, also in vain
  std::uint64_t copies = 0;         // process_vm_readv
  std::uint64_t polls = 0;          // epoll_wait that returns at once
  std::uint64_t sleeps = 0;         // epoll_wait that sleeps, and futex
  std::uint64_t watches = 0;        // epoll_ctl
  std::uint64_t notifications = 0;  // of an eventfd: written to wake a thread, or read to silence it
  std::uint64_t timers = 0;         // timerfd_settime
  std::uint64_t yields = 0;         // sched_yield

  std::uint64_t total() const noexcept {
    return sends + receives + copies + polls + sleeps + watches + notifications + timers + yields;
  }
};

}  // namespace lapwing::engine
