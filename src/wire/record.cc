#include "wire/record.h"

#include "base/crc32c.h"
#include "wire/little_endian.h"

namespace lapwing::wire {
namespace {

constexpr std::size_t kCheckAt = 4;

std::uint32_t header_check(std::uint64_t number, std::uint32_t body_bytes) noexcept {
  std::byte text[12];
  store_little(text, number);
  store_little(text + 8, body_bytes);
  return crc32c(0, text, sizeof text);
}

// `out` may be `from`.
std::uint32_t checksum(std::uint32_t check, const std::byte* from, std::size_t bytes, std::byte* out) noexcept {
  return out == from ? crc32c(check, from, bytes) : crc32c_copy(check, out, from, bytes);
}

}  // namespace

void RecordGuard::close(std::byte* record, const std::byte* body, std::size_t body_bytes) noexcept {
  const auto length = static_cast<std::uint32_t>(body_bytes);
  const std::uint32_t check = header_check(number_, length);
  store_little(record, length);
  store_little(record + kCheckAt, check);
  std::byte* const place = record + kRecordHeaderBytes;
  if (aead_)
    aead_->encrypt(number_, record, kRecordHeaderBytes, body, body_bytes, place, place + body_bytes);
  else
    store_little(place + body_bytes, checksum(check, body, body_bytes, place));
  begin_next();
}

std::size_t RecordGuard::read_header(const std::byte* record) const noexcept {
  const auto length = load_little<std::uint32_t>(record);
  const bool sound = length > 0 && length <= kMostRecordBody && load_little<std::uint32_t>(record + kCheckAt) == header_check(number_, length);
  return sound ? length : 0;
}

bool RecordGuard::open(const std::byte* record, std::size_t body_bytes, std::byte* out) noexcept {
  const std::byte* const body = record + kRecordHeaderBytes;
  const std::byte* const trailer = body + body_bytes;
  const bool right = aead_ ? aead_->decrypt(number_, record, kRecordHeaderBytes, body, body_bytes, trailer, out)
                           : checksum(load_little<std::uint32_t>(record + kCheckAt), body, body_bytes, out) ==
                                 load_little<std::uint32_t>(trailer);
  begin_next();
  return right;
}

void RecordGuard::begin_next() noexcept {
  ++number_;
  if (aead_ && number_ % records_per_key_ == 0) aead_->renew();
}

}  // namespace lapwing::wire
