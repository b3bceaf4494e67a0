#include "base/ring_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bulk_copy.h"
#include "base/memory_order.h"
#include "base/tuning.h"

namespace lapwing {
namespace {

constexpr std::size_t kLine = 64;

// Fetches every line, as the reader will.
void read_again(const std::byte* from, std::size_t bytes) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof sum <= bytes; at += kLine) {
    std::uint64_t word;
    std::memcpy(&word, from + at, sizeof word);
    sum += word;
  }
  asm volatile("" : : "r"(sum));  // or the compiler leaves it out
}

// What a byte takes on its way into memory of this thread's own, which is in its cache as the source is.
double time_of_private_copy(Clock& clock, const std::byte* from, std::size_t bytes) noexcept {
  alignas(kLine) std::byte own[RingTrial::kLeast];
  const std::size_t copied = std::min(bytes, sizeof own);
  std::int64_t began = 0;
  for (int turn = 0; turn < 2; ++turn) {  // the first one finds the memory cold
    began = clock.now();
    std::memcpy(own, from, copied);
    asm volatile("" : : "r"(own) : "memory");  // or the compiler leaves it out
    full_fence();
  }
  return static_cast<double>(clock.now() - began) / static_cast<double>(copied);
}

void copy_by(bool past_caches, MeasuredCopy& copy, Clock& clock, std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (past_caches)
    streaming_copy(to, from, bytes);
  else
    copy(clock, to, from, bytes);
}

void copy_and_tell(RingTrial& trial, bool past, MeasuredCopy& copy, Clock& clock, std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const bool timed = trial.timing();
  const std::int64_t began = timed ? clock.now() : 0;
  copy_by(past, copy, clock, to, from, bytes);
  if (!timed) return trial.copied(bytes);
  full_fence();
  const std::int64_t written = clock.now();
  const bool again = past && trial.reads_again();
  if (again) read_again(to, bytes);
  const std::int64_t read = again ? clock.now() : written;
  if (trial.wants_private()) trial.private_copy(time_of_private_copy(clock, from, bytes));
  trial.timed(bytes, static_cast<double>(written - began), static_cast<double>(read - written));
}

}  // namespace

bool goes_past_caches(const RingTrials& trials, std::uint64_t message, const std::byte* to, std::size_t bytes) noexcept {
  return trials.way(message) == RingTrials::Way::kPastCaches && bytes >= tuning().shm_least_past_caches &&
         reinterpret_cast<std::uintptr_t>(to) % kLine == 0;
}

void copy_into_ring(RingTrials& trials, std::uint64_t message, MeasuredCopy& copy, Clock& clock, std::byte* to, const std::byte* from,
                    std::size_t bytes) noexcept {
  RingTrial* const trial = trials.of(message);
  const bool past = goes_past_caches(trials, message, to, bytes);
  if (trial == nullptr) return copy_by(past, copy, clock, to, from, bytes);
  copy_and_tell(*trial, past, copy, clock, to, from, bytes);
  trials.count(message, bytes);
}

}  // namespace lapwing
