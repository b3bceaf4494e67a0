// Requests: what MPI_Request points at. One class for everything that a user can wait for; the rooms above derive their own from it
// (sends and receives, collectives, partitioned communication), and add what it is that completes.
//
// States, as a user sees them:
//   inactive   persistent and not started, or started and completed and waited for: waits return at once, empty status
//   active     started and not complete
//   complete   done() is true; result() is valid until the wait that takes it. A non-persistent request is freed by that wait
//
// A request completes exactly once per start, as every engine::Operation does: by Engine::finish(), which only the code that
// carries the operation out may call; for a generalized request (generalized_request.h) that is the program.
//
// Ownership: the user's handle. The wait that takes the result destroys the request, under the endpoint's lock.
// MPI_Request_free of an active request sets a continuation that destroys it when it completes; so the continuation of a
// request that a user has a handle to belongs to this room (give_up()).
#pragma once

#include <mutex>

#include "base/object.h"
#include "base/status.h"
#include "comm/communicator.h"
#include "engine/engine.h"
#include "mpi.h"
#include "request/result.h"

namespace lapwing::wire {
struct HangItem;
}

namespace lapwing::request {

class Request : public Object, public engine::Operation {
 public:
  // What completes the operation. The callbacks of one that the program completes run at its end, on the user's thread.
  enum class CompletedBy : bool { kLibrary, kProgram };

  explicit Request(bool persistent, CompletedBy by = CompletedBy::kLibrary) noexcept
      : Object(ObjectKind::kRequest), persistent_(persistent), by_program_(by == CompletedBy::kProgram) {}

  bool persistent() const noexcept { return persistent_; }
  bool completed_by_program() const noexcept { return by_program_; }
  // Stands behind many handles at once and is never destroyed: its references are not counted.
  bool shared() const noexcept { return shared_; }
  bool active() const noexcept { return active_; }
  void set_active(bool active) noexcept { active_ = active; }

  Result& result() noexcept { return result_; }

  // The communicator whose error handler speaks for this request; may be null.
  comm::Communicator* communicator() const noexcept { return communicator_; }

  // The following are called with the endpoint's lock held.
  // Starts a persistent request again.
  virtual Status start() = 0;
  // MPI_Cancel: marks for cancellation; the request completes either way.
  virtual Status cancel() { return Status::error(MPI_ERR_REQUEST, "this kind of request cannot be cancelled"); }
  // What it waits for, for a report on a hang (docs/debugging.md).
  virtual void describe(wire::HangItem& item) const;
  // Destroys the object; called when the last reference goes.
  virtual void destroy() noexcept = 0;

  // These two WITHOUT the lock, for requests that the program completes, on the thread that waits or frees:
  // when the result is looked at or taken; fills the status itself.
  virtual Status query(MPI_Status& status) {
    (void)status;
    return {};
  }
  // When the user gives the request up, before destroy().
  virtual Status on_given_up() { return {}; }

 protected:
  ~Request() = default;
  void set_shared() noexcept { shared_ = true; }
  // A request that was kept for reuse begins anew: idle, with one reference.
  void revive(bool persistent) noexcept {
    Object::revive(ObjectKind::kRequest);
    persistent_ = persistent;
    active_ = false;
    set_continuation(nullptr);
  }
  comm::Communicator* communicator_ = nullptr;

 private:
  bool persistent_;
  const bool by_program_;
  bool active_ = false;
  bool shared_ = false;
  Result result_;
};

inline MPI_Request handle_of(Request& request) noexcept {
  return reinterpret_cast<MPI_Request>(&request);
}
// For handles that the shims have checked. Null for MPI_REQUEST_NULL.
inline Request* request_of(MPI_Request handle) noexcept {
  return handle == MPI_REQUEST_NULL ? nullptr : reinterpret_cast<Request*>(handle);
}

// MPI_Start: makes an inactive persistent request active. With the lock held.
Status restart(Request& request);

// Gives up a reference, and destroys the request with the last. With the lock held.
inline void drop(Request& request) noexcept {
  if (!request.shared() && request.release()) request.destroy();
}
// The end of a request that is done, with its callbacks. Takes the lock.
inline Status retire(engine::Engine& engine, Request& request) {
  Status freed = request.on_given_up();
  if (request.shared()) return freed;
  const std::lock_guard guard(engine.lock());
  drop(request);
  return freed;
}
// MPI_Request_free: a request that is not done goes on, and ends by itself. Takes the lock.
Status give_up(engine::Engine& engine, Request& request);

}  // namespace lapwing::request
