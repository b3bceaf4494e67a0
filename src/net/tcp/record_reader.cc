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

void RecordReader::filled(std::size_t bytes, std::size_t skipped, std::span<const std::byte> before) noexcept {
  std::memmove(&buffer_[end_ + before.size()], &buffer_[end_ + skipped], bytes - skipped);
  if (!before.empty()) std::memcpy(&buffer_[end_], before.data(), before.size());
  end_ += before.size() + (bytes - skipped);
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

bool RecordReader::open_elsewhere(std::byte* record, std::size_t body_bytes) noexcept {
  wrong_ = wrong_ || guard_.read_header(record) != body_bytes || !guard_.open(record, body_bytes, record + wire::kRecordHeaderBytes);
  return !wrong_;
}

std::size_t RecordReader::missing_of_record() const noexcept {
  const std::size_t here = end_ - begin_;
  if (here == 0) return 0;
  return (body_bytes_ == 0 ? wire::kRecordHeaderBytes : guard_.record_bytes(body_bytes_)) - here;
}

}  // namespace lapwing::net::tcp
