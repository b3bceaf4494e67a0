#include "coll/shared_area.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/delay_point.h"
#include "base/internal_error.h"
#include "coll/area_pool.h"

namespace lapwing::coll {

// The key came in a message, after the members before us had left; so their last word on the rounds is visible.
SharedArea::SharedArea(AreaPool& pool, unsigned number, const PoolMemory& memory, Members members, int rank) noexcept
    : pool_(pool),
      host_(memory),
      memory_(memory.area(number)),
      number_(number),
      members_(std::move(members)),
      rank_(rank),
      size_(static_cast<int>(members_.locals.size())),
      next_round_(load_acquire(memory_.header().first_round)),
      ring_(PostRing::lap(size_)),
      cells_(size_ == 2 ? HandedCells(static_cast<unsigned>(rank), 2, RingPlace::kCellsEach) : HandedCells()),
      trials_({.bytes = PostRing::lap(size_),
               .past_caches = kCanStream,
               .claims = size_ == 2,  // what several read none can have for itself
               .readers = static_cast<unsigned>(std::max(size_ - 1, 1))}),
      complete_(next_round_) {
  bool reaches_all = true;
  for (const std::uint32_t local : members_.locals) reaches_all = reaches_all && pool_.reaches(local);
  store_relaxed(memory_.reaches(static_cast<std::uint64_t>(rank_)), std::uint8_t{reaches_all});
}

SharedArea::~SharedArea() {
  LAPWING_CHECK(watcher_ == nullptr);
  leave();
  pool_.forget(*this);
}

template <typename Wanted>
void SharedArea::wake_watching(Wanted wanted) noexcept {
  LAPWING_DELAY_POINT("area.wake");
  for (int rank = 0; rank < size_; ++rank) {
    const std::uint8_t watched = load_relaxed(memory_.watching(static_cast<std::uint64_t>(rank)));
    if (rank == rank_ || watched == 0 || !wanted(watched)) continue;
    pool_.notify(members_.locals[static_cast<std::size_t>(rank)]);
  }
}

// The last one to leave gives the area back. Where the program is in order all have taken the same rounds; the next use begins
// behind those of the rank that took most in any case, so that no old stamp passes for a new one. That round may be told only when
// all have left: a member opens its end when it first needs it, and must then find the round with which this use began.
void SharedArea::leave() noexcept {
  if (left_ || !pool_.open()) return;
  left_ = true;
  AreaHeader& header = memory_.header();
  std::uint64_t end = load_relaxed(header.end_round);
  while (end < next_round_ && !header.end_round.compare_exchange_weak(end, next_round_, std::memory_order_relaxed)) {
  }
  store_relaxed(memory_.gone(static_cast<std::uint64_t>(rank_)), lost_.empty() ? AreaMemory::kLeft : AreaMemory::kLeftAfterLoss);
  LAPWING_DELAY_POINT("area.leave");
  const bool last = header.left.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_);
  if (!last) {
    full_fence();  // gone before the others' `watching`; pairs with the fence of arm()
    return wake_watching([](std::uint8_t) { return true; });
  }
  if (number_ == AreaPool::kWorld) return;
  for (int rank = 0; rank < size_; ++rank)
    store_relaxed(memory_.gone(static_cast<std::uint64_t>(rank)), std::uint8_t{0});
  for (int rank = 0; rank < size_; ++rank)
    store_relaxed(memory_.reaches(static_cast<std::uint64_t>(rank)), std::uint8_t{0});
  store_relaxed(header.direct_from, std::uint64_t{0});
  store_relaxed(header.direct_until, std::uint64_t{0});
  store_relaxed(header.left, 0u);
  store_release(header.first_round, load_relaxed(header.end_round));
  pool_.give_back(number_);
}

bool SharedArea::all_reach() const noexcept {
  for (int rank = 0; rank < size_; ++rank)
    if (load_relaxed(memory_.reaches(static_cast<std::uint64_t>(rank))) == 0) return false;
  return true;
}

// Pairs with the release in end_direct_copies(), or with that of a later post.
bool SharedArea::direct_copies_are_over() const noexcept {
  const std::uint64_t round = load_acquire(memory_.header().direct_until);
  return round != 0 && settled_ >= round;
}

bool SharedArea::may_copy_directly() noexcept {
  if (copies_directly_) {
    if (!direct_copies_are_over()) [[likely]]
      return true;
    trials_.pause(false);  // one of direct copies may have been under way
    return copies_directly_ = false;
  }
  std::atomic<std::uint64_t>& from = memory_.header().direct_from;
  const std::uint64_t round = load_acquire(from);  // pairs with the release below, or with that of a later post
  if (round != 0) return copies_directly_ = settled_ >= round && !direct_copies_are_over();
  if (rank_ == 0 && all_reach()) store_release(from, round_to_come());
  return false;
}

void SharedArea::refuse(std::uint64_t first_round) noexcept {
  store_relaxed(memory_.refused(static_cast<std::uint64_t>(rank_)), first_round + 1);
}

// The first rank that is refused a copy names the round.
void SharedArea::end_direct_copies() noexcept {
  std::uint64_t none = 0;
  memory_.header().direct_until.compare_exchange_strong(none, round_to_come(), std::memory_order_release, std::memory_order_relaxed);
}

net::Copied SharedArea::read_from(int rank, std::uint64_t address, void* to, std::uint64_t bytes) noexcept {
  return pool_.read_from(members_.locals[static_cast<std::size_t>(rank)], address, to, bytes);
}

net::Copied SharedArea::write_to(int rank, const void* from, std::uint64_t address, std::uint64_t bytes) noexcept {
  return pool_.write_to(members_.locals[static_cast<std::size_t>(rank)], from, address, bytes);
}

bool SharedArea::scan(std::uint64_t round) noexcept {
  if (scanned_round_ != round) {
    scanned_round_ = round;
    scanned_ = 0;
  }
  // Each begins with the next rank, so that not all look at the same line.
  for (; scanned_ < size_; ++scanned_) {
    const int rank = rank_ + scanned_ < size_ ? rank_ + scanned_ : rank_ + scanned_ - size_;
    if (!see(rank, round)) return false;
  }
  scanned_ = 0;
  complete_ = round + 1;
  return true;
}

// The round that all must have posted before this rank may write its post of `round`, or below zero.
std::int64_t SharedArea::needed_before(std::uint64_t round, std::uint64_t bytes, bool kept) const noexcept {
  const std::int64_t slot = static_cast<std::int64_t>(round) + 1 - static_cast<std::int64_t>(AreaMemory::kSlotRounds);
  return bytes <= AreaSlot::kBytes || may_use_cell(bytes, kept) ? slot : std::max(slot, ring_.needed(bytes, complete_));
}

// Looks a quarter of its posts ahead first: if those are over it need not look for as many posts to come.
bool SharedArea::may_post(std::uint64_t round, std::uint64_t bytes, bool kept) noexcept {
  keep_what_was_read();
  const std::int64_t needed = needed_before(round, bytes, kept);
  if (needed < static_cast<std::int64_t>(complete_)) return true;
  const auto least = static_cast<std::uint64_t>(needed);
  return all_posted(least + (round - 1 - least) / 4) || all_posted(least);
}

std::uint64_t SharedArea::awaited_before(std::uint64_t round, std::uint64_t bytes, bool kept) const noexcept {
  const auto needed = static_cast<std::uint64_t>(std::max<std::int64_t>(needed_before(round, bytes, kept), 0));
  return needed + (round - 1 - needed) / 2;
}

void SharedArea::keep_what_was_read() noexcept {
  for (unsigned cell = 0; cell < RingPlace::kCells; ++cell)
    if (has_read_[cell] != 0) (void)cells_.keep(cell, std::exchange(has_read_[cell], 0));
}

// The slot is a line at which a rank that waits looks all the time. It takes the line away from a writer that has begun to write it and goes on with
// the bytes, and the line has to come back once more: so the slot is written last, all of it. But where this rank has seen that all have posted
// the round before, they come from there as it does, and none waits yet: the sooner the line is asked for, the better. (Two distant cores,
// broadcasts of 1 KiB: one after the other 0.50 us with the slot last, 0.68 with it first; with a barrier between 0.67 and 0.53.)
std::byte* SharedArea::destination(std::uint64_t round, std::uint64_t bytes, bool kept) noexcept {
  AreaSlot& slot = memory_.slot(static_cast<std::uint64_t>(rank_), round);
  in_cell_ = bytes > AreaSlot::kBytes && may_use_cell(bytes, kept);
  if (bytes <= AreaSlot::kBytes) return slot.data;
  std::byte* const to = in_cell_ ? take_cell(bytes) : take_from_ring(round, bytes);
  place_is_told_ = complete_ == round;
  if (place_is_told_) slot.set_place(place_);
  return to;
}

std::byte* SharedArea::take_cell(std::uint64_t bytes) noexcept {
  const unsigned cell = cells_.take(static_cast<std::uint32_t>(bytes));
  place_ = RingPlace::in_cell(cell, bytes);
  return memory_.cell(cell);
}

std::byte* SharedArea::take_from_ring(std::uint64_t round, std::uint64_t bytes) noexcept {
  place_ = {ring_.take(round, bytes, complete_), bytes};
  const bool whole = trials_.way(PostRing::kLong) == RingTrials::Way::kWholeLaps;
  if (whole && !std::exchange(lap_is_there_, true)) make_lap();
  ring_.go_whole_laps(whole);  // the next post: this one lies where may_post() has looked
  return memory_.ring(static_cast<std::uint64_t>(rank_)) + place_.begin;
}

// The memory of a lap at once: page by page, each when a post comes to it, it takes half as long again, and falls into what a trial measures. Where the
// kernel cannot do that (before Linux 5.14) it comes page by page.
void SharedArea::make_lap() noexcept {
#ifdef MADV_POPULATE_WRITE
  (void)madvise(memory_.ring(static_cast<std::uint64_t>(rank_)), PostRing::lap(size_), MADV_POPULATE_WRITE);
#endif
}

void SharedArea::claim(const std::byte* data, std::uint64_t bytes) noexcept {
  constexpr std::uintptr_t kLine = 64;
  const auto end = reinterpret_cast<std::uintptr_t>(data) + bytes;
  for (auto line = reinterpret_cast<std::uintptr_t>(data) / kLine * kLine; line < end; line += kLine) {
    auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(line);
    store_relaxed(word, load_relaxed(word));
  }
}

void SharedArea::post(std::uint64_t round, std::uint64_t bytes, std::uint64_t what, bool wakes_each, std::uint64_t flags) noexcept {
  AreaSlot& slot = memory_.slot(static_cast<std::uint64_t>(rank_), round);
  if (bytes > AreaSlot::kBytes && !place_is_told_) slot.set_place(place_);
  slot.what = my_what_ = what;
  my_round_ = round;
  LAPWING_DELAY_POINT("area.post");
  store_release(slot.stamp, AreaSlot::stamp_of(round, bytes, flags));
  LAPWING_DELAY_POINT("area.posted");
  full_fence();  // stamp before the others' stamps and `watching`; pairs with the fences of arm() and of another post()
  if (!wakes_each) {
    if (all_posted(round)) wake_watching([](std::uint8_t) { return true; });
    return;
  }
  wake_watching([this, round](std::uint8_t watched) {
    return watched == AreaMemory::watched(rank_) || (watched == AreaMemory::kWatchesAll && all_posted(round));
  });
}

void SharedArea::acknowledge(std::uint64_t round) noexcept {
  LAPWING_DELAY_POINT("area.acknowledge");
  store_release(memory_.done(static_cast<std::uint64_t>(rank_)), round + 1);
  LAPWING_DELAY_POINT("area.acknowledged");
  full_fence();  // the word before the others' `watching`; pairs with the fence of arm()
  wake_watching([this](std::uint8_t watched) { return watched == AreaMemory::watched(rank_); });
}

SharedArea::Outlook SharedArea::watch(Watcher& watcher, int rank, std::uint64_t round, Sign sign) noexcept {
  LAPWING_CHECK(watcher_ == nullptr);
  watched_sign_ = sign;
  watched_rank_ = rank;
  watched_round_ = round;
  const Outlook now = outlook();
  if (now != Outlook::kNotYet) return now;
  watcher_ = &watcher;
  if (pool_.watch(*this)) return Outlook::kNotYet;
  end_watch();
  return outlook();
}

void SharedArea::unwatch() noexcept {
  if (watcher_ == nullptr) return;
  pool_.unwatch(*this);
  end_watch();
}

SharedArea::Watcher& SharedArea::end_watch() noexcept {
  if (announced_) store_relaxed(memory_.watching(static_cast<std::uint64_t>(rank_)), std::uint8_t{0});
  announced_ = false;
  return *std::exchange(watcher_, nullptr);
}

std::vector<int> SharedArea::missing(const Watcher& watcher) const {
  std::vector<int> members;
  for (int rank = 0; watcher_ == &watcher && rank < size_; ++rank) {
    const bool wanted = watched_rank_ == kAll || watched_rank_ == rank;
    if (wanted && !has_given(rank)) members.push_back(rank);
  }
  return members;
}

// What it posted before it went is visible then: the goodbye of which the transport tells comes after the posts as well.
bool SharedArea::has_gone(int rank) const noexcept {
  const auto member = static_cast<std::uint64_t>(rank);
  return (some_left() && load_acquire(memory_.gone(member)) != 0) ||
         (some_ended() && load_acquire(host_.ended(members_.locals[member])) != 0) || why_lost(rank) != nullptr;
}

// A rank that has gone and has not given what is watched for, or kNone.
int SharedArea::deserter() const noexcept {
  for (int rank = 0; rank < size_; ++rank) {
    if (has_gone(rank) && !has_given(rank)) return rank;
  }
  return kNone;
}

SharedArea::Difference SharedArea::compare_last() const noexcept {
  if (my_round_ == ~std::uint64_t{0}) return {};
  for (int rank = 0; rank < size_; ++rank) {
    const AreaSlot& slot = memory_.slot(static_cast<std::uint64_t>(rank), my_round_);
    const std::uint64_t stamp = load_acquire(slot.stamp);
    if (!AreaSlot::is_past(stamp, my_round_)) return {rank, 0, my_what_};
    if (!AreaSlot::is_past(stamp, my_round_ + 1) && !agree(my_what_, slot.what)) return {rank, slot.what, my_what_};
  }
  return {};
}

const Status* SharedArea::why_lost(int rank) const noexcept {
  const auto at = std::find_if(lost_.begin(), lost_.end(), [rank](const Lost& lost) { return lost.rank == rank; });
  return at != lost_.end() ? &at->why : nullptr;
}

Status SharedArea::why_never() const {
  const int rank = deserter();
  if (const Status* why = why_lost(rank)) return why->copy();
  const bool after_loss = rank != kNone && load_acquire(memory_.gone(static_cast<std::uint64_t>(rank))) == AreaMemory::kLeftAfterLoss;
  return Status::error(after_loss ? MPI_ERR_PROC_ABORTED : MPI_ERR_OTHER,
                       "rank %d of the communicator has freed it, or has finalized MPI, before it took part%s",
                       rank == kNone ? rank : rank_of(rank), after_loss ? ", because another of its processes was lost" : "");
}

void SharedArea::lose(std::uint32_t local, const Status& why) {
  const auto at = std::find(members_.locals.begin(), members_.locals.end(), local);
  if (at == members_.locals.end()) return;
  const int rank = static_cast<int>(at - members_.locals.begin());
  if (why_lost(rank) == nullptr) lost_.push_back({rank, why.copy()});
}

}  // namespace lapwing::coll
