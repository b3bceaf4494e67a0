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

std::uint64_t RingWriter::lap_for(std::uint64_t record) const noexcept {
  if (goes_by_turns(record)) return lap_;
  return std::max(4 * lap_, std::min(tuning().shm_lap_records * record, tuning().shm_long_lap));
}

// Not where there is no room for some such records at the beginning: a reader that computes would have to be notified for one that has
// the whole ring otherwise, and one that turns does not look whether the writer waits.
bool RingWriter::turns_behind(std::uint64_t wanted, std::uint64_t payload) noexcept {
  const std::uint64_t here = written_ & (capacity_ - 1);
  if (here < lap_) {  // the writer has come round, in the middle of a record
    turns_at_ = written_ - here + lap_;
    return false;
  }
  const std::uint64_t some = tuning().shm_turn_records * wanted, lap = lap_for(wanted), most_unread = std::max(lap / 8, some);
  if (written_ - seen_head_ > lap / 8) look();
  const std::uint64_t unread = written_ - seen_head_;
  const bool turns = here >= lap && trials_.way(payload) != RingTrials::Way::kWholeLaps && !broken_ && unread <= most_unread &&
                     here >= unread + some + kRecordAlignment &&
                     here + Layout::record_bytes(payload) < capacity_;
  if (!turns) turns_at_ = written_ + lap_;
  return turns;
}

void RingWriter::turn() noexcept {
  turned_from_ = written_;
  skipped_ = next_record() - written_;
  written_ += skipped_;
  turns_at_ = written_ + lap_;
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

void RingReader::turn() noexcept {
  published_ = read_ = (read_ | (capacity_ - 1)) + 1;
  store_release(header_->head, read_);
}

bool RingReader::publish() noexcept {
  published_ = read_;
  store_release(header_->head, read_);  // after our reads of those bytes; pairs with load_acquire(head) in RingWriter
  if (read_ - looked_after_ < capacity_ / 4) return false;
  looked_after_ = read_;
  return true;
}

}  // namespace lapwing::net::shm
