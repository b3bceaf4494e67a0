// The records of one connection on their way in (wire/record.h). Nothing of a record is given on before all of it is here and found right.
//
//     |  opened   |  the next record, perhaps in part | room ...      |
//                 begin                               end
//
// Pure: no socket. Of the buffer's pages only those exist that were written to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "wire/record.h"

namespace lapwing::net::tcp {

class RecordReader {
 public:
  explicit RecordReader(wire::RecordGuard guard)
      : guard_(std::move(guard)), buffer_(std::make_unique_for_overwrite<std::byte[]>(kCapacity)) {}

  // Where the next bytes of the connection go. What was opened in its place is gone.
  std::span<std::byte> room() noexcept;
  void filled(std::size_t bytes) noexcept { end_ += bytes; }
  // The same, where the first `skipped` of those bytes have come before, and `before` comes in front of them: only while nothing else is here, and of one record
  // at most.
  void filled(std::size_t bytes, std::size_t skipped, std::span<const std::byte> before) noexcept;
  // What has come has been opened.
  bool empty() const noexcept { return begin_ == end_; }

  // Bytes of the body of the next record; 0: it is not here whole, or it is wrong.
  std::size_t next() noexcept;
  // Opens it: into `out`, or in its place where that is null. Where its body is; null: it is wrong.
  const std::byte* open(std::byte* out) noexcept;
  // The next record is here whole, elsewhere: it is checked, and its body stays in its place. False: it is wrong. While nothing is here.
  [[nodiscard]] bool open_elsewhere(std::byte* record, std::size_t body_bytes) noexcept;
  // A record was wrong, and nothing more can be had.
  bool wrong() const noexcept { return wrong_; }

  // So many bytes the connection must give at least before the frame can be whole of which so many have not come out of records; or,
  // with 0, before a record that has begun is.
  std::uint64_t missing(std::uint64_t of_frame) const noexcept {
    const std::uint64_t here = end_ - begin_;
    return std::max<std::uint64_t>(missing_of_record(), of_frame - std::min(of_frame, here));
  }

 private:
  // Some records of a usual size at a time.
  static constexpr std::size_t kCapacity = 2 * wire::kMostRecordBytes;

  std::size_t missing_of_record() const noexcept;

  wire::RecordGuard guard_;
  const std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t body_bytes_ = 0;  // of the next record; 0: its header is not here whole
  bool wrong_ = false;
};

}  // namespace lapwing::net::tcp
