#include "net/tcp/record_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lapwing::net::tcp {

RecordWriter::RecordWriter(wire::RecordGuard guard, std::size_t most_body, std::size_t most_waiting)
    : guard_(std::move(guard)),
      most_body_(std::min(most_body, wire::kMostRecordBody)),
      capacity_(std::max(most_waiting, guard_.record_bytes(most_body_))),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(capacity_)) {}

void RecordWriter::write(std::span<const iovec> pieces) noexcept {
  sent_ = end_ = first_ = 0;
  records_.clear();
  for (const iovec& piece : pieces) {
    if (!take(static_cast<const std::byte*>(piece.iov_base), piece.iov_len)) break;
  }
  close_gathered();
}

// False: there is no room for all of it.
bool RecordWriter::take(const std::byte* piece, std::size_t bytes) noexcept {
  while (bytes > 0) {
    if (bytes >= kLong || bytes > room_for_body()) close_gathered();
    const std::size_t taken = std::min(bytes, room_for_body());
    // A short record at the end would cost more than the room is worth.
    if (taken == 0 || (taken < std::min(bytes, kLong) && end_ > 0)) return false;
    if (gathered_ == 0 && taken >= kLong)
      close(piece, taken);
    else
      gather(piece, taken);
    piece += taken;
    bytes -= taken;
  }
  return true;
}

// In the record that is being gathered.
std::size_t RecordWriter::room_for_body() const noexcept {
  const std::size_t used = end_ + guard_.record_bytes(gathered_);
  return used >= capacity_ ? 0 : std::min(capacity_ - used, most_body_ - gathered_);
}

void RecordWriter::gather(const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(&buffer_[end_ + wire::kRecordHeaderBytes + gathered_], from, bytes);
  gathered_ += bytes;
  if (gathered_ == most_body_) close_gathered();
}

void RecordWriter::close_gathered() noexcept {
  if (gathered_ > 0) close(&buffer_[end_ + wire::kRecordHeaderBytes], std::exchange(gathered_, 0));
}

void RecordWriter::close(const std::byte* body, std::size_t bytes) noexcept {
  guard_.close(&buffer_[end_], body, bytes);
  end_ += guard_.record_bytes(bytes);
  records_.push_back({end_, bytes});
}

std::uint64_t RecordWriter::left(std::size_t bytes) noexcept {
  sent_ += bytes;
  std::uint64_t body_bytes = 0;
  for (; first_ < records_.size() && records_[first_].end <= sent_; ++first_) body_bytes += records_[first_].body_bytes;
  return body_bytes;
}

}  // namespace lapwing::net::tcp
