// The futex system call, for words private to this process, and for words that processes share.
#pragma once

#include <atomic>
#include <cstdint>

namespace lapwing {

// Sleeps while `word` holds `expected`; returns at once if it does not. May return spuriously.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;
// The same, for at most `nanoseconds`.
void futex_wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t nanoseconds) noexcept;
void futex_wake(std::atomic<std::uint32_t>& word, int how_many) noexcept;

// The same for a word in memory that several processes map.
void futex_wait_shared_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t nanoseconds) noexcept;
void futex_wake_shared(std::atomic<std::uint32_t>& word, int how_many) noexcept;

// Tells the processor that this is a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace lapwing
