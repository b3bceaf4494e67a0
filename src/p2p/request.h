// Requests: what MPI_Request points at. One class for every kind that a user can wait for; the rooms above derive their own
// (collectives, generalized requests).
//
// States, as a user sees them:
//   inactive   persistent and not started, or started and completed and waited for: waits return at once, empty status
//   active     started and not complete
//   complete   done() is true; result() is valid until the wait that takes it. A non-persistent request is freed by that wait
//
// Ownership: the user's handle. The wait that takes the result destroys the request, under the endpoint's lock.
// MPI_Request_free of an active request sets a continuation that destroys it when it completes; so the continuation of a
// request that a user has a handle to belongs to src/mpi/request.cc.
#pragma once

#include <cstdint>

#include "base/object.h"
#include "base/status.h"
#include "comm/communicator.h"
#include "engine/engine.h"
#include "mpi.h"

namespace lapwing::p2p {

// What a completed operation tells. src/mpi turns it into an MPI_Status.
struct Result {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  std::uint64_t bytes = 0;
  std::uint64_t note = 0;  // of a message inside the library: what its sender wrote beside it
  bool cancelled = false;
  Status status;  // why it failed, if it did

  // The empty status of MPI 5.0, section 3.7.3.
  static Result empty() { return {}; }
  void clear() noexcept {
    source = MPI_ANY_SOURCE;
    tag = MPI_ANY_TAG;
    bytes = 0;
    note = 0;
    cancelled = false;
    if (!status.ok()) status = Status();
  }
};

class Request : public Object, public engine::Operation {
 public:
  enum class Kind { kSend, kReceive, kCollective, kGeneralized, kPartitioned, kOther };

  Request(Kind kind, bool persistent) noexcept : Object(ObjectKind::kRequest), kind_(kind), persistent_(persistent) {}

  Kind kind() const noexcept { return kind_; }
  bool persistent() const noexcept { return persistent_; }
  // Stands behind many handles at once and is never destroyed: nobody counts its references.
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
  // Called by the waiting thread WITHOUT the lock when it looks at or takes the result (generalized requests call query_fn
  // here, which fills the status itself).
  virtual Status query(MPI_Status& status) {
    (void)status;
    return {};
  }
  // Called WITHOUT the lock when the user gives the request up, before destroy() (generalized requests call free_fn here).
  virtual Status give_up() { return {}; }
  // Destroys the object; called when the last reference goes, with the lock held.
  virtual void destroy() noexcept = 0;

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
  Kind kind_;
  bool persistent_;
  bool active_ = false;
  bool shared_ = false;
  Result result_;
};

}  // namespace lapwing::p2p
