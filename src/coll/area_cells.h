// Memory that changes hands: where posts between two ranks lie that are too long for a slot, if they may.
//
// A rank writes only into a cell that it has, and has it no longer when it has posted it. The other rank has it from then on, and may write its own
// posts there when it has read what it wants, which it has when it posts next (shared_area.h); it does so first in the cell that it has read
// last. So in an exchange, or where the two post by turns, a rank writes into memory that its own caches have, and no line has to be taken away from
// the other one first, as it has to in a ring. Nothing is told of it but the place of the post: the stamp that shows it is what hands the cell over.
//
// Each rank begins with two cells. One that only posts soon has none, and uses its ring, in which it can run ahead (post_ring.h). So does a post
// that its own rank reads as well. A cell whose post is never read, because calls did not match, is lost until the area's next use.
//
// Two ranks, each with a core (EPYC, Zen 4), rings -> cells, us, near and distant cores: a broadcast by turns of 1 KiB 0.32 -> 0.21 and 0.98 -> 0.51,
// an allgather of 4 KiB 0.47 -> 0.38 and 1.72 -> 0.94, of 32 KiB 2.7 -> 2.2 and 5.4 -> 3.8.
//
// Pure: it moves no byte. What a peer says is checked: a cell that is none, or that this rank has, is not taken.
#pragma once

#include <array>
#include <cstdint>

#include "coll/post_ring.h"

namespace lapwing::coll {

class AreaCells {
 public:
  static constexpr unsigned kEach = 2, kCount = 2 * kEach;
  static constexpr std::uint64_t kBytes = PostRing::kPiece;

  // Of one of so many ranks; none where they are not two.
  AreaCells(int rank, int ranks) noexcept {
    for (unsigned i = 0; ranks == 2 && i < kEach; ++i) push(static_cast<unsigned>(rank) * kEach + i);
  }

  // Whether there is one for a post of so many bytes.
  bool has_one_for(std::uint64_t bytes) const noexcept { return bytes <= kBytes && count_ != 0; }
  // Hands it over: its number.
  unsigned take() noexcept {
    const unsigned cell = mine_[--count_];
    owned_ &= ~(1u << cell);
    return cell;
  }
  // A post of the other rank that lies there has been looked at.
  void read(unsigned cell) noexcept {
    if (cell < kCount) read_ |= 1u << cell;
  }
  // All that was looked at has been read.
  void keep_what_was_read() noexcept {
    for (unsigned cell = 0; read_ != 0; ++cell, read_ >>= 1)
      if ((read_ & 1) != 0 && (owned_ >> cell & 1) == 0) push(cell);
  }

 private:
  void push(unsigned cell) noexcept {
    mine_[count_++] = static_cast<std::uint8_t>(cell);
    owned_ |= 1u << cell;
  }

  std::array<std::uint8_t, kCount> mine_{};  // the last one is taken first
  unsigned count_ = 0;
  unsigned owned_ = 0, read_ = 0;  // bit n: cell n
};

}  // namespace lapwing::coll
