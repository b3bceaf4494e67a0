// Memory between two sides that changes hands: which cells a side may write into.
//
// A side writes only into a cell that it has, and has it no longer when it has shown the other side what lies there. The other side has it from then
// on, and may write into it when it has read what it wants. So in an exchange, or where the two send by turns, a side writes into memory that its
// own caches have, and no line has to be taken away from the other one first, as it has to in a ring. Nothing is told of it but the cell's
// number: what shows the bytes, a post's stamp or a record's, is what hands the cell over.
//
// Which one: that of which this side has read nearly as many bytes as it is to write; of those that are alike, the last. Of a shorter one, what is
// beyond has to come from the other side, and a longer one is wanted for a longer frame. (270 KB in a part of 32 KiB and one of 237, to and fro
// between near cores: 45 us where the last one read is always taken, because each part then goes where the other one came from; this way 18.)
//
// Each side begins with as many. One that only sends soon has none, and uses its ring, in which it can run ahead.
//
// Used between two ranks on a shared area (coll/shared_area.h), where what was read is kept when the rank posts next, and between each two ranks of
// a host beside the rings of their messages (net/shm/ring.h). Two ranks, each with a core (EPYC, Zen 4), rings -> cells, us, near and
// distant cores: a broadcast by turns of 1 KiB 0.32 -> 0.21 and 0.98 -> 0.51, an allgather of 4 KiB 0.47 -> 0.38 and 1.72 -> 0.94, of 32 KiB
// 2.7 -> 2.2 and 5.4 -> 3.8.
//
// A model with weak memory runs this code (test/model/cells_test.cc). Pure: it moves no byte. What a peer says is checked: a cell that is none, or that this side has, is not taken.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace lapwing {

class HandedCells {
 public:
  static constexpr unsigned kMostEach = 8;

  // None at all.
  HandedCells() noexcept = default;
  // Those with which a side, 0 or 1, begins: the first or the second half of all.
  HandedCells(unsigned side, unsigned each) noexcept : all_(2 * each) {
    for (unsigned i = 0; i < each; ++i) push(side * each + i);
  }

  // How many this side has.
  unsigned count() const noexcept { return count_; }
  bool has_one() const noexcept { return count_ != 0; }
  // Hands one over, for so many bytes: its number.
  unsigned take(std::uint32_t bytes) noexcept {
    const unsigned at = best_for(bytes), cell = mine_[at];
    --count_;
    for (unsigned i = at; i < count_; ++i) mine_[i] = mine_[i + 1];
    owned_ &= ~(1u << cell);
    return cell;
  }
  // What the other side has shown there, so many bytes, has been looked at.
  void read(unsigned cell, std::uint32_t bytes) noexcept {
    if (cell >= all_) return;
    read_ |= 1u << cell;
    if ((owned_ >> cell & 1) == 0) bytes_read_[cell] = bytes;
  }
  // All that was looked at has been read.
  void keep_what_was_read() noexcept {
    for (unsigned fresh = std::exchange(read_, 0u) & ~owned_; fresh != 0; fresh &= fresh - 1) push(static_cast<unsigned>(std::countr_zero(fresh)));
  }

 private:
  // The place among mine_ of the one to write so many bytes into.
  unsigned best_for(std::uint32_t bytes) const noexcept {
    unsigned best = count_ - 1;
    std::uint32_t least = ~0u;
    for (unsigned at = count_; least > bytes / 16 && at-- != 0;) {
      const std::uint32_t read = bytes_read_[mine_[at]], apart = std::max(read, bytes) - std::min(read, bytes);
      if (apart < least) best = at, least = apart;
    }
    return best;
  }
  void push(unsigned cell) noexcept {
    mine_[count_++] = static_cast<std::uint8_t>(cell);
    owned_ |= 1u << cell;
  }

  unsigned all_ = 0;
  std::array<std::uint8_t, 2 * kMostEach> mine_{};  // the one that was read last comes last
  unsigned count_ = 0;
  unsigned owned_ = 0, read_ = 0;  // bit n: cell n
  std::array<std::uint32_t, 2 * kMostEach> bytes_read_{};  // of each cell, the last time
};

}  // namespace lapwing
