// Copies of some kilobytes and more between memory that two cores write by turns.
//
// memcpy of the C library is tuned for memory of one core's own: for long copies it takes the string instruction of the processor where there
// is one (rep movsb). Where the lines to be written, or read, lie in another core's cache, that instruction takes up to three times as long as a
// loop of vector moves on AMD's Zen 3, and a half to a sixth of its time on Zen 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lapwing {

// Like memcpy, by vector moves. What is shorter than this goes to memcpy, which costs less to begin with.
inline constexpr std::size_t kBulkCopy = 1024;
void bulk_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

// Whether the bytes to be written lie less than a line behind those to be read, by their places in a page, which is how a processor tells addresses
// apart at first (4K aliasing). There the string instruction may take each byte for one that it has just written: on AMD's Zen 3 it takes 15 to 30
// times as long (3 GB/s), the C library's memcpy and the kernel's copies with it. A buffer that begins with a page and one from malloc lie so.
inline bool follows_closely(const void* to, const void* from) noexcept {
  constexpr std::uintptr_t kPage = 4096, kLine = 64;
  return (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) - 1) % kPage < kLine - 1;
}
// Whether that instruction does on this processor, which is measured once (some microseconds).
bool string_copy_stumbles() noexcept;

// memcpy, but by vector moves where that may stumble. For copies within one process whose length the caller does not know to be short.
inline constexpr std::size_t kLeastStumble = 2048;
inline void plain_copy(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes >= kLeastStumble && follows_closely(to, from)) [[unlikely]]
    return bulk_copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  if (bytes != 0) std::memcpy(to, from, bytes);  // what is empty may have no address
}

// The same by the processor's string instruction where there is one, else as memcpy. Which of the two a machine prefers is found out by copying
// (measured_copy.h).
void string_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
// Whether this processor is known to prefer it: AMD's from Zen 5 (family 1Ah) on.
bool string_copy_suits() noexcept;

// The same out of lines of 64 bytes, the first at `from`, of which each is claimed as soon as it has been read (ring_trial.h): its eight bytes at
// `word` become 0. A line that is not read whole is not claimed. Returns how many bytes are in those that are. (Claimed after the copy instead,
// 64 KiB one way take an eighth longer.)
std::size_t claiming_copy(std::byte* to, std::byte* from, std::size_t bytes, std::size_t word) noexcept;

// The same past the caches, with stores that do not fetch the lines they replace (streaming, non-temporal). For memory that another core reads
// next, where fetching a line from that core's cache takes longer than writing it to memory. `to` is a multiple of 64. What is stored
// afterwards is not seen before these bytes. Without such stores, as bulk_copy.
#if defined(__x86_64__)
inline constexpr bool kCanStream = true;
#else
inline constexpr bool kCanStream = false;
#endif
void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace lapwing
