#include "base/delay_point.h"

#if defined(LAPWING_DELAY_POINTS)

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/futex.h"

namespace lapwing {
namespace {

// The finalizer of splitmix64: every bit of the input moves every bit of the output.
std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// 0 without a variable of that name.
std::uint64_t number_in_environment(const char* name) noexcept {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

// 0: no delays. Ranks that share a seed and a host take different turns.
std::uint64_t process_seed() noexcept {
  static const std::uint64_t seed = [] {
    const std::uint64_t given = number_in_environment("LAPWING_DELAY_SEED");
    return given == 0 ? 0 : mix(given) | 1;
  }();
  return seed;
}

std::uint64_t next_random() noexcept {
  static const std::uint64_t rank = number_in_environment("PMI_RANK");
  static std::atomic<std::uint64_t> threads{0};
  thread_local std::uint64_t state =
      process_seed() + mix(rank << 32 | threads.fetch_add(1, std::memory_order_relaxed));
  return mix(state += 0x9e3779b97f4a7c15u);
}

// One passage in how many is delayed: most points rarely, one in four often.
std::uint64_t passages_per_delay(const char* name) noexcept {
  std::uint64_t hash = process_seed();
  for (; *name != '\0'; ++name) hash = mix(hash ^ static_cast<unsigned char>(*name));
  return hash % 4 == 0 ? 8 : 256;
}

void sleep_for(long nanoseconds) noexcept {
  const timespec time{0, nanoseconds};
  ::nanosleep(&time, nullptr);
}

}  // namespace

void delay_point(const char* name) noexcept {
  if (process_seed() == 0) return;
  const std::uint64_t random = next_random();
  if (random % passages_per_delay(name) != 0) return;
  const int error = errno;  // the caller may be between a system call and its look at errno
  const std::uint64_t kind = (random >> 32) % 64;
  if (kind < 32) {
    sched_yield();
  } else if (kind < 48) {
    for (std::uint64_t turns = (random >> 40) % 1000; turns > 0; --turns) cpu_relax();
  } else if (kind < 63) {
    sleep_for(static_cast<long>((random >> 40) % 100'000));
  } else {
    sleep_for(2'000'000);  // longer than the lazy timer
  }
  errno = error;
}

}  // namespace lapwing

#endif
