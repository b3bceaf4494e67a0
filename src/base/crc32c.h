// CRC-32C (Castagnoli's polynomial, as iSCSI and SCTP have it), by the processor's instruction where there is one.
//
// Cost: the instruction takes 8 bytes per cycle, but each takes three cycles until the next may use its result. So long texts are computed in three
// lanes at once, whose results are joined by tables. A copy is made in the same pass: each byte is loaded once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing {

// Of what `crc` is of (0: of nothing), and then these bytes.
std::uint32_t crc32c(std::uint32_t crc, const std::byte* bytes, std::size_t count) noexcept;
// The same of bytes that are copied. The two do not overlap.
std::uint32_t crc32c_copy(std::uint32_t crc, std::byte* to, const std::byte* from, std::size_t count) noexcept;

// Without the instruction, for processors that have none and for tests.
std::uint32_t crc32c_by_tables(std::uint32_t crc, const std::byte* bytes, std::size_t count) noexcept;
// False: the processor has no such instruction, or Lapwing does not know it.
bool crc32c_has_instruction() noexcept;

}  // namespace lapwing
