// Hints to the processor: which cache lines will be needed.
#pragma once

namespace lapwing {

// The line will be written to: fetches it and takes it away from other cores.
inline void prefetch_for_writing(void* address) noexcept {
#if defined(__x86_64__)
  // Compilers give the plain hint, which leaves the line with the others, unless told of a newer processor. Older ones ignore this.
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

// The line will be read.
inline void prefetch_for_reading(const void* address) noexcept { __builtin_prefetch(address); }

}  // namespace lapwing
