// Records: what the stream of frames is cut into where a TCP connection is checked or sealed (docs/wire-format.md, Records).
//
//     0        4        8
//     | bytes  | check  | body, `bytes` of frames ...  | trailer |
//
// A record is right as a whole or wrong as a whole, and nothing of a wrong one may be used. Its number is not sent: both sides count. So a
// record that is missing, comes twice or comes from elsewhere is wrong, too.
//
//   checked   the trailer is a CRC-32C of number, length and body: finds accidents, and nothing that somebody means to do
//   sealed    the body is encrypted, and the trailer authenticates it with number and header
//
// The header has a check of its own in both, or a reader would wait for the bytes that a damaged length promises. (An attacker can compute
// it; but whoever can change bytes on their way can as well hold them back.)
//
// Pure: spans in, spans out. One object stands for one direction of one connection, at one of its ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/protection.h"
#include "wire/aead.h"

namespace lapwing::wire {

inline constexpr std::size_t kRecordHeaderBytes = 8;
inline constexpr std::size_t kMostRecordBody = 64 << 10;
inline constexpr std::size_t kMostRecordTrailer = Aead::kTagBytes;
inline constexpr std::size_t kMostRecordBytes = kRecordHeaderBytes + kMostRecordBody + kMostRecordTrailer;

class RecordGuard {
 public:
  // Checked.
  RecordGuard() noexcept = default;
  // Sealed. `records_per_key`: other than Aead's for tests.
  RecordGuard(Cipher cipher, const Secret& key, std::uint64_t records_per_key = Aead::kRecordsPerKey)
      : aead_(std::make_unique<Aead>(cipher, key)), records_per_key_(records_per_key) {}

  // "checked", "sealed by AES-256-GCM".
  const char* describe() const noexcept { return aead_ ? aead_->describe() : name_of(Protection::kChecked); }
  std::size_t trailer_bytes() const noexcept { return aead_ ? Aead::kTagBytes : kChecksumBytes; }
  std::size_t record_bytes(std::size_t body_bytes) const noexcept { return kRecordHeaderBytes + body_bytes + trailer_bytes(); }

  // Makes the next record at `record`, in one pass over the body. That may lie in its place there already, or elsewhere.
  void close(std::byte* record, const std::byte* body, std::size_t body_bytes) noexcept;

  // Body bytes of the next record, as its header says; 0: the header is wrong.
  std::size_t read_header(const std::byte* record) const noexcept;
  // The next record is here whole. Its body is put to `out` in one pass; that may be its place in the record. False: it is wrong, and
  // what `out` holds must not be used.
  [[nodiscard]] bool open(const std::byte* record, std::size_t body_bytes, std::byte* out) noexcept;

 private:
  static constexpr std::size_t kChecksumBytes = 4;

  void begin_next() noexcept;

  std::uint64_t number_ = 0;
  std::unique_ptr<Aead> aead_;  // null: checked
  std::uint64_t records_per_key_ = Aead::kRecordsPerKey;
};

}  // namespace lapwing::wire
