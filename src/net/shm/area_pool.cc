#include "net/shm/area_pool.h"

#include <algorithm>

#include "base/delay_point.h"

namespace lapwing::net::shm {

bool SegmentAreaPool::poll() noexcept {
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

void SegmentAreaPool::arm() noexcept {
  armed_ = true;
  for (SharedArea* area : watched_) area->announce();
}

bool SegmentAreaPool::work_left() noexcept {
  return std::any_of(watched_.begin(), watched_.end(),
                     [](SharedArea* area) { return area->outlook() != SharedArea::Outlook::kNotYet; });
}

bool SegmentAreaPool::watch(SharedArea& area) noexcept {
  if (armed_) {
    // Nobody may call arm() before the driver sleeps (or it sleeps already): do here what arm() would do.
    area.announce();
    full_fence();  // pairs with the fence in SharedArea::post()
    LAPWING_DELAY_POINT("area.watch");
    if (area.outlook() != SharedArea::Outlook::kNotYet) return false;
  }
  watched_.push_back(&area);
  return true;
}

void SegmentAreaPool::unwatch(SharedArea& area) noexcept {
  const auto at = std::find(watched_.begin(), watched_.end(), &area);
  if (at != watched_.end()) end_watch(static_cast<std::size_t>(at - watched_.begin()));
}

void SegmentAreaPool::end_watch(std::size_t index) noexcept {
  watched_[index] = watched_.back();
  watched_.pop_back();
}

void SegmentAreaPool::forget(SharedArea& area) noexcept {
  opened_.erase(std::remove(opened_.begin(), opened_.end(), &area), opened_.end());
}

void SegmentAreaPool::lose(std::uint32_t local, const Status& why) noexcept {
  lost_.push_back({local, why.copy()});
  for (SharedArea* area : opened_) area->lose(local, why);
  poll();
}

void SegmentAreaPool::leave() noexcept {
  for (SharedArea* area : opened_) area->leave();
}

unsigned SegmentAreaPool::claim(std::uint64_t key) noexcept {
  std::atomic<std::uint64_t>& used = segment_.areas_used();
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
    store_release(segment_.area_key(number), key);  // seen by all who have been told the key
    return number;
  }
}

unsigned SegmentAreaPool::find(std::uint64_t key) noexcept {
  if (!open()) return kNone;
  for (unsigned number = 0; number < kCount; ++number)
    if (number != kWorld && load_acquire(segment_.area_key(number)) == key) return number;
  return kNone;
}

void SegmentAreaPool::give_back(unsigned number) noexcept {
  if (!open()) return;
  store_relaxed(segment_.area_key(number), std::uint64_t{0});
  segment_.areas_used().fetch_and(~(std::uint64_t{1} << number), std::memory_order_release);
}

bool SegmentAreaPool::all_here(const std::vector<PeerId>& members) const noexcept {
  return std::all_of(members.begin(), members.end(),
                     [this](PeerId member) { return member < local_of_.size() && local_of_[member] >= 0; });
}

std::unique_ptr<SharedArea> SegmentAreaPool::open_area(unsigned number, const std::vector<PeerId>& members, int rank) {
  if (!open() || number >= kCount || !all_here(members)) return nullptr;
  std::vector<std::uint32_t> locals;
  locals.reserve(members.size());
  for (const PeerId member : members) locals.push_back(static_cast<std::uint32_t>(local_of_[member]));
  auto area = std::make_unique<SharedArea>(*this, number, segment_.area(number), std::move(locals), rank);
  for (const Lost& lost : lost_) area->lose(lost.local, lost.why);
  opened_.push_back(area.get());
  return area;
}

}  // namespace lapwing::net::shm
