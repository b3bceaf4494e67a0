#include "coll/cache.h"

#include <memory>
#include <vector>

#include "base/tuning.h"
#include "coll/communicator_state.h"

namespace lapwing::coll {

CollectiveRequest* take_kept(comm::Communicator& communicator, const Call& call, Form form, std::uint32_t variant) noexcept {
  CommunicatorState& state = state_of(communicator);
  auto& kept = state.kept;
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) {
    const CollectiveRequest& each = **it;
    if (each.form != form || each.variant != variant || each.parameters != state.link_rate.parameters()) continue;
    if (!each.call.same(call) || !each.arrays.same(call, communicator)) continue;
    CollectiveRequest* request = it->release();
    kept.erase(std::next(it).base());
    return request;
  }
  return nullptr;
}

void keep_again(comm::Communicator& communicator, CollectiveRequest& request) noexcept {
  state_of(communicator).kept.emplace_back(&request);
}

bool keep_for_later(CollectiveRequest& request) noexcept {
  const Schedule& schedule = request.schedule();
  const Tuning& limit = tuning();
  if (schedule.steps().size() > limit.coll_kept_steps || schedule.scratch_bytes() > limit.coll_kept_scratch ||
      limit.coll_kept_schedules == 0)
    return false;
  auto& kept = state_of(*request.communicator()).kept;
  if (kept.size() >= limit.coll_kept_schedules) kept.erase(kept.begin());
  kept.emplace_back(&request);
  // A kept request holds no reference to its communicator, or neither would ever go. If ours was the last one, the
  // communicator goes now and takes the cache with it.
  request.detach();
  return true;
}

}  // namespace lapwing::coll
