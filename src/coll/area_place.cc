#include "coll/area_place.h"

#include "coll/collective_request.h"
#include "coll/description.h"

namespace lapwing::coll {

AreaPlace::~AreaPlace() {
  if (!area_ && claimed_ != net::AreaPool::kNone) areas_->give_back(claimed_);
}

net::SharedArea* AreaPlace::area(const Services& services, const comm::Communicator& communicator) {
  if (looked_) return area_.get();
  looked_ = true;
  const std::uint64_t context = communicator.context();
  if (services.areas == nullptr || communicator.is_inter() || communicator.size() < 2) return nullptr;
  const unsigned number = context == comm::ContextIds::kWorld ? net::AreaPool::kWorld : services.areas->find(context);
  if (number == net::AreaPool::kNone) return nullptr;
  area_ = services.areas->open_area(number, communicator.local_group().members(), communicator.rank());
  return area_.get();
}

Status AreaPlace::compare_last_calls(const comm::Communicator& communicator) const {
  if (area_ == nullptr) return {};
  const net::SharedArea::Difference difference = area_->compare_last();
  if (difference.rank == net::SharedArea::kNone) return {};
  return mismatch(communicator, {area_->rank(), difference.ours}, {difference.rank, difference.what});
}

bool AreaPlace::join(CollectiveRequest& request, std::uint32_t rounds, std::uint64_t* first_round) {
  *first_round = area_->take_rounds(rounds);
  queue_.push_back(&request);
  return queue_.size() == 1;
}

void AreaPlace::leave() noexcept {
  queue_.pop_front();
  if (!queue_.empty()) queue_.front()->on_turn();
}

net::SharedArea* area_of(const Services& services, comm::Communicator& communicator) {
  if (!communicator.place) communicator.place = std::make_unique<AreaPlace>();
  return place_of(communicator).area(services, communicator);
}

}  // namespace lapwing::coll
