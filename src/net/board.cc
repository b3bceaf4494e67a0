#include "net/board.h"

#include <algorithm>
#include <utility>

#include "base/delay_point.h"
#include "base/internal_error.h"

namespace lapwing::net {

// The number came in a message, after the members before us had left; so their last word on the rounds is visible.
Board::Board(BoardHost& host, unsigned number, const BoardMemory& memory, std::vector<std::uint32_t> members,
             int rank) noexcept
    : host_(host),
      memory_(memory),
      number_(number),
      members_(std::move(members)),
      rank_(rank),
      size_(static_cast<int>(members_.size())),
      next_round_(load_acquire(memory.header().first_round)),
      complete_(next_round_) {}

// The last one to leave gives the board back. All have taken the same rounds.
Board::~Board() {
  LAPWING_CHECK(watcher_ == nullptr);
  if (number_ == Boards::kWorld || !host_.open()) return;
  BoardHeader& header = memory_.header();
  if (header.left.fetch_add(1, std::memory_order_acq_rel) + 1 != static_cast<std::uint32_t>(size_)) return;
  store_relaxed(header.left, 0u);
  store_release(header.first_round, next_round_);
  host_.give_back(number_);
}

bool Board::scan(std::uint64_t round) noexcept {
  if (scanned_round_ != round) {
    scanned_round_ = round;
    scanned_ = 0;
  }
  // Everybody begins with the next rank, so that not all look at the same line.
  for (; scanned_ < size_; ++scanned_) {
    const int rank = rank_ + scanned_ < size_ ? rank_ + scanned_ : rank_ + scanned_ - size_;
    if (!posted(rank, round)) return false;
  }
  scanned_ = 0;
  complete_ = round + 1;
  return true;
}

void Board::post(std::uint64_t round, std::uint64_t bytes, bool wakes_each) noexcept {
  BoardCell& cell = memory_.cell(static_cast<std::uint64_t>(rank_), round);
  cell.bytes = bytes;
  LAPWING_DELAY_POINT("board.post");
  store_release(cell.stamp, round + 1);
  LAPWING_DELAY_POINT("board.posted");
  full_fence();  // stamp before the others' stamps and `watching`; pairs with the fences of arm() and of another post()
  if (wakes_each || all_posted(round)) wake_watching();
}

void Board::wake_watching() noexcept {
  LAPWING_DELAY_POINT("board.wake");
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_ || load_relaxed(memory_.watching(static_cast<std::uint64_t>(rank))) == 0) continue;
    host_.wake(members_[static_cast<std::size_t>(rank)]);
  }
}

bool Board::watch(Watcher& watcher, int rank, std::uint64_t round) noexcept {
  LAPWING_CHECK(watcher_ == nullptr);
  watched_rank_ = rank;
  watched_round_ = round;
  if (ready()) return false;
  watcher_ = &watcher;
  if (host_.watch(*this)) return true;
  end_watch();
  return false;
}

void Board::unwatch() noexcept {
  if (watcher_ == nullptr) return;
  host_.unwatch(*this);
  end_watch();
}

Board::Watcher& Board::end_watch() noexcept {
  if (announced_) store_relaxed(memory_.watching(static_cast<std::uint64_t>(rank_)), std::uint8_t{0});
  announced_ = false;
  return *std::exchange(watcher_, nullptr);
}

bool Board::has_member(std::uint32_t local) const noexcept {
  return std::find(members_.begin(), members_.end(), local) != members_.end();
}

}  // namespace lapwing::net
