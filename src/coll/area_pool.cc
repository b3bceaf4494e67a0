#include "coll/area_pool.h"

#include <sched.h>

#include <algorithm>
#include <bit>

#include "base/delay_point.h"

namespace lapwing::coll {

bool AreaPool::poll() noexcept {
  bool moved = false;
  for (std::size_t i = watched_.size(); i-- > 0;) {  // backwards: a watcher may wait again, at the end
    if (i >= watched_.size()) continue;
    SharedArea& area = *watched_[i];
    const SharedArea::Outlook outlook = area.outlook();
    if (outlook == SharedArea::Outlook::kNotYet) continue;
    end_watch(i);
    if (outlook == SharedArea::Outlook::kThere)
      area.end_watch().on_posted();  // may destroy the area
    else
      area.end_watch().on_member_lost(area.why_never());  // likewise
    moved = true;
  }
  return moved;
}

void AreaPool::arm() noexcept {
  armed_ = true;
  for (SharedArea* area : watched_) announce(*area);
}

bool AreaPool::work_left() noexcept {
  return std::any_of(watched_.begin(), watched_.end(),
                     [](SharedArea* area) { return area->outlook() != SharedArea::Outlook::kNotYet; });
}

bool AreaPool::watch(SharedArea& area) noexcept {
  if (armed_) {
    // The driver may sleep without another arm(), or sleeps already: what arm() would do is done here.
    announce(area);
    full_fence();  // pairs with the fences in SharedArea::post(), leave() and publish_end()
    LAPWING_DELAY_POINT("area.watch");
    if (area.outlook() != SharedArea::Outlook::kNotYet) return false;
  }
  watched_.push_back(&area);
  waits_ = true;
  return true;
}

void AreaPool::announce(SharedArea& area) noexcept {
  area.announce();
  if (announced_) return;
  announced_ = true;
  store_relaxed(shared_.waiting(own_), std::uint8_t{1});
}

void AreaPool::unwatch(SharedArea& area) noexcept {
  const auto at = std::find(watched_.begin(), watched_.end(), &area);
  if (at != watched_.end()) end_watch(static_cast<std::size_t>(at - watched_.begin()));
}

void AreaPool::end_watch(std::size_t index) noexcept {
  watched_[index] = watched_.back();
  watched_.pop_back();
  waits_ = !watched_.empty();
  if (waits_ || !announced_) return;
  announced_ = false;
  store_relaxed(shared_.waiting(own_), std::uint8_t{0});
}

void AreaPool::forget(SharedArea& area) noexcept {
  opened_.erase(std::remove(opened_.begin(), opened_.end(), &area), opened_.end());
}

void AreaPool::on_rank_lost(std::uint32_t local, const Status& why) noexcept {
  lost_.push_back({local, why.copy()});
  for (SharedArea* area : opened_) area->lose(local, why);
  poll();
}

std::uint64_t AreaPool::bytes_for(std::uint32_t local_ranks) const noexcept {
  static_assert(kCount == 64);  // bits of a word
  return PoolMemory::size(local_ranks);
}

void AreaPool::on_open(net::HostMemory& memory) noexcept {
  memory_ = &memory;
  shared_ = {memory.shared_bytes(), memory.local_ranks()};
  own_ = memory.own_number();
}

void AreaPool::on_close() noexcept {
  for (SharedArea* area : opened_) area->leave();
  publish_end();
  memory_ = nullptr;
}

// After the last post, which counts on.
void AreaPool::publish_end() noexcept {
  store_release(shared_.ended(own_), std::uint8_t{1});
  shared_.ended_count().fetch_add(1, std::memory_order_release);
  LAPWING_DELAY_POINT("area.end");
  full_fence();  // ended before the others' `waiting`; pairs with the fence of arm()
  for (std::uint32_t local = 0; local < shared_.ranks; ++local) {
    if (local != own_ && load_relaxed(shared_.waiting(local)) != 0) memory_->notify(local);
  }
}

unsigned AreaPool::claim(AreaKey key) noexcept {
  if (!open()) return kNone;
  PoolMemory::Claims& claims = shared_.claims();
  std::atomic<std::uint64_t>& used = claims.used;
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
    store_relaxed(shared_.area(number).header().opened, 0u);
    store_release(claims.operations[number], key.operation);  // after the context that give_back() has wiped
    store_release(claims.contexts[number], key.context);      // seen by all that have been told the key
    return number;
  }
}

// The context is read again, because the area may have got another user between the first look and that at the operation: one that sees that user's
// operation sees that the context before it is gone.
bool AreaPool::is_for(unsigned number, AreaKey key) const noexcept {
  const PoolMemory::Claims& claims = shared_.claims();
  return load_acquire(claims.contexts[number]) == key.context && load_acquire(claims.operations[number]) == key.operation &&
         load_relaxed(claims.contexts[number]) == key.context;
}

unsigned AreaPool::find(AreaKey key) noexcept {
  if (!open()) return kNone;
  for (unsigned number = 0; number < kCount; ++number)
    if (number != kWorld && is_for(number, key)) return number;
  return kNone;
}

// A program may keep any number of persistent operations; communicators to come need areas more.
bool AreaPool::has_room_for(AreaKey key) const noexcept {
  return key.operation == 0 || static_cast<unsigned>(std::popcount(load_relaxed(shared_.claims().used))) < kMostUsed;
}

namespace {

// Between processes, for some hundred nanoseconds at a time. A rank that has lost its core meanwhile needs it to go on.
class DecisionLock {
 public:
  explicit DecisionLock(std::atomic<std::uint32_t>& word) noexcept : word_(word) {
    while (word_.exchange(1, std::memory_order_acquire) != 0)
      sched_yield();  // pairs with the release of the holder before
  }
  ~DecisionLock() { store_release(word_, 0u); }
  DecisionLock(const DecisionLock&) = delete;
  DecisionLock& operator=(const DecisionLock&) = delete;

 private:
  std::atomic<std::uint32_t>& word_;
};

}  // namespace

unsigned AreaPool::find_or_claim(AreaKey key) noexcept {
  if (!open()) return kNone;
  PoolMemory::Decisions& decisions = shared_.decisions();
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15u;
  const std::uint64_t of_key = ((key.context * kSpread ^ key.operation) * kSpread >> 32) % PoolMemory::Decisions::kClasses;
  std::uint64_t& refused = decisions.refused[of_key / 64];
  const std::uint64_t bit = std::uint64_t{1} << of_key % 64;
  const DecisionLock lock(decisions.lock);
  const unsigned found = find(key);
  if (found != kNone || (refused & bit) != 0) return found;
  const unsigned claimed = has_room_for(key) ? claim(key) : kNone;
  if (claimed == kNone) refused |= bit;
  return claimed;
}

// Meanwhile the area may have got another user, whose claimant then takes it for opened, and leaves it as a member does. (If no member of that one
// uses it, the area is not given back again.)
bool AreaPool::take_part(unsigned number, AreaKey key) noexcept {
  const std::uint32_t before = shared_.area(number).header().opened.fetch_or(AreaHeader::kOpened, std::memory_order_acq_rel);
  return (before & AreaHeader::kRetired) == 0 && is_for(number, key);
}

bool AreaPool::retire(unsigned number) noexcept {
  std::uint32_t none = 0;
  return shared_.area(number).header().opened.compare_exchange_strong(none, AreaHeader::kRetired, std::memory_order_acq_rel);
}

void AreaPool::give_back(unsigned number) noexcept {
  if (!open()) return;
  store_relaxed(shared_.claims().contexts[number], std::uint64_t{0});
  shared_.claims().used.fetch_and(~(std::uint64_t{1} << number), std::memory_order_release);
}

bool AreaPool::all_here(const comm::Group& members) const noexcept {
  if (!open()) return false;
  for (int rank = 0; rank < members.size(); ++rank)
    if (memory_->local_number(members.member(rank)) < 0) return false;
  return true;
}

bool AreaPool::all_here(const comm::Group& group, const std::vector<int>& ranks) const noexcept {
  const auto is_here = [&](int rank) { return memory_->local_number(group.member(rank)) >= 0; };
  return open() && std::all_of(ranks.begin(), ranks.end(), is_here);
}

std::unique_ptr<SharedArea> AreaPool::open_area(unsigned number, const comm::Group& group, std::vector<int> ranks) {
  if (number >= kCount || !all_here(group, ranks)) return nullptr;
  std::vector<std::uint32_t> locals;
  for (const int rank : ranks) locals.push_back(static_cast<std::uint32_t>(memory_->local_number(group.member(rank))));
  const auto place = std::find(ranks.begin(), ranks.end(), group.rank()) - ranks.begin();
  auto area = std::make_unique<SharedArea>(
      *this, number, shared_, SharedArea::Members{std::move(locals), std::move(ranks)}, static_cast<int>(place));
  for (const Lost& lost : lost_) area->lose(lost.local, lost.why);
  opened_.push_back(area.get());
  return area;
}

}  // namespace lapwing::coll
