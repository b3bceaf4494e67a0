#include "request/waiting.h"

#include "wire/hang_report.h"

namespace lapwing::request {
namespace {

// For a user's requests: all of them, or any.
class RequestsWait final : public engine::WaitReason {
 public:
  RequestsWait(const char* call, std::span<const MPI_Request> handles, bool any) noexcept
      : WaitReason(call), handles_(handles), any_(any) {}
  void describe(wire::HangWait& wait) const override;

 private:
  std::span<const MPI_Request> handles_;
  bool any_;
};

// With more requests than the report has room for: where any of them is enough, one that awaits no rank stands for the rest, because
// the launcher must not conclude from a part.
void RequestsWait::describe(wire::HangWait& wait) const {
  wait.any = any_;
  for (const MPI_Request handle : handles_) {
    const Request* request = request_of(handle);
    if (!is_active(request) || request->done()) continue;
    if (wait.items.size() < wire::HangReport::kMaxItems) {
      request->describe(wait.items.emplace_back());
    } else {
      if (any_) wait.items.back() = {};
      if (any_) wait.items.back().state = "and more requests";
      return;
    }
  }
}

}  // namespace

void RequestWait::describe(wire::HangWait& wait) const {
  request_.describe(wait.items.emplace_back());
}

void wait_for_all(const char* name, engine::Engine& engine, std::span<const MPI_Request> handles) {
  engine::Visit visit(engine);
  const RequestsWait reason(name, handles, false);
  engine::Waiter waiter(0, &reason);
  for (const MPI_Request handle : handles) {
    Request* request = request_of(handle);
    if (is_active(request) && engine.watch(*request, waiter)) waiter.expect_one_more();
  }
  if (!waiter.ready()) engine.wait(waiter);
}

void wait_for_one(const char* name, engine::Engine& engine, std::span<const MPI_Request> handles) {
  engine::Visit visit(engine);
  // What is here already is found by one turn, perhaps for several requests at once. To watch all of many takes longer.
  if (int active; engine.look() && find_done(handles, active) >= 0) return;
  const RequestsWait reason(name, handles, true);
  engine::Waiter waiter(1, &reason);
  bool done = false;
  for (std::size_t i = 0; i < handles.size() && !done; ++i) {
    Request* request = request_of(handles[i]);
    done = is_active(request) && !engine.watch(*request, waiter);
  }
  if (!done) engine.wait(waiter);
  for (const MPI_Request handle : handles) {
    if (Request* request = request_of(handle); is_active(request)) engine.unwatch(*request);
  }
}

}  // namespace lapwing::request
