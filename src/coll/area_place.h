// A communicator's place at an area (net/shared_area.h): who may use it now, and when it is given back.
//
// The operations of one communicator use the area one after the other, in the order in which they were started, which is the
// same on all ranks: each has it from start to end, and numbers its rounds as its turn in that order says. Persistent operations
// may be started in another order on each rank (MPI 5.0, section 6.13), so they go by messages.
//
// An area is claimed by the process that leads the creation of the communicator, for its context id, by which the others find it. No member
// opens it, and no page is touched, before the first collective operation. A member that has opened it leaves it when the communicator
// goes; if the leader has not opened it by then, no member has or will, and the leader gives it back.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "coll/coll.h"
#include "comm/communicator.h"
#include "net/shared_area.h"

namespace lapwing::coll {

class CollectiveRequest;

class AreaPlace final : public comm::Extra {
 public:
  // The leader's; with an area claimed for the communicator that will have this context.
  AreaPlace(net::AreaPool& areas, unsigned number, std::uint64_t context) noexcept
      : areas_(&areas), claimed_(number), claimed_for_(context) {}
  // A member's.
  AreaPlace() noexcept = default;
  ~AreaPlace() override;

  // The others agreed on `context`. False when the claim was for another one, so that the place is of no use.
  bool claimed_for(std::uint64_t context) const noexcept { return claimed_for_ == context; }

  // Opens the area at the first call. Null when there is none, which all members find alike.
  net::SharedArea* area(const Services& services, const comm::Communicator& communicator);
  net::SharedArea& area() noexcept { return *area_; }

  // Once all ranks have made their last call: whether it was the same on all, as far as the area can tell.
  Status compare_last_calls(const comm::Communicator& communicator) const;

  // ---- whose turn it is, with the lock held

  // Gives the request its rounds; true when it may begin at once. Otherwise its on_turn() will be called.
  bool join(CollectiveRequest& request, std::uint32_t rounds, std::uint64_t* first_round);
  // The first in the queue has done with the area.
  void leave() noexcept;
  // The one whose turn it is.
  const CollectiveRequest* first() const noexcept { return queue_.empty() ? nullptr : queue_.front(); }

 private:
  net::AreaPool* areas_ = nullptr;
  unsigned claimed_ = net::AreaPool::kNone;
  std::uint64_t claimed_for_ = 0;
  bool looked_ = false;
  std::unique_ptr<net::SharedArea> area_;
  std::deque<CollectiveRequest*> queue_;
};

// The communicator's area; null when it has none. With the lock held.
net::SharedArea* area_of(const Services& services, comm::Communicator& communicator);
inline AreaPlace& place_of(comm::Communicator& communicator) noexcept {
  return static_cast<AreaPlace&>(*communicator.place);
}

}  // namespace lapwing::coll
