// One direction between two ranks: a ring of bytes with one writer and one reader, in shared memory.
//
// The bytes are a stream of records, each a line of 64 bytes (a frame's header) and its payload, padded to 64. Positions count
// bytes since the beginning and are multiples of 64 whenever published, so a line never wraps and a piece is never empty.
//
//   line    has a stamp in it, written last: its position plus one, and flags. Seeing it, the reader has the record's head
//           (layout.h), which of a small record is the whole, for the price of the one cache line that it has to fetch anyway.
//   tail    tells how far the rest of a long record is there: it may be longer than the ring, the writer publishes it in pieces and the
//           reader takes what is there. Heads do not touch the tail, so it may lag behind the reader.
//
// Cells. Beside the rings there is memory that changes hands (base/handed_cells.h). A writer that has a cell puts a payload of up to its length there,
// and the record is a line that says which; the reader has the cell when it has copied that. Of a long payload the head is there with the line, as in
// the ring, and a word tells of the rest, piece by piece. What follows here is for records without a cell: of streams, in which none comes
// back, and longer ones.
//
// Laps. A large ring lets the two sides of a stream run apart, but each of its lines is touched once a lap, and has left the caches
// by the next. So a record that begins beyond the first bytes may be the lap's last: its stamp says so (kTurns), and behind it both go on at the
// ring's beginning: positions jump to the next multiple of the capacity. The reader must nearly have caught up (an eighth of the lap or
// two such records are unread at most): one that lags has the whole ring.
//
//   by turns   Where each of the last records (kByTurns) found something come from the other side, and those are of kLeastByTurns bytes or more, a lap
//              has shm.short_lap bytes: the lines stay in the level-one caches of both cores. And a line is left out behind each record: a
//              processor that writes lines asks for the ones that follow; the reader, which has all of the record and looks at the next one's
//              line, would take that away and have it taken away again. 512 bytes and 2 KiB between near cores take 0.8 and 0.9 of the time for it.
//   stream     Lines that the reader has just had in that cache are the slowest to get back, so a lap has room for shm.lap_records such records, but
//              four short laps at least and shm.long_lap at most. Short records that go by turns are as fast or faster so, too.
//
// Claims. Where lines take long to write that the reader's caches still have, the reader claims the record's lines, or longer records go through
// the whole ring (base/ring_trial.h). To claim a line it writes zero where a stamp would be. Those of short records, of less than can be tried by
// the clock, are always claimed, and records of one line that come behind another without an answer in between. Windows of messages of 128 to
// 1024 bytes take half to a quarter of the time for it, between near cores as between far ones, and of 8 bytes two thirds between far ones; single
// messages to and fro take as long as before, give or take three per cent (2 cores, EPYC; other processors are to be seen).
//
// What lies in the ring from earlier laps must never pass for a stamp. Stamps only grow, so an old one passes for no new one; payload might. What the
// reader has claimed is zero there. Behind payload that it has not, the stamp of the line where the reader will look next is wiped, before anything
// is published: if that line held such payload a lap ago, or any lies beyond the short lap and the line too, where the lap before need not have come.
// That takes one more line from the reader, which a message of 256 bytes between far cores waits for a third of its time; so it is done where it must be.
// The writer always keeps that one line in hand, so a ring holds 64 bytes less than it has.
//
// Order. A reader that waits looks at the record's first line all the time. A store that leaves the writer between its first one to that line and
// the stamp, and has to wait for another line, leaves time for the reader to take the line away again, which costs the way to the other core and
// back once more (messages of 64 to 128 bytes between far cores: 0.65 us, or 0.42). So the payload is stored first, the line behind the head is
// wiped next, and the record's line is stored last. A record of one line has nothing to wait for but that, and wipes after it.
//
// Each side keeps its own position privately and the last seen position of the other side; it looks at the shared word, a
// cache miss, only when what it knows does not suffice. The reader publishes its position often enough for short laps, and
// sees once per quarter of the ring whether the writer waits: a writer that finds less than a quarter free then has more
// than half of the ring unread in it.
//
// What the other side publishes is checked; a position that cannot be makes the ring broken(), and it then has neither
// room nor data. Each end is used by one thread at a time (endpoint's lock).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bulk_copy.h"
#include "base/memory_order.h"
#include "base/prefetch.h"
#include "base/ring_trial.h"
#include "base/tuning.h"
#include "net/shm/copy_cost.h"
#include "net/shm/layout.h"

namespace lapwing::net::shm {

struct Piece {
  std::byte* data;
  std::uint64_t bytes;
};

// Added to a stamp.
inline constexpr std::uint64_t kStreamed = 2;    // the writer copies this record past its caches (streaming.h)
inline constexpr std::uint64_t kTurns = 4;       // the record behind this one is at the ring's beginning
inline constexpr std::uint64_t kWideHead = 8;    // more of this record is there with its head (layout.h)
inline constexpr std::uint64_t kClaimed = 16;    // the reader is to claim the record's lines (base/ring_trial.h)
inline constexpr std::uint64_t kOnTrial = 32;    // the writer tries how it is best written, so its time is no usual one (base/ring_trial.h)
inline constexpr std::uint64_t kSpace = std::uint64_t{1} << 63;  // the record behind this one begins a line later
inline constexpr std::uint64_t kInCell = std::uint64_t{1} << 62;  // the payload lies in a cell (base/handed_cells.h), and this line is all of the record
inline constexpr std::uint64_t kRecordFlags = kStreamed | kTurns | kWideHead | kClaimed | kOnTrial | kSpace | kInCell;
static_assert(1 + (kRecordFlags & ~(kSpace | kInCell)) < kRecordAlignment);

// Records of so many bytes and more, their lines included, may go by turns.
inline constexpr std::uint64_t kLeastByTurns = 5 * kRecordAlignment;

inline std::atomic<std::uint64_t>& stamp_of(std::byte* line) noexcept {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(line + kStampOffset);
}

class RingWriter {
 public:
  void attach(RingHeader& header, std::byte* bytes, std::uint64_t capacity, std::uint64_t lap = tuning().shm_short_lap) noexcept {
    header_ = &header, bytes_ = bytes, capacity_ = capacity;
    lap_ = capacity >= 2 * lap ? lap : capacity;
    turns_at_ = lap_;
    trials_ = RingTrials({.bytes = capacity, .lags = true});
  }
  std::uint64_t capacity() const noexcept { return capacity_ - kRecordAlignment; }
  bool broken() const noexcept { return broken_; }
  // To be told of the copies of payload.
  RingTrials& trials() noexcept { return trials_; }
  // kClaimed and kOnTrial, or none, of a record with so much payload.
  std::uint64_t trial_flags(std::uint64_t payload) const noexcept {
    if (payload < RingTrial::kLeastClaimed) return kClaimed;
    return (trials_.way(payload) == RingTrials::Way::kClaimed ? kClaimed : 0) | (trials_.tries(payload) ? kOnTrial : 0);
  }

  // Something has come from the reader's side.
  void answer() noexcept { answered_ = true; }
  // Whether that has been since the last record began.
  bool answered() const noexcept { return answered_; }

  // The same as room() where a record with so much payload begins. What is to be behind it is settled here.
  std::uint64_t room_to_begin(std::uint64_t wanted, std::uint64_t payload = 0) noexcept {
    behind_ = written_ >= turns_at_ && turns_behind(wanted, payload) ? kTurns : 0;
    const std::uint64_t there = room(wanted);
    if (behind_ == 0 && goes_by_turns(wanted) && there > wanted && wanted == Layout::record_bytes(payload)) behind_ = kSpace;
    return there;
  }
  // Whether at least half of the ring holds nothing unread. What a turn has skipped is not unread, but gives no room until the reader
  // has turned too: there it is half of a short lap that must be left.
  bool half_empty() noexcept {
    const std::uint64_t half = (capacity_ - kRecordAlignment) / 2, left = room(half);
    if (left >= half) return true;
    return seen_head_ <= turned_from_ && written_ - seen_head_ - skipped_ <= half && left >= lap_ / 2;
  }
  // Bytes that may be written; at least `wanted` if the reader has left so much.
  std::uint64_t room(std::uint64_t wanted) noexcept {
    const std::uint64_t known = capacity_ - kRecordAlignment - (written_ - seen_head_);
    return known >= wanted ? known : look();
  }
  // After room_to_begin(): the first line of a record that takes so many bytes in all, to be written but for the eight bytes of its stamp: when the
  // payload of its head has been, and the line behind it is wiped. Its flags are kRecordFlags but for kTurns and kSpace.
  std::byte* begin(std::uint64_t record, std::uint64_t flags = 0) noexcept {
    begun_ = written_;
    ends_ = begun_ + record;
    flags_ = flags | behind_;
    by_turns_ = answered_ ? std::min(by_turns_ + 1, kByTurns) : 0;
    answered_ = false;
    written_ += kRecordAlignment;
    return at(begun_);
  }
  // Where the next bytes of the payload go: at most `most` of them, less where the ring wraps.
  Piece next(std::uint64_t most) const noexcept {
    const std::uint64_t at = written_ & (capacity_ - 1);
    const std::uint64_t straight = capacity_ - at;
    return {bytes_ + at, most < straight ? most : straight};
  }
  void advance(std::uint64_t bytes) noexcept {
    if ((flags_ & kClaimed) == 0) {
      payload_until_ = written_ + bytes + capacity_;
      payload_beyond_ |= (written_ & (capacity_ - 1)) + bytes > lap_;
    }
    written_ += bytes;
  }
  // The stamp of the line where the reader looks next, once before publish_head(). That one is stored later, and with release: a reader that sees it
  // sees this.
  void wipe_next() noexcept {
    wipe(written_ == ends_ ? next_record() : written_);
  }
  // A record's head is written. Pairs with load_acquire(stamp) in RingReader::record_here.
  void publish_head() noexcept {
    store_release(stamp_of(at(begun_)), begun_ + 1 + flags_);
    if (by_turns_ == 0) own_ahead();
    end();
  }
  // Everything written since becomes readable. Pairs with load_acquire(tail) in RingReader::look.
  void publish() noexcept {
    wipe_next();
    store_release(header_->tail, written_);
    end();
  }

  // A piece of the payload, of so many bytes in all, has been copied in so many ns.
  void copied(std::uint64_t payload, std::uint64_t bytes, std::int64_t ns) noexcept {
    filling_.copied(bytes, ns);
    if (filling_.bytes() >= payload) store_relaxed(header_->filling, filling_.take());
  }

  // So many bytes more of the payload are in the cell of the last record. Pairs with load_acquire(cells_filled) in RingReader.
  void publish_in_cell(std::uint64_t bytes) noexcept {
    in_cells_ += bytes;
    store_release(header_->cells_filled, in_cells_);
  }

  void want_space(bool wanted) noexcept { store_relaxed(header_->wants_space, wanted ? 1u : 0u); }

 private:
  bool goes_by_turns(std::uint64_t record) const noexcept { return by_turns_ == kByTurns && record >= kLeastByTurns; }
  std::byte* at(std::uint64_t position) const noexcept { return bytes_ + (position & (capacity_ - 1)); }
  // In a stream the lines that follow are asked for early: four, or as many as the record had, if that is more. Behind a longer one the reader, which
  // is fetching its lines, would have to wait for those; and where the two sides send by turns, it would for any.
  static constexpr std::uint64_t kOwnedAhead = 4 * kRecordAlignment;
  static constexpr std::uint64_t kMostOwnedAhead = 16 * kRecordAlignment;
  void own_ahead() noexcept {
    const std::uint64_t record = written_ - begun_;
    if (record > kMostOwnedAhead) return;
    const std::uint64_t until = written_ + std::max(record, kOwnedAhead);
    for (owned_ = std::max(owned_, written_); owned_ < until; owned_ += kRecordAlignment) prefetch_for_writing(at(owned_));
  }

  // Behind the record that is being written, where that ends.
  std::uint64_t next_record() const noexcept {
    if ((flags_ & kTurns) != 0) return (written_ | (capacity_ - 1)) + 1;
    return (flags_ & kSpace) != 0 ? written_ + kRecordAlignment : written_;
  }
  void wipe(std::uint64_t position) noexcept {
    if ((position & (capacity_ - 1)) < lap_ ? position < payload_until_ : payload_beyond_) store_relaxed(stamp_of(at(position)), std::uint64_t{0});
  }
  // What is published may be the end of a record. The line that is left out keeps what it had, which must be no payload then.
  void end() noexcept {
    if (written_ != ends_ || (flags_ & (kTurns | kSpace)) == 0) return;
    if ((flags_ & kTurns) != 0) [[unlikely]]
      return turn();
    wipe(written_);
    written_ += kRecordAlignment;
  }

  std::uint64_t look() noexcept;
  std::uint64_t lap_for(std::uint64_t record) const noexcept;
  bool turns_behind(std::uint64_t wanted, std::uint64_t payload) noexcept;
  void turn() noexcept;

  static constexpr unsigned kByTurns = 4;

  RingHeader* header_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t lap_ = 0;  // a short one, or the capacity
  std::uint64_t written_ = 0;
  std::uint64_t in_cells_ = 0;  // as published
  CopyCost filling_;   // of the record that is being written
  RingTrials trials_;  // whether records go through the whole ring, and whether they are claimed

  bool answered_ = true;
  unsigned by_turns_ = 0;              // so many records in a row found an answer, to kByTurns
  std::uint64_t turns_at_ = 0;         // a record that begins at this position or later may be the lap's last
  std::uint64_t turned_from_ = 0,
                skipped_ = 0;          // the last turn: its position, and how far behind it the next record is
  std::uint64_t behind_ = 0;           // kTurns, kSpace or none, of the record that begins next
  std::uint64_t begun_ = 0, ends_ = 0;  // the record that is being written
  std::uint64_t flags_ = 0;            // of its stamp
  std::uint64_t owned_ = 0;            // lines before this position have been asked for
  std::uint64_t payload_until_ = 0;    // lines of the short lap before this position may hold payload that was not claimed, of the lap before
  bool payload_beyond_ = false;        // and those beyond it, of any lap
  std::uint64_t seen_head_ = 0;
  bool broken_ = false;
};

class RingReader {
 public:
  void attach(RingHeader& header, std::byte* bytes, std::uint64_t capacity,
              std::uint64_t lap = tuning().shm_short_lap) noexcept {
    header_ = &header, bytes_ = bytes, capacity_ = capacity;
    published_each_ = std::min(capacity / 4, lap / 16);
  }
  std::uint64_t capacity() const noexcept { return capacity_ - kRecordAlignment; }
  bool broken() const noexcept { return broken_; }

  // Between two records: whether the next one is there.
  bool record_here() noexcept {
    if (skips_behind_ < read_) skip();
    const std::uint64_t stamp = load_acquire(stamp_of(bytes_ + (read_ & (capacity_ - 1))));
    if ((stamp & ~kRecordFlags) != read_ + 1) return false;
    if ((stamp & (kTurns | kSpace)) != 0) skips_behind_ = read_, skips_a_line_ = (stamp & kTurns) == 0;
    return true;
  }
  // Of the record that begins here: what its writer has added to the stamp.
  std::uint64_t record_flags() const noexcept {
    return load_relaxed(stamp_of(bytes_ + (read_ & (capacity_ - 1)))) & kRecordFlags;
  }
  // The lines of its payload come over while its header is looked at: the first ones of a record of so many bytes. (To and fro 128 bytes to 1 KiB between
  // far cores take 0.9 of the time for it, in a stream no less.)
  void ask_for(std::uint64_t record) const noexcept {
    const std::uint64_t end = read_ + std::min(record, kAskedFor);
    for (std::uint64_t line = read_ + kRecordAlignment; line < end; line += kRecordAlignment) prefetch_for_reading(bytes_ + (line & (capacity_ - 1)));
  }
  // Bytes of it that are there, the line included, as far as the tail tells.
  std::uint64_t present() noexcept {
    look();
    return seen_tail_ > read_ ? seen_tail_ - read_ : 0;
  }
  // The next `bytes` are there: a record's head.
  void trust(std::uint64_t bytes) noexcept {
    if (seen_tail_ < read_ + bytes) seen_tail_ = read_ + bytes;
  }
  // Within a record: bytes that may be read; looks anew only when none is known.
  std::uint64_t available() noexcept { return seen_tail_ > read_ ? seen_tail_ - read_ : look(); }
  // At most `most` bytes from `offset` on, less where the ring wraps.
  Piece next(std::uint64_t most, std::uint64_t offset = 0) const noexcept {
    const std::uint64_t at = (read_ + offset) & (capacity_ - 1);
    const std::uint64_t straight = capacity_ - at;
    return {bytes_ + at, most < straight ? most : straight};
  }
  // The next `bytes`, which do not wrap, of a record with kClaimed, whose lines are claimed; those of how many bytes, the rest is claim()'s.
  std::uint64_t copy_and_claim(std::byte* to, std::uint64_t bytes) noexcept {
    return claiming_copy(to, bytes_ + (read_ & (capacity_ - 1)), bytes, kStampOffset);
  }
  // The next `bytes` but for the first `done`, which have been read and are of a record with kClaimed, before they are given back.
  void claim(std::uint64_t bytes, std::uint64_t done = 0) noexcept {
    for (std::uint64_t at = read_ + done; at < read_ + bytes; at += kRecordAlignment)
      store_relaxed(stamp_of(bytes_ + (at & (capacity_ - 1))), std::uint64_t{0});
  }
  // Gives `bytes` back to the writer; true when so much is free that a sleeping writer may need to be woken.
  bool advance(std::uint64_t bytes) noexcept {
    read_ += bytes;
    if (read_ - published_ < published_each_) return false;
    return publish();
  }
  // Within a record with kInCell: bytes of its payload, and of those behind it, that have come into cells behind the heads, and are not taken yet.
  std::uint64_t available_in_cells() noexcept {
    const std::uint64_t unread = load_acquire(header_->cells_filled) - taken_in_cells_;
    if (unread > Layout::kMostInCells) broken_ = true;
    return broken_ ? 0 : unread;
  }
  void advance_in_cells(std::uint64_t bytes) noexcept { taken_in_cells_ += bytes; }
  // What the writer has told of its copies; 0: nothing.
  std::uint64_t filling() const noexcept { return load_relaxed(header_->filling); }
  // Whether the writer may sleep until there is room. Only after advance() said true and a full_fence().
  bool writer_wants_space() const noexcept { return load_relaxed(header_->wants_space) != 0; }

 private:
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  static constexpr std::uint64_t kAskedFor = 17 * kRecordAlignment;

  std::uint64_t look() noexcept;
  void skip() noexcept {
    skips_behind_ = kNowhere;
    if (!skips_a_line_) [[unlikely]]
      return turn();
    read_ += kRecordAlignment;
  }
  void turn() noexcept;
  bool publish() noexcept;

  RingHeader* header_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t published_each_ = 0;        // bytes between two positions that are published
  std::uint64_t skips_behind_ = kNowhere;  // where a record begins with kTurns or kSpace
  bool skips_a_line_ = false;              // with kSpace
  std::uint64_t looked_after_ = 0;         // where it was last seen whether the writer waits
  std::uint64_t seen_tail_ = 0;
  std::uint64_t taken_in_cells_ = 0;
  bool broken_ = false;
};

}  // namespace lapwing::net::shm
