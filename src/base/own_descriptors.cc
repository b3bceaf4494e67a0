#include "base/own_descriptors.h"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lapwing {
namespace {

// What lies beyond is not noted: no job comes near. Words that were never written take no memory.
constexpr std::size_t kMost = std::size_t{1} << 20;
std::atomic<std::uint64_t> noted[kMost / 64];
std::atomic<std::size_t> words_used{0};

std::uint64_t bit_of(int fd) noexcept {
  return std::uint64_t{1} << (fd % 64);
}
bool in_range(int fd) noexcept {
  return fd >= 0 && static_cast<std::size_t>(fd) < kMost;
}

}  // namespace

void own_descriptor(int fd) noexcept {
  if (!in_range(fd)) return;
  const std::size_t word = static_cast<std::size_t>(fd) / 64;
  noted[word].fetch_or(bit_of(fd), std::memory_order_relaxed);
  std::size_t used = words_used.load(std::memory_order_relaxed);
  while (used <= word && !words_used.compare_exchange_weak(used, word + 1, std::memory_order_relaxed)) {
  }
}

// Forgotten first: a fork in between must not see the number noted when it is free for another file.
void close_own_descriptor(int fd) noexcept {
  if (in_range(fd)) noted[static_cast<std::size_t>(fd) / 64].fetch_and(~bit_of(fd), std::memory_order_relaxed);
  if (fd >= 0) ::close(fd);
}

void close_own_descriptors() noexcept {
  const std::size_t used = words_used.load(std::memory_order_relaxed);
  for (std::size_t word = 0; word < used; ++word) {
    std::uint64_t left = noted[word].exchange(0, std::memory_order_relaxed);
    for (; left != 0; left &= left - 1) ::close(static_cast<int>(word * 64) + __builtin_ctzll(left));
  }
}

}  // namespace lapwing
