#include "net/shm/ring.h"

namespace lapwing::net::shm {

std::uint64_t RingWriter::look() noexcept {
  if (broken_) return 0;
  // Pairs with store_release(head) in RingReader::advance: the reader has done with the bytes that we may overwrite.
  const std::uint64_t head = load_acquire(header_->head);
  const std::uint64_t unread = written_ - head;
  if (unread > capacity() || head % kRecordAlignment != 0 || head < seen_head_) {
    broken_ = true;
    return 0;
  }
  seen_head_ = head;
  return capacity() - unread;
}

std::uint64_t RingReader::look() noexcept {
  if (broken_) return 0;
  // Pairs with store_release(tail) in RingWriter::publish: the bytes before it are written.
  const std::uint64_t tail = load_acquire(header_->tail);
  if (tail <= read_ && tail % kRecordAlignment == 0) return 0;  // small records do not move it
  const std::uint64_t unread = tail - read_;
  if (unread > capacity_ || tail % kRecordAlignment != 0) {
    broken_ = true;
    return 0;
  }
  seen_tail_ = tail;
  return unread;
}

}  // namespace lapwing::net::shm
