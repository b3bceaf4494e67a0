#include "net/shm/ring.h"

#include "base/tuning.h"

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

// Not where there is no room for some such records behind the turn: a reader that computes would have to be notified for one that has
// the whole ring otherwise, and one that turns does not look whether the writer waits.
void RingWriter::turn_back(std::uint64_t wanted, std::uint64_t payload) noexcept {
  const std::uint64_t at = written_ & (capacity_ - 1);
  if (at < lap_) {  // the writer has come round, in the middle of a record
    turns_at_ = written_ - at + lap_;
    return;
  }
  turns_at_ = written_ + lap_;
  if (trials_.way(payload) == RingTrials::Way::kWholeLaps) return;
  if (written_ - seen_head_ > lap_ / 8) look();
  const std::uint64_t unread = written_ - seen_head_;
  if (broken_ || unread > lap_ / 8 || at - unread < tuning().shm_turn_records * wanted + kRecordAlignment) return;
  const std::int64_t now = clock_->now();
  if (goes_on(at, wanted, now)) return;
  turned_from_ = written_;
  skipped_ = capacity_ - at;
  written_ += skipped_;
  wipe_next();
  store_release(stamp_of(bytes_ + at), turned_from_ + 1 + kTurnedBack);  // pairs with load_acquire(stamp) in record_here
  begin_lap(now);
}

// Whether long records follow each other so closely that a long lap is the better one.
bool RingWriter::goes_on(std::uint64_t at, std::uint64_t wanted, std::int64_t now) const noexcept {
  if (at >= tuning().shm_long_lap || wanted < tuning().shm_long_record) return false;
  const std::uint64_t nanoseconds = static_cast<std::uint64_t>(now - lap_began_);
  return (written_ - lap_from_) * tuning().shm_pause_per_byte >= nanoseconds;
}

void RingWriter::begin_lap(std::int64_t now) noexcept {
  turns_at_ = written_ + lap_;
  lap_from_ = written_;
  lap_began_ = now;
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

// True when a record begins there. An honest writer does not turn back twice without one.
bool RingReader::turn_back() noexcept {
  published_ = read_ = (read_ | (capacity_ - 1)) + 1;
  store_release(header_->head, read_);
  return (load_acquire(stamp_of(bytes_)) & ~kRecordFlags) == read_ + 1;
}

bool RingReader::publish() noexcept {
  published_ = read_;
  store_release(header_->head, read_);  // after our reads of those bytes; pairs with load_acquire(head) in RingWriter
  if (read_ - looked_after_ < capacity_ / 4) return false;
  looked_after_ = read_;
  return true;
}

}  // namespace lapwing::net::shm
