#include "net/tcp/record_reader.h"

#include <cstring>

namespace lapwing::net::tcp {

std::span<std::byte> RecordReader::room() noexcept {
  const std::size_t here = end_ - begin_;
  if (here == 0 || kCapacity - begin_ < wire::kMostRecordBytes) {
    std::memmove(&buffer_[0], &buffer_[begin_], here);
    begin_ = 0;
    end_ = here;
  }
  return {&buffer_[end_], kCapacity - end_};
}

std::size_t RecordReader::next() noexcept {
  const std::size_t here = end_ - begin_;
  if (wrong_ || here < wire::kRecordHeaderBytes) return 0;
  if (body_bytes_ == 0) {
    body_bytes_ = guard_.read_header(&buffer_[begin_]);
    wrong_ = body_bytes_ == 0;
    if (wrong_) return 0;
  }
  return here < guard_.record_bytes(body_bytes_) ? 0 : body_bytes_;
}

const std::byte* RecordReader::open(std::byte* out) noexcept {
  std::byte* const record = &buffer_[begin_];
  std::byte* const body = out != nullptr ? out : record + wire::kRecordHeaderBytes;
  wrong_ = !guard_.open(record, body_bytes_, body);
  if (wrong_) return nullptr;
  begin_ += guard_.record_bytes(std::exchange(body_bytes_, 0));
  return body;
}

std::size_t RecordReader::missing_of_record() const noexcept {
  const std::size_t here = end_ - begin_;
  if (here == 0) return 0;
  return (body_bytes_ == 0 ? wire::kRecordHeaderBytes : guard_.record_bytes(body_bytes_)) - here;
}

}  // namespace lapwing::net::tcp
