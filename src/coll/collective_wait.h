// A thread's wait for a collective operation, as a report on a hang tells it.
#pragma once

#include "coll/collective_request.h"
#include "engine/wait_reason.h"
#include "wire/hang_report.h"

namespace lapwing::coll {

class CollectiveWait final : public engine::WaitReason {
 public:
  // `call` is the MPI function that waits for it.
  CollectiveWait(const char* call, const CollectiveRequest& request) noexcept : WaitReason(call), request_(request) {}
  void describe(wire::HangWait& wait) const override { request_.describe(wait.items.emplace_back()); }

 private:
  const CollectiveRequest& request_;
};

}  // namespace lapwing::coll
