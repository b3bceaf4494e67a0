#include "coll/area_place.h"

#include <utility>

#include "coll/collective_request.h"
#include "coll/description.h"

namespace lapwing::coll {

bool AreaClaim::suits(const comm::Group& members) const noexcept {
  return number_ != AreaPool::kNone && members.size() > 1 && pool_->all_here(members);
}

void AreaClaim::give_back() noexcept {
  if (number_ != AreaPool::kNone) pool_->give_back(number_);
  number_ = AreaPool::kNone;
}

void AreaClaim::swap(AreaClaim& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(number_, other.number_);
  std::swap(context_, other.context_);
}

SharedArea* AreaPlace::area(AreaPool* pool, const comm::Communicator& communicator) {
  if (looked_) return area_.get();
  looked_ = true;
  if (pool == nullptr || communicator.is_inter() || communicator.size() < 2) return nullptr;
  const std::uint64_t context = communicator.context();
  const unsigned number = context == comm::ContextIds::kWorld ? AreaPool::kWorld : pool->find(context);
  if (number == AreaPool::kNone) return nullptr;
  area_ = pool->open_area(number, communicator.local_group());
  if (area_ != nullptr) claim_.release();
  return area_.get();
}

Status AreaPlace::compare_last_calls(const comm::Communicator& communicator) const {
  if (area_ == nullptr) return {};
  const SharedArea::Difference difference = area_->compare_last();
  if (difference.rank == SharedArea::kNone) return {};
  return mismatch(communicator, {area_->rank(), difference.ours}, {difference.rank, difference.what});
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
