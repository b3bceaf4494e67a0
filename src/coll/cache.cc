#include "coll/cache.h"

#include <memory>
#include <vector>

#include "coll/communicator_state.h"

namespace lapwing::coll {

namespace {

constexpr std::size_t kMaxKept = 16;
constexpr std::size_t kMaxSteps = 256;
constexpr std::uint64_t kMaxScratch = 64 * 1024;

}  // namespace

CollectiveRequest* take_kept(comm::Communicator& communicator, const Call& call) noexcept {
  auto& kept = state_of(communicator).kept;
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) {
    if (!(*it)->call.same(call)) continue;
    CollectiveRequest* request = it->release();
    kept.erase(std::next(it).base());
    request->attach(communicator);
    request->retain();
    return request;
  }
  return nullptr;
}

bool keep_for_later(CollectiveRequest& request) noexcept {
  const Schedule& schedule = request.schedule();
  if (schedule.steps().size() > kMaxSteps || schedule.scratch_bytes() > kMaxScratch) return false;
  auto& kept = state_of(*request.communicator()).kept;
  if (kept.size() == kMaxKept) kept.erase(kept.begin());
  kept.emplace_back(&request);
  // A kept request holds no reference to its communicator, or neither would ever go. If ours was the last one, the
  // communicator goes now and takes the cache with it.
  request.detach();
  return true;
}

}  // namespace lapwing::coll
