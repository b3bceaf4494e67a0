#include "request/request.h"

#include "wire/hang_report.h"

namespace lapwing::request {
namespace {

void drop_when_done(engine::Operation& operation) noexcept {
  drop(static_cast<Request&>(operation));
}

Status check_startable(const Request& request) {
  if (!request.persistent()) {
    return Status::error(MPI_ERR_REQUEST, "the request is not persistent, so it cannot be started");
  }
  if (request.active()) {
    return Status::error(MPI_ERR_REQUEST, "the request is active already; complete it before it is started again");
  }
  return {};
}

// Whether it is under way, and from now on ends without its user.
bool leave_to_itself(engine::Engine& engine, Request& request) {
  if (request.done()) return false;
  engine::Visit visit(engine);
  if (request.done()) return false;
  // What the program completes is destroyed there, because its callback must not run in a tasklet (generalized_request.cc).
  if (request.completed_by_program())
    request.set_active(false);
  else
    request.set_continuation(&drop_when_done);
  return true;
}

}  // namespace

void Request::describe(wire::HangItem& item) const {
  if (communicator_ != nullptr) item.communicator = communicator_->name;
}

Status restart(Request& request) {
  LAPWING_TRY(check_startable(request));
  request.set_active(true);
  Status status = request.start();
  if (!status.ok()) request.set_active(false);
  return status;
}

Status give_up(engine::Engine& engine, Request& request) {
  return leave_to_itself(engine, request) ? Status() : retire(engine, request);
}

}  // namespace lapwing::request
