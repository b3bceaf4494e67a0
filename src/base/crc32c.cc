#include "base/crc32c.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <array>
#include <bit>
#include <cstring>

#include "base/bulk_copy.h"

namespace lapwing {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected

// ---- by tables: eight bytes at a time, one table for each ("slicing by eight") ---------------------------------------

using Table = std::array<std::uint32_t, 256>;

constexpr std::array<Table, 8> make_slices() {
  std::array<Table, 8> slices{};
  for (std::uint32_t value = 0; value < 256; ++value) {
    std::uint32_t crc = value;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kPolynomial : 0);
    slices[0][value] = crc;
  }
  for (std::size_t slice = 1; slice < slices.size(); ++slice) {
    for (std::size_t value = 0; value < 256; ++value) {
      const std::uint32_t before = slices[slice - 1][value];
      slices[slice][value] = before >> 8 ^ slices[0][before & 0xff];
    }
  }
  return slices;
}

constexpr std::array<Table, 8> kSlices = make_slices();

constexpr std::uint32_t add_byte(std::uint32_t crc, std::uint8_t byte) noexcept {
  return crc >> 8 ^ kSlices[0][(crc ^ byte) & 0xff];
}

std::uint64_t load_word(const std::byte* from) noexcept {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

std::uint32_t add_word_by_tables(std::uint32_t crc, std::uint64_t word) noexcept {
  word ^= crc;
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 8; ++i) sum ^= kSlices[7 - i][word >> 8 * i & 0xff];
  return sum;
}

// Without the inversions at both ends, as all below.
std::uint32_t compute_by_tables(std::uint32_t crc, std::byte* to, const std::byte* from, std::size_t count) noexcept {
  if (to != nullptr) plain_copy(to, from, count);
  if constexpr (std::endian::native == std::endian::little)
    for (; count >= 8; from += 8, count -= 8) crc = add_word_by_tables(crc, load_word(from));
  for (; count > 0; ++from, --count) crc = add_byte(crc, static_cast<std::uint8_t>(*from));
  return crc;
}

// ---- by the instruction ----------------------------------------------------------------------------------------------

#if defined(__x86_64__) || defined(__aarch64__)

// Inline assembly, so that the rest of the loop need not be compiled for another processor.
inline std::uint64_t add_word(std::uint64_t crc, std::uint64_t word) noexcept {
#if defined(__x86_64__)
  asm("crc32q %1, %0" : "+r"(crc) : "rm"(word));
#else
  asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
#endif
  return crc;
}

bool find_instruction() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") != 0;
#else
  constexpr unsigned long kCrc32 = 1ul << 7;  // HWCAP_CRC32
  return (getauxval(AT_HWCAP) & kCrc32) != 0;
#endif
}

// What a crc becomes when kBytes zeros follow: linear in its bits, so a table for each of its four bytes.
template <std::size_t kBytes>
constexpr std::array<Table, 4> make_shift() {
  std::array<std::uint32_t, 32> bits{};
  for (std::size_t bit = 0; bit < bits.size(); ++bit) {
    bits[bit] = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < kBytes; ++i) bits[bit] = add_byte(bits[bit], 0);
  }
  std::array<Table, 4> shift{};
  for (std::size_t place = 0; place < shift.size(); ++place) {
    for (std::size_t value = 0; value < 256; ++value) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((value >> bit & 1) != 0) shift[place][value] ^= bits[8 * place + bit];
      }
    }
  }
  return shift;
}

template <std::size_t kBytes>
std::uint64_t shift(std::uint64_t crc) noexcept {
  static constexpr std::array<Table, 4> kShift = make_shift<kBytes>();
  return kShift[0][crc & 0xff] ^ kShift[1][crc >> 8 & 0xff] ^ kShift[2][crc >> 16 & 0xff] ^ kShift[3][crc >> 24 & 0xff];
}

template <bool kCopies>
inline std::uint64_t take_word(std::uint64_t crc, std::byte* to, const std::byte* from) noexcept {
  const std::uint64_t word = load_word(from);
  if constexpr (kCopies) std::memcpy(to, &word, sizeof word);
  return add_word(crc, word);
}

// Three lanes of kLane bytes that follow each other, as long as there are three.
template <bool kCopies, std::size_t kLane>
std::uint64_t take_lanes(std::uint64_t crc, std::byte*& to, const std::byte*& from, std::size_t& count) noexcept {
  while (count >= 3 * kLane) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < kLane; i += 8) {
      crc = take_word<kCopies>(crc, to + i, from + i);
      second = take_word<kCopies>(second, to + kLane + i, from + kLane + i);
      third = take_word<kCopies>(third, to + 2 * kLane + i, from + 2 * kLane + i);
    }
    crc = shift<kLane>(shift<kLane>(crc) ^ second) ^ third;
    from += 3 * kLane;
    if constexpr (kCopies) to += 3 * kLane;
    count -= 3 * kLane;
  }
  return crc;
}

template <bool kCopies>
std::uint32_t compute_by_instruction(std::uint32_t crc, std::byte* to, const std::byte* from, std::size_t count) noexcept {
  constexpr std::size_t kLongLane = 2048, kShortLane = 128;
  std::uint64_t sum = take_lanes<kCopies, kLongLane>(crc, to, from, count);
  sum = take_lanes<kCopies, kShortLane>(sum, to, from, count);
  for (; count >= 8; count -= 8) {
    sum = take_word<kCopies>(sum, to, from);
    from += 8;
    if constexpr (kCopies) to += 8;
  }
  return compute_by_tables(static_cast<std::uint32_t>(sum), kCopies ? to : nullptr, from, count);
}

#else

bool find_instruction() noexcept {
  return false;
}

template <bool>
std::uint32_t compute_by_instruction(std::uint32_t crc, std::byte* to, const std::byte* from, std::size_t count) noexcept {
  return compute_by_tables(crc, to, from, count);
}

#endif

const bool has_instruction = find_instruction();

}  // namespace

bool crc32c_has_instruction() noexcept {
  return has_instruction;
}

std::uint32_t crc32c_by_tables(std::uint32_t crc, const std::byte* bytes, std::size_t count) noexcept {
  return ~compute_by_tables(~crc, nullptr, bytes, count);
}

std::uint32_t crc32c(std::uint32_t crc, const std::byte* bytes, std::size_t count) noexcept {
  if (!has_instruction) return crc32c_by_tables(crc, bytes, count);
  return ~compute_by_instruction<false>(~crc, nullptr, bytes, count);
}

std::uint32_t crc32c_copy(std::uint32_t crc, std::byte* to, const std::byte* from, std::size_t count) noexcept {
  return ~(has_instruction ? compute_by_instruction<true>(~crc, to, from, count) : compute_by_tables(~crc, to, from, count));
}

}  // namespace lapwing
