#include "net/shm/board_room.h"

#include <algorithm>

#include "base/delay_point.h"

namespace lapwing::net::shm {

bool BoardRoom::poll() noexcept {
  bool moved = false;
  for (std::size_t i = watched_.size(); i-- > 0;) {  // backwards: a watcher may wait again, at the end
    if (i >= watched_.size()) continue;
    Board& board = *watched_[i];
    const Board::Outlook outlook = board.outlook();
    if (outlook == Board::Outlook::kNotYet) continue;
    end_watch(i);
    if (outlook == Board::Outlook::kThere)
      board.end_watch().on_posted();  // may destroy the board
    else
      board.end_watch().on_member_lost(board.why_never());  // likewise
    moved = true;
  }
  return moved;
}

void BoardRoom::arm() noexcept {
  armed_ = true;
  for (Board* board : watched_) board->announce();
}

bool BoardRoom::work_left() noexcept {
  return std::any_of(watched_.begin(), watched_.end(),
                     [](Board* board) { return board->outlook() != Board::Outlook::kNotYet; });
}

bool BoardRoom::watch(Board& board) noexcept {
  if (armed_) {
    // Nobody may call arm() before the driver sleeps (or it sleeps already): do here what arm() would do.
    board.announce();
    full_fence();  // pairs with the fence in Board::post()
    LAPWING_DELAY_POINT("board.watch");
    if (board.outlook() != Board::Outlook::kNotYet) return false;
  }
  watched_.push_back(&board);
  return true;
}

void BoardRoom::unwatch(Board& board) noexcept {
  const auto at = std::find(watched_.begin(), watched_.end(), &board);
  if (at != watched_.end()) end_watch(static_cast<std::size_t>(at - watched_.begin()));
}

void BoardRoom::end_watch(std::size_t index) noexcept {
  watched_[index] = watched_.back();
  watched_.pop_back();
}

void BoardRoom::forget(Board& board) noexcept {
  opened_.erase(std::remove(opened_.begin(), opened_.end(), &board), opened_.end());
}

void BoardRoom::lose(std::uint32_t local, const Status& why) noexcept {
  lost_.push_back({local, why.copy()});
  for (Board* board : opened_) board->lose(local, why);
  poll();
}

void BoardRoom::leave() noexcept {
  for (Board* board : opened_) board->leave();
}

unsigned BoardRoom::claim(std::uint64_t key) noexcept {
  std::atomic<std::uint64_t>& used = segment_.boards_used();
  constexpr std::uint64_t kWorldBit = std::uint64_t{1} << kWorld;
  std::uint64_t before = load_relaxed(used);
  for (;;) {
    const std::uint64_t free = ~(before | kWorldBit);
    if (free == 0) return kNone;
    const std::uint64_t bit = free & -free;
    // Pairs with the release in give_back(): what the users before us wrote comes first.
    if (!used.compare_exchange_weak(before, before | bit, std::memory_order_acquire, std::memory_order_relaxed))
      continue;
    const auto number = static_cast<unsigned>(__builtin_ctzll(bit));
    store_release(segment_.board_key(number), key);  // seen by all who have been told the key
    return number;
  }
}

unsigned BoardRoom::find(std::uint64_t key) noexcept {
  if (!open()) return kNone;
  for (unsigned number = 0; number < kCount; ++number)
    if (number != kWorld && load_acquire(segment_.board_key(number)) == key) return number;
  return kNone;
}

void BoardRoom::give_back(unsigned number) noexcept {
  if (!open()) return;
  store_relaxed(segment_.board_key(number), std::uint64_t{0});
  segment_.boards_used().fetch_and(~(std::uint64_t{1} << number), std::memory_order_release);
}

bool BoardRoom::all_here(const std::vector<PeerId>& members) const noexcept {
  return std::all_of(members.begin(), members.end(),
                     [this](PeerId member) { return member < local_of_.size() && local_of_[member] >= 0; });
}

std::unique_ptr<Board> BoardRoom::open_board(unsigned number, const std::vector<PeerId>& members, int rank) {
  if (!open() || number >= kCount || !all_here(members)) return nullptr;
  std::vector<std::uint32_t> locals;
  locals.reserve(members.size());
  for (const PeerId member : members) locals.push_back(static_cast<std::uint32_t>(local_of_[member]));
  auto board = std::make_unique<Board>(*this, number, segment_.board(number), std::move(locals), rank);
  for (const Lost& lost : lost_) board->lose(lost.local, lost.why);
  opened_.push_back(board.get());
  return board;
}

}  // namespace lapwing::net::shm
