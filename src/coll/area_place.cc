#include "coll/area_place.h"

#include <numeric>
#include <utility>

#include "coll/collective_request.h"
#include "coll/description.h"

namespace lapwing::coll {

namespace {

constexpr AreaKey kWorldKey{comm::ContextIds::kWorld};

std::vector<int> all_ranks(const comm::Group& group) {
  std::vector<int> ranks(static_cast<std::size_t>(group.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

bool AreaClaim::suits(const comm::Group& members) const noexcept {
  return number_ != AreaPool::kNone && members.size() > 1 && pool_->all_here(members);
}

void AreaClaim::tell(comm::Group& members) noexcept {
  members.retain();
  members_ = &members;
}

void AreaClaim::release() noexcept {
  number_ = AreaPool::kNone;
  comm::Group::drop(std::exchange(members_, nullptr));
}

void AreaClaim::give_back() noexcept {
  if (number_ != AreaPool::kNone && pool_->open()) {
    if (pool_->retire(number_))
      pool_->give_back(number_);
    else if (members_ != nullptr)
      pool_->open_area(number_, *members_, all_ranks(*members_));  // and leaves it
  }
  release();
}

void AreaClaim::swap(AreaClaim& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(number_, other.number_);
  std::swap(context_, other.context_);
  std::swap(members_, other.members_);
}

SharedArea* AreaPlace::area(AreaPool* pool, const comm::Communicator& communicator, const Levels* levels) {
  if (looked_) return area_.get();
  looked_ = true;
  if (pool == nullptr || communicator.is_inter()) return nullptr;
  levels != nullptr ? open_on_host(*pool, communicator, *levels) : open(*pool, communicator);
  return area_.get();
}

void AreaPlace::open(AreaPool& pool, const comm::Communicator& communicator) {
  if (communicator.size() < 2) return;
  const AreaKey key{communicator.context(), operation_};
  const unsigned number = operation_ != 0 ? pool.find_or_claim(key) : key == kWorldKey ? AreaPool::kWorld : pool.find(key);
  if (number == AreaPool::kNone || !pool.all_here(communicator.local_group())) return;
  if (number != AreaPool::kWorld && !pool.take_part(number, key)) return;
  area_ = pool.open_area(number, communicator.local_group(), all_ranks(communicator.local_group()));
  if (area_ != nullptr) claim_.release();
  of_all_ = true;
}

// The key is the context id with a bit that no context id has: for that one itself a leader may have claimed an area, which it gives back
// when it sees that not all members are here.
void AreaPlace::open_on_host(AreaPool& pool, const comm::Communicator& communicator, const Levels& levels) {
  const comm::Group& group = communicator.local_group();
  const std::vector<int>& members = levels.neighbors();
  if (members.size() < 2 || !pool.all_here(group, members)) return;
  constexpr std::uint64_t kOnHost = 1;
  const AreaKey key{communicator.context(), operation_};
  const unsigned number = key == kWorldKey ? AreaPool::kWorld : pool.find_or_claim({key.context | kOnHost, operation_});
  if (number != AreaPool::kNone) area_ = pool.open_area(number, group, members);
}

Status AreaPlace::compare_last_calls(const comm::Communicator& communicator) const {
  if (area_ == nullptr) return {};
  const SharedArea::Difference difference = area_->compare_last();
  if (difference.rank == SharedArea::kNone) return {};
  return mismatch(communicator, {communicator.rank(), difference.ours},
                  {area_->rank_of(difference.rank), difference.what});
}

bool AreaPlace::join(CollectiveRequest& request) {
  queue_.push_back(&request);
  return queue_.size() == 1;
}

void AreaPlace::leave() noexcept {
  queue_.pop_front();
  if (!queue_.empty()) queue_.front()->on_turn();
}

}  // namespace lapwing::coll
