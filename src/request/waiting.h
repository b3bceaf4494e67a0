// Waiting for requests: for one, for all of an array of handles, for any of them. Handles of inactive requests and MPI_REQUEST_NULL
// count as done.
//
// That a request is done is seen without the lock; the functions that block take it.
#pragma once

#include <span>

#include "engine/wait_reason.h"
#include "request/request.h"

namespace lapwing::request {

inline bool is_active(const Request* request) noexcept {
  return request != nullptr && request->active();
}

inline bool all_done(std::span<const MPI_Request> handles) noexcept {
  for (const MPI_Request handle : handles) {
    const Request* request = request_of(handle);
    if (is_active(request) && !request->done()) return false;
  }
  return true;
}

// The first active request that is done; -1 if none. `active` counts the active ones up to it.
inline int find_done(std::span<const MPI_Request> handles, int& active) noexcept {
  active = 0;
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const Request* request = request_of(handles[i]);
    if (!is_active(request)) continue;
    ++active;
    if (request->done()) return static_cast<int>(i);
  }
  return -1;
}

// Block until all active requests are done, or at least one is. `call` is the MPI function, for a report on a hang.
void wait_for_all(const char* call, engine::Engine& engine, std::span<const MPI_Request> handles);
void wait_for_one(const char* call, engine::Engine& engine, std::span<const MPI_Request> handles);

// What a thread that waits for a request says in a report on a hang.
class RequestWait final : public engine::WaitReason {
 public:
  RequestWait(const char* call, const Request& request) noexcept : WaitReason(call), request_(request) {}
  void describe(wire::HangWait& wait) const override;

 private:
  const Request& request_;
};

// Blocks until `request` is done.
inline void wait_in(const char* call, engine::Visit& visit, Request& request) noexcept {
  const RequestWait reason(call, request);
  engine::Waiter waiter(1, &reason);
  if (visit.engine().watch(request, waiter)) visit.engine().wait(waiter);
}

}  // namespace lapwing::request
