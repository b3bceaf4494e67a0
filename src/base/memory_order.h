// Memory ordering between threads and processes that share words: every ordered access of the house is spelled here, and
// each use says in a comment what it pairs with. No processor's own order is assumed (aarch64 reorders what x86 does not).
//
//   publish      writer: write the data, store_release(index)      reader: load_acquire(index), read the data
//   flag dance   each side: store_relaxed(own word), full_fence(), load_relaxed(other's word)
//                At least one of the two sees what the other stored, so "I sleep" and "there is work" cannot miss each other.
#pragma once

#include <atomic>
#include <cstdint>

namespace lapwing {

// Words in memory shared by processes: without a lock inside, whatever maps them.
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

template <typename T>
T load_relaxed(const std::atomic<T>& word) noexcept {
  return word.load(std::memory_order_relaxed);
}

template <typename T>
T load_acquire(const std::atomic<T>& word) noexcept {
  return word.load(std::memory_order_acquire);
}

template <typename T>
void store_relaxed(std::atomic<T>& word, T value) noexcept {
  word.store(value, std::memory_order_relaxed);
}

template <typename T>
void store_release(std::atomic<T>& word, T value) noexcept {
  word.store(value, std::memory_order_release);
}

// Orders every access before it against every access after it, stores against later loads included.
inline void full_fence() noexcept {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer knows no fences (GCC refuses them under it). It loses nothing: data is always handed over by
  // store_release and load_acquire, a fence only orders flags. The processor still needs it.
#if defined(__x86_64__)
  asm volatile("mfence" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dmb ish" ::: "memory");
#else
#error "full_fence() under ThreadSanitizer: unknown processor"
#endif
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace lapwing
