// The process's side of one connection whose packets come past the program in the kernel (area.h): what the program has taken, what it has passed on
// and how much of that has been read, and when a thread may sleep.
//
//   arrived      frames that were taken, in order. take() gives one, until release() its bytes stay in the ring. The payload is there, or in place.
//                One that is unmatched is to be matched before release()
//   read         of what was passed on. The first bytes of it may have been taken (skip()), or belong behind a part of a frame that lies in the
//                ring (unfinished())
//   read_all()   all that was passed on has been read and matched, and ended with a frame: the program may take frames again
//   place()      where what came first belongs in the stream. Before, nothing is taken
//
// Only one thread at a time, which holds the endpoint's lock. The program runs beside it: test/model/kernel_receive_test.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>

#include "base/futex.h"
#include "base/memory_order.h"
#include "net/kernel/area.h"
#include "net/lent_queue.h"
#include "wire/record.h"

namespace lapwing::net::kernel {

static_assert(sizeof(LentQueue) == sizeof(Queue) && static_cast<Word>(LentState::kLent) == kStateLent &&
                  static_cast<Word>(LentState::kClaimed) == kStateClaimed,
              "the program sees the queue as it is");
static_assert(kMostPayload == wire::kMostRecordBody && kRecordHeader == wire::kRecordHeaderBytes, "a record that holds one frame");
static_assert(Word{1} << kTrailerBit == Word{wire::kFlagTrailer} << 40 && Word{1} << kAcknowledgeBit == Word{wire::kFlagAcknowledge} << 40 && kTrailerLength == wire::kTrailerBytes, "the flag lies there in a header's first word");

class Intake {
 public:
  explicit Intake(ConnectionArea& area) noexcept : area_(area), queue_(new(&area.queue) LentQueue) { area_.answered = 0; }
  // Another connection takes the place of this one, and its area is as new (Program::join); what is lent stays lent.
  void restart() noexcept { taken_ = freed_ = read_ = skip_left_ = before_header_ = 0; }
  // Its frames come in records. Before open().
  void come_in_records() noexcept {
    store(area_.records, 1);
    store(area_.zone, 0);
    before_header_ = kRecordHeader;
  }
  // It has joined when so many bytes of it had been read. Nothing is taken before place(). Before open().
  void joined_after(std::uint64_t bytes) noexcept {
    read_before_ = static_cast<std::uint32_t>(bytes);
    placed_ = false;
    store(area_.taken_in, kNever);
    store(area_.skip_at, kNever);
  }
  bool is_placed() const noexcept { return placed_; }
  // The sequence number behind the last byte that came past the program.
  std::uint32_t sequence() const noexcept { return static_cast<std::uint32_t>(load(area_.sequence)); }
  // Of the connection so many bytes had come, read or not, when sequence() was `sequence`. So it is known where the first packet should have begun:
  // what it has in front of that is left out of what is read. After the first read, and before skip() of it. False: that cannot be.
  bool place(std::uint32_t sequence, std::uint64_t received) noexcept {
    const std::uint32_t due = sequence - static_cast<std::uint32_t>(received) + read_before_;
    const std::uint32_t twice = due - static_cast<std::uint32_t>(load(area_.first));
    skip_left_ = twice == ~std::uint32_t{0} ? 0 : twice;  // the end of the stream may have been counted
    placed_ = skip_left_ < passed();
    return placed_;
  }

  LentQueue& queue() noexcept { return *queue_; }
  // The kernel has given bytes twice that could not be cut off, or left some out: this connection cannot go on. To be asked after each read, before
  // its bytes are believed.
  bool torn() const noexcept { return load(area_.torn) != 0; }
  // So many packets came of which a part had come before.
  std::uint64_t cut() const noexcept { return load(area_.cut); }

  // ---- what was taken ----

  std::uint64_t arrived() const noexcept { return load(area_.arrived); }  // frames
  bool has_arrivals() const noexcept { return arrived() != taken_; }
  struct Frame {
    std::uint64_t position;  // of its receive in the queue, claimed; or kUnmatched
    wire::FrameHeader header;
    const std::byte* payload;
    bool in_place;      // the payload is where the receive wants it
    bool acknowledged;  // the program has told the sender, as a trailer has it
    std::byte* record;  // that holds this frame and nothing else, not checked; null: it came without
  };
  // The next one. Only if there is one, and after release() of the one before.
  Frame take() noexcept {
    const Arrival& arrival = area_.arrivals[taken_ % kPlaces];
    std::byte* const start = in_ring(arrival.start);
    const std::byte* const header = start + before_header_;
    const bool in_place = arrival.in_place != 0;
    Frame frame{arrival.position, {}, in_place ? queue_->room(arrival.position).base : header + kHeaderLength, in_place,
                arrival.acknowledged != 0, before_header_ != 0 ? start : nullptr};
    std::memcpy(frame.header.words, header, kHeaderLength);
    return frame;
  }
  void release(const Frame& frame) noexcept {
    ++taken_;
    const std::uint64_t beside = frame.record != nullptr ? kRecordHeader + kRecordTrailer : frame.header.trailer_bytes();
    freed_ += used_by_frame(kHeaderLength + frame.header.payload_bytes() + beside, frame.in_place);
    store(area_.freed, freed_);
    store(area_.collected, taken_);
  }

  // ---- what was passed on ----

  std::uint64_t passed() const noexcept { return load(area_.passed); }  // bytes
  bool has_passed() const noexcept { return passed() != read_; }
  // Some of what is read next has been taken.
  bool next_is_taken() const noexcept { return skip_left_ != 0 || load(area_.skip_at) == read_; }
  // Of these bytes, which were read next, so many have been taken.
  std::size_t skip(std::size_t bytes) noexcept {
    if (load(area_.skip_at) == read_) skip_left_ = load(area_.skip);
    const std::size_t skipped = std::min<std::uint64_t>(skip_left_, bytes);
    skip_left_ -= skipped;
    read_ += bytes;
    return skipped;
  }
  // What has come of a frame that the program takes no further: its receive is given back, and its bytes come before those that are read. Only
  // where the program takes nothing: when something has been passed on, or after close(). Once. Of a record it is the first bytes, and all that follow.
  struct Begun {
    std::span<const std::byte> header, payload;
  };
  Begun unfinished() noexcept {
    if (area_.want == 0) return {};
    const std::byte* bytes = in_ring(area_.start);
    const std::byte* payload = area_.in_place ? queue_->room(area_.position).base : bytes + kHeaderLength;
    const std::size_t got = area_.got - kHeaderLength;
    freed_ += used_by_frame(area_.want, area_.in_place);
    area_.want = 0;
    if (area_.position != kUnmatched) queue_->unclaim(area_.position);
    return {{bytes, kHeaderLength}, {payload, got}};
  }
  // The bytes of unfinished() have been taken.
  void release_unfinished() noexcept { store(area_.freed, freed_); }
  // What was read ends with a frame, and has been matched.
  void read_all() noexcept { store(area_.taken_in, read_); }

  // ---- sleep ----

  void open() noexcept {
    if (load(area_.open) != kOpen) store(area_.open, kOpen);
  }
  bool is_open_unattended() const noexcept { return (load(area_.open) & kOpening) == kOpenUnattended; }
  // From now on everything is passed on, and so it wakes. False: the program is looking at a packet, or there is something to take or to read.
  bool close() noexcept { return leave(kClosed); }
  // The same, but for what matches an unattended receive: no thread waits for that. `noticed`: what is passed on comes with a notice (notices.h);
  // those that have come are to be heard before.
  bool close_to_attended(bool noticed = false) noexcept { return leave(kOpenUnattended | (noticed ? kNoticed : 0)); }
  // It may take all: the application computes, and no operation is in flight.
  bool open_at_rest(bool noticed) noexcept { return leave(kOpen | kAtRest | (noticed ? kNoticed : 0)); }
  // Whether the program answers requests. Once it does no more, all that it has answered is among the arrivals.
  void answer(bool may) noexcept {
    store(area_.answers, may);
    if (!may) await_program();
  }
  // The connection is over: as close(), and on return the program is not looking at any packet of it.
  void finish() noexcept {
    close();
    await_program();
  }

 private:
  // It sees what has been stored before with the next packet.
  void await_program() noexcept {
    full_fence();  // pairs with the program's, as in leave()
    while (load(area_.busy) != 0) cpu_relax();
  }
  bool leave(Word open) noexcept {
    store(area_.open, open);
    full_fence();  // pairs with the program's: it marks itself busy, and then looks whether it may take
    return load(area_.busy) == 0 && !has_arrivals() && !has_passed();
  }
  static Word load(const Word& word) noexcept {
    return std::atomic_ref<Word>(const_cast<Word&>(word)).load(std::memory_order_acquire);
  }
  static void store(Word& word, Word value) noexcept {
    std::atomic_ref<Word>(word).store(value, std::memory_order_release);
  }
  std::byte* in_ring(Word start) const noexcept {
    return reinterpret_cast<std::byte*>(area_.landing) + start % kRingBytes;
  }

  static constexpr Word kNever = ~Word{0};  // a count of bytes

  ConnectionArea& area_;
  LentQueue* queue_;
  std::uint64_t taken_ = 0, freed_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t skip_left_ = 0;
  std::uint32_t read_before_ = 0;
  std::uint64_t before_header_ = 0;  // bytes in front of each frame: the header of its record
  bool placed_ = true;
};

}  // namespace lapwing::net::kernel
