// A communicator's place at a shared area (shared_area.h): which operation may use it now, and when it is given back.
//
// The operations of one communicator use the area one after the other, in the order in which they were started, which is the
// same on all ranks: each has it from start to end, and numbers its rounds as its turn in that order says. Persistent operations
// may be started in another order on each rank (MPI 5.0, section 6.13), so each has a place, and an area, of its own; where there
// are too many of them it goes by messages.
//
// The members on one of several hosts have an area of their own, which the first of them to use it claims (AreaPool::find_or_claim()); and
// so have those of a persistent operation, which is made in the same order on all ranks.
//
// Else an area is claimed by the process that leads the creation of the communicator, for its context id, by which the others find it. No
// member opens it, and no page is touched, before the first collective operation. A member that has opened it leaves it when the
// communicator goes. If the leader has not opened it by then it gives it back where no member has, and none does any more; and where one has, because
// a call was refused here, or failed, the leader leaves as they do.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "coll/area_pool.h"
#include "coll/levels.h"
#include "comm/communicator.h"

namespace lapwing::coll {

class CollectiveRequest;

// An area that is claimed for a communicator to come; given back unless a member opens it. With the lock held.
class AreaClaim {
 public:
  AreaClaim() noexcept = default;
  AreaClaim(AreaPool& pool, std::uint64_t context) noexcept
      : pool_(&pool), number_(pool.claim({context})), context_(context) {}
  AreaClaim(AreaClaim&& other) noexcept { swap(other); }
  AreaClaim& operator=(AreaClaim&& other) noexcept {
    swap(other);
    return *this;
  }
  ~AreaClaim() { give_back(); }

  bool is_for(std::uint64_t context) const noexcept { return context_ == context; }
  // These are told its key.
  void tell(comm::Group& members) noexcept;
  // Whether these members can use it.
  bool suits(const comm::Group& members) const noexcept;
  void give_back() noexcept;
  // A member has opened the area: the last one that leaves gives it back.
  void release() noexcept;

 private:
  void swap(AreaClaim& other) noexcept;

  AreaPool* pool_ = nullptr;
  unsigned number_ = AreaPool::kNone;
  std::uint64_t context_ = 0;
  comm::Group* members_ = nullptr;  // that are told; null: no process is but this one
};

class AreaPlace {
 public:
  // Of a communicator, or of its persistent operation with this number.
  explicit AreaPlace(std::uint32_t operation = 0) noexcept : operation_(operation) {}

  // The leader's claim, for these members.
  void keep(AreaClaim claim, comm::Group& members) noexcept {
    claim_ = std::move(claim);
    claim_.tell(members);
  }
  // The members have agreed on `context`: a claim for another one is of no use.
  void settle(std::uint64_t context) noexcept {
    if (!claim_.is_for(context)) claim_.give_back();
  }

  // Opens the area at the first call: of all members or, where they are on several hosts (`levels`), of those of this one. Null when there
  // is none, which all of these find alike.
  SharedArea* area(AreaPool* pool, const comm::Communicator& communicator, const Levels* levels);
  SharedArea& area() noexcept { return *area_; }
  // Whether the next call may be carried out by direct copies (shared_area.h). Where the members are on several hosts none is.
  bool copies_directly() noexcept { return area_ != nullptr && of_all_ && area_->may_copy_directly(); }

  // Once all ranks have made their last call: whether it was the same on all, as far as the area can tell.
  Status compare_last_calls(const comm::Communicator& communicator) const;

  // ---- turns, with the lock held

  // True when the request, which has taken its rounds, may begin at once. Otherwise its on_turn() will be called.
  bool join(CollectiveRequest& request);
  // The first in the queue has done with the area.
  void leave() noexcept;
  // The one whose turn it is.
  const CollectiveRequest* first() const noexcept { return queue_.empty() ? nullptr : queue_.front(); }

 private:
  void open(AreaPool& pool, const comm::Communicator& communicator);
  void open_on_host(AreaPool& pool, const comm::Communicator& communicator, const Levels& levels);

  const std::uint32_t operation_;
  AreaClaim claim_;
  bool looked_ = false;
  std::unique_ptr<SharedArea> area_;
  bool of_all_ = false;  // all members are here
  std::deque<CollectiveRequest*> queue_;
};

}  // namespace lapwing::coll
