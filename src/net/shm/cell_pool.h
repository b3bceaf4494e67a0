// The cells of one host (base/handed_cells.h), as one rank has them: those in its hands, and what is spare.
//
// A cell goes from hand to hand among all ranks of the host, so that a rank that has read what came from its left neighbour writes there what goes to
// its right one. What a rank is handed over beyond what it keeps (HandedCells::kMost), as one that gathers is, or still has when it ends, it makes
// spare: a bit in the segment, set after it has read what lies there. A rank that has none takes a spare one where the other side has sent something since
// its own last record: where it only sends, the ring is better, in which it can run ahead. It looks at one word of bits each time.
//
// What a rank has in its hands when it dies is lost to the others. That costs them nothing but speed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/handed_cells.h"
#include "net/shm/layout.h"
#include "net/shm/segment.h"

namespace lapwing::net::shm {

class CellPool {
 public:
  void attach(Segment& segment, std::uint32_t rank) noexcept {
    const Layout& layout = segment.layout();
    cells_ = HandedCells(rank, layout.local_ranks, Layout::kCellsEach);
    first_ = segment.cell(0);
    count_ = layout.cells();
    bytes_ = layout.cell_bytes();
    spare_ = segment.spare_cells();
    words_ = layout.spare_words();
    next_word_ = rank * Layout::kCellsEach / 64;
  }
  // The length of each.
  std::uint64_t bytes() const noexcept { return bytes_; }
  bool exists(std::uint64_t cell) const noexcept { return cell < count_; }
  std::byte* memory(std::uint64_t cell) const noexcept { return first_ + cell * bytes_; }

  // Whether there is one to write into. `answered`: the other side has sent something since this rank's last record.
  bool has_one(bool answered) noexcept {
    const unsigned reserve = came_ != 0 ? 0 : Layout::kCellsEach - Layout::kCellsAtFirst;
    return cells_.count() > reserve || (answered && cells_.count() == 0 && take_spare());
  }
  // Where has_one(): hands it over for so many bytes.
  unsigned take(std::uint64_t bytes) noexcept;
  // What came there, so many bytes, has been read.
  void keep(std::uint32_t cell, std::uint64_t bytes) noexcept;
  // This rank ends.
  void give_all() noexcept;
  // How many frames came in cells.
  std::uint64_t came() const noexcept { return came_; }

 private:
  void make_spare(std::uint32_t cell) noexcept;
  bool take_spare() noexcept;

  HandedCells cells_;
  std::byte* first_ = nullptr;
  std::uint64_t count_ = 0, bytes_ = 0;
  std::atomic<std::uint64_t>* spare_ = nullptr;
  std::uint64_t words_ = 0, next_word_ = 0;
  std::uint64_t came_ = 0;
};

}  // namespace lapwing::net::shm
