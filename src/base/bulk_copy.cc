#include "base/bulk_copy.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>

namespace lapwing {
namespace {

// Copies most of the bytes, in steps; how many.
std::size_t copy_words(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  struct Step {
    std::uint64_t words[8];
  };
  std::size_t done = 0;
  for (; done + sizeof(Step) <= bytes; done += sizeof(Step)) {
    Step step;
    std::memcpy(&step, from + done, sizeof step);
    std::memcpy(to + done, &step, sizeof step);
    asm volatile("" ::: "memory");  // or the compiler makes the loop a call of memcpy
  }
  return done;
}

constexpr std::size_t kLine = 64;

// A line at a time; see claiming_copy(). How many bytes.
std::size_t copy_and_claim_words(std::byte* to, std::byte* from, std::size_t bytes, std::size_t word) noexcept {
  constexpr std::uint64_t kZero = 0;
  std::size_t done = 0;
  for (; done + kLine <= bytes; done += kLine) {
    copy_words(to + done, from + done, kLine);
    std::memcpy(from + done + word, &kZero, sizeof kZero);
  }
  return done;
}

using CopyAndClaim = std::size_t (*)(std::byte*, std::byte*, std::size_t, std::size_t) noexcept;
using CopyVectors = std::size_t (*)(std::byte*, const std::byte*, std::size_t) noexcept;

#if defined(__x86_64__)
[[gnu::target("avx2")]] std::size_t copy_avx2(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t kStep = 4 * sizeof(__m256i);
  std::size_t done = 0;
  for (; done + kStep <= bytes; done += kStep) {
    const auto* source = reinterpret_cast<const __m256i*>(from + done);
    auto* target = reinterpret_cast<__m256i*>(to + done);
    const __m256i first = _mm256_loadu_si256(source), second = _mm256_loadu_si256(source + 1);
    const __m256i third = _mm256_loadu_si256(source + 2), fourth = _mm256_loadu_si256(source + 3);
    _mm256_storeu_si256(target, first);
    _mm256_storeu_si256(target + 1, second);
    _mm256_storeu_si256(target + 2, third);
    _mm256_storeu_si256(target + 3, fourth);
  }
  return done;
}

[[gnu::target("avx2")]] std::size_t copy_and_claim_avx2(std::byte* to, std::byte* from, std::size_t bytes, std::size_t word) noexcept {
  constexpr std::uint64_t kZero = 0;
  std::size_t done = 0;
  for (; done + kLine <= bytes; done += kLine) {
    const auto* source = reinterpret_cast<const __m256i*>(from + done);
    auto* target = reinterpret_cast<__m256i*>(to + done);
    const __m256i first = _mm256_loadu_si256(source), second = _mm256_loadu_si256(source + 1);
    _mm256_storeu_si256(target, first);
    _mm256_storeu_si256(target + 1, second);
    std::memcpy(from + done + word, &kZero, sizeof kZero);
  }
  return done;
}

bool has_avx2() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
}
CopyVectors choose() noexcept {
  return has_avx2() ? copy_avx2 : copy_words;
}
CopyAndClaim choose_claiming() noexcept {
  return has_avx2() ? copy_and_claim_avx2 : copy_and_claim_words;
}
#else
CopyVectors choose() noexcept {
  return copy_words;
}
CopyAndClaim choose_claiming() noexcept {
  return copy_and_claim_words;
}
#endif

const CopyVectors copy_most = choose();
const CopyAndClaim copy_and_claim = choose_claiming();

}  // namespace

void bulk_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const std::size_t done = bytes < kBulkCopy ? 0 : copy_most(to, from, bytes);
  std::memcpy(to + done, from + done, bytes - done);
}

std::size_t claiming_copy(std::byte* to, std::byte* from, std::size_t bytes, std::size_t word) noexcept {
  const std::size_t claimed = copy_and_claim(to, from, bytes, word);
  std::memcpy(to + claimed, from + claimed, bytes - claimed);
  return claimed;
}

#if defined(__x86_64__)
void string_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

bool string_copy_stumbles() noexcept {
  static const bool stumbles = [] {
    constexpr std::size_t kPage = 4096, kBytes = 2048, kBehind = 16, kTurns = 5;
    constexpr std::int64_t kManyTimes = 4;
    alignas(kPage) static std::byte memory[3 * kPage];
    const auto best = [](std::byte* to) {  // ns
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (std::size_t turn = 0; turn < kTurns; ++turn) {
        const auto began = std::chrono::steady_clock::now();
        string_copy(to, memory, kBytes);
        least = std::min<std::int64_t>(least, std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count());
      }
      return least;
    };
    return best(memory + kPage + kBehind) > kManyTimes * best(memory + kPage);
  }();
  return stumbles;
}

bool string_copy_suits() noexcept {
  static const bool suits = [] {
    unsigned highest = 0, vendor[3] = {}, signature = 0, features[3] = {};
    if (__get_cpuid(0, &highest, &vendor[0], &vendor[2], &vendor[1]) == 0 || highest < 1) return false;
    if (std::memcmp(vendor, "AuthenticAMD", sizeof vendor) != 0) return false;
    __get_cpuid(1, &signature, &features[0], &features[1], &features[2]);
    const unsigned family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
    return family >= 0x1a;
  }();
  return suits;
}

void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::size_t done = 0;
  for (; done + kLine <= bytes; done += kLine) {
    const auto* source = reinterpret_cast<const __m128i*>(from + done);
    auto* target = reinterpret_cast<__m128i*>(to + done);
    const __m128i first = _mm_loadu_si128(source), second = _mm_loadu_si128(source + 1);
    const __m128i third = _mm_loadu_si128(source + 2), fourth = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, first);
    _mm_stream_si128(target + 1, second);
    _mm_stream_si128(target + 2, third);
    _mm_stream_si128(target + 3, fourth);
  }
  std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();
}
#else
void string_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}

bool string_copy_stumbles() noexcept {
  return false;
}

bool string_copy_suits() noexcept {
  return false;
}

void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  bulk_copy(to, from, bytes);
}
#endif

}  // namespace lapwing
