// A full fence for two sides of which one passes millions of times a second and the other seldom (Linux: membarrier).
//
// The flag dance of memory_order.h needs a fence on both sides. Here the busy side has none but the compiler's, and the seldom side
// lets the kernel run one on every processor where a thread of this process is running: half a microsecond, or ten where that
// interrupts a processor of a virtual machine; against the six nanoseconds that a fence takes each time.
#pragma once

#include <atomic>

#include "base/memory_order.h"

namespace lapwing {

class AsymmetricFence {
 public:
  // Before there are several threads. Where the kernel has no such thing, or would make a process with threads wait for milliseconds,
  // both sides stay ordinary fences.
  void enable() noexcept;

  void light() const noexcept {
    if (!enabled_) return full_fence();
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void heavy() const noexcept {
    full_fence();
    if (enabled_) fence_everywhere();
  }

 private:
  static void fence_everywhere() noexcept;
  bool enabled_ = false;
};

}  // namespace lapwing
