// Memory between several sides that changes hands: which cells a side may write into.
//
// A side writes only into a cell that it has, and has it no longer when it has shown another side what lies there. That one has it from then
// on, and may write into it when it has read what it wants. So in an exchange, or where the two send by turns, a side writes into memory that its
// own caches have, and no line has to be taken away from another one first, as it has to in a ring. Nothing is told of it but the cell's
// number: what shows the bytes, a post's stamp or a record's, is what hands the cell over.
//
// Which one: that of which this side has read nearly as many bytes as it is to write; of those that are alike, the last. Of a shorter one, what is
// beyond has to come from another side, and a longer one is wanted for a longer frame. (270 KB in a part of 32 KiB and one of 237, to and fro
// between near cores: 45 us where the last one read is always taken, because each part then goes where the other one came from; this way 18.)
//
// Each side begins with as many. One that only sends soon has none, and uses its ring, in which it can run ahead.
//
// Used between two ranks on a shared area (coll/shared_area.h), where what was read is kept when the rank posts next, and among all ranks of a host
// beside the rings of their messages (net/shm/cell_pool.h). Two ranks, each with a core (EPYC, Zen 4), rings -> cells, us, near and
// distant cores: a broadcast by turns of 1 KiB 0.32 -> 0.21 and 0.98 -> 0.51, an allgather of 4 KiB 0.47 -> 0.38 and 1.72 -> 0.94, of 32 KiB
// 2.7 -> 2.2 and 5.4 -> 3.8.
//
// A model with weak memory runs this code (test/model/cells_test.cc). Pure: it moves no byte. What a peer says is checked: a cell that is none, or
// that this side has, is not taken.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lapwing {

class HandedCells {
 public:
  // That a side keeps, whatever is handed over to it.
  static constexpr unsigned kMost = 16;

  // None at all.
  HandedCells() noexcept { mine_.fill(kNone); }
  // Those with which a side begins, of several sides, each with as many.
  HandedCells(unsigned side, unsigned sides, unsigned each) noexcept : HandedCells() {
    all_ = sides * each;
    for (unsigned i = 0; i < each; ++i) mine_[count_++] = static_cast<std::uint16_t>(side * each + i);
  }

  // How many this side has.
  unsigned count() const noexcept { return count_; }
  bool has_one() const noexcept { return count_ != 0; }
  // Hands one over, for so many bytes: its number.
  unsigned take(std::uint32_t bytes) noexcept {
    const unsigned at = best_for(bytes), cell = mine_[at];
    --count_;
    for (unsigned i = at; i < count_; ++i) mine_[i] = mine_[i + 1], bytes_[i] = bytes_[i + 1];
    mine_[count_] = kNone;
    return cell;
  }
  // What another side has shown there, so many bytes, has been read. False: this side has as many as it keeps, and not this one.
  bool keep(unsigned cell, std::uint32_t bytes) noexcept {
    if (cell >= all_ || has(cell)) return true;
    if (count_ == kMost) return false;
    mine_[count_] = static_cast<std::uint16_t>(cell);
    bytes_[count_++] = bytes;
    return true;
  }

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  // All are looked at: one comparison of vectors.
  bool has(unsigned cell) const noexcept {
    unsigned found = 0;
    for (const std::uint16_t mine : mine_) found |= mine == cell;
    return found != 0;
  }
  static std::uint32_t apart(std::uint32_t one, std::uint32_t other) noexcept { return std::max(one, other) - std::min(one, other); }
  // The place among mine_ of the one to write so many bytes into: the last, mostly.
  unsigned best_for(std::uint32_t bytes) const noexcept {
    const unsigned last = count_ - 1;
    return apart(bytes_[last], bytes) <= bytes / 16 ? last : nearest(bytes);
  }
  [[gnu::noinline]] unsigned nearest(std::uint32_t bytes) const noexcept {
    unsigned best = count_ - 1;
    for (unsigned at = best; at-- != 0;)
      if (apart(bytes_[at], bytes) < apart(bytes_[best], bytes)) best = at;
    return best;
  }

  unsigned all_ = 0, count_ = 0;
  std::array<std::uint16_t, kMost> mine_;     // the one that was read last comes last; behind those kNone
  std::array<std::uint32_t, kMost> bytes_{};  // of each, that were read there
};

}  // namespace lapwing
