// One direction between two ranks: a ring of bytes with one writer and one reader, in shared memory.
//
// The bytes are a stream of records, each a frame header (64 bytes) and its payload, padded to 64. A record may be longer
// than the ring: the writer publishes it in pieces, the reader takes what is there. Both positions count bytes since the
// beginning and are multiples of 64 whenever published, so a header never wraps and a piece is never empty.
//
// Each side keeps its own position privately and the last seen position of the other side; it looks at the shared word, a
// cache miss, only when what it knows does not suffice. The reader publishes its position once per quarter of the ring:
// a writer that finds the ring full then has at least three quarters of unread bytes in it, whose reading publishes again.
//
// What the other side publishes is checked; a position that cannot be makes the ring broken(), and it then has neither
// room nor data. Each end is used by one thread at a time (endpoint's lock).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory_order.h"
#include "net/shm/layout.h"

namespace lapwing::net::shm {

struct Piece {
  std::byte* data;
  std::uint64_t bytes;
};

class RingWriter {
 public:
  void attach(RingHeader& header, std::byte* bytes, std::uint64_t capacity) noexcept {
    header_ = &header, bytes_ = bytes, capacity_ = capacity;
  }
  std::uint64_t capacity() const noexcept { return capacity_; }
  bool broken() const noexcept { return broken_; }

  // Bytes that may be written; at least `wanted` if the reader has left so much.
  std::uint64_t room(std::uint64_t wanted) noexcept {
    const std::uint64_t known = capacity_ - (written_ - seen_head_);
    return known >= wanted ? known : look();
  }
  // Where the next bytes go: at most `most` of them, less where the ring wraps.
  Piece next(std::uint64_t most) const noexcept {
    const std::uint64_t at = written_ & (capacity_ - 1);
    const std::uint64_t straight = capacity_ - at;
    return {bytes_ + at, most < straight ? most : straight};
  }
  void advance(std::uint64_t bytes) noexcept { written_ += bytes; }
  // Everything written so far becomes readable. Pairs with load_acquire(tail) in RingReader::look.
  void publish() noexcept { store_release(header_->tail, written_); }

  void want_space(bool wanted) noexcept { store_relaxed(header_->wants_space, wanted ? 1u : 0u); }

 private:
  std::uint64_t look() noexcept;

  RingHeader* header_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t seen_head_ = 0;
  bool broken_ = false;
};

class RingReader {
 public:
  void attach(RingHeader& header, std::byte* bytes, std::uint64_t capacity) noexcept {
    header_ = &header, bytes_ = bytes, capacity_ = capacity;
  }
  bool broken() const noexcept { return broken_; }

  // Bytes that may be read; looks anew only when none is known.
  std::uint64_t available() noexcept { return seen_tail_ != read_ ? seen_tail_ - read_ : look(); }
  Piece next(std::uint64_t most, std::uint64_t offset = 0) const noexcept {
    const std::uint64_t at = (read_ + offset) & (capacity_ - 1);
    const std::uint64_t straight = capacity_ - at;
    return {bytes_ + at, most < straight ? most : straight};
  }
  // Gives `bytes` back to the writer; true when that was published, so that a sleeping writer may need to be woken.
  bool advance(std::uint64_t bytes) noexcept {
    read_ += bytes;
    if (read_ - published_ < capacity_ / 4) return false;
    published_ = read_;
    store_release(header_->head, read_);  // after our reads of those bytes; pairs with load_acquire(head) in RingWriter
    return true;
  }
  // Whether the writer may sleep until there is room. Only after advance() said true and a full_fence().
  bool writer_wants_space() const noexcept { return load_relaxed(header_->wants_space) != 0; }

 private:
  std::uint64_t look() noexcept;

  RingHeader* header_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t seen_tail_ = 0;
  bool broken_ = false;
};

}  // namespace lapwing::net::shm
