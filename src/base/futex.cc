#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace lapwing {
namespace {

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) noexcept {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

timespec duration(std::int64_t nanoseconds) noexcept {
  return {static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
}

}  // namespace

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  futex(word, FUTEX_WAIT_PRIVATE, expected, nullptr);
}

void futex_wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t nanoseconds) noexcept {
  const timespec timeout = duration(nanoseconds);
  futex(word, FUTEX_WAIT_PRIVATE, expected, &timeout);
}

void futex_wake(std::atomic<std::uint32_t>& word, int how_many) noexcept {
  futex(word, FUTEX_WAKE_PRIVATE, static_cast<std::uint32_t>(how_many), nullptr);
}

void futex_wait_shared_for(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t nanoseconds) noexcept {
  const timespec timeout = duration(nanoseconds);
  futex(word, FUTEX_WAIT, expected, &timeout);
}

void futex_wake_shared(std::atomic<std::uint32_t>& word, int how_many) noexcept {
  futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(how_many), nullptr);
}

}  // namespace lapwing
