#include "request/generalized_request.h"

#include "wire/hang_report.h"

namespace lapwing::request {

Status GeneralizedRequest::outcome(int code, const char* which) {
  if (code == MPI_SUCCESS) return {};
  return Status::error(code, "the %s function of a generalized request returned error code %d", which, code);
}

void GeneralizedRequest::describe(wire::HangItem& item) const {
  item.state = "a generalized request, which the program itself completes";
}

Status complete_generalized(engine::Engine& engine, Request* request) {
  if (request == nullptr || !request->completed_by_program())
    return Status::error(MPI_ERR_REQUEST, "the request is no generalized request");
  bool given_up;
  {
    engine::Visit visit(engine);
    if (request->done()) return Status::error(MPI_ERR_REQUEST, "the generalized request has been completed before");
    given_up = !request->active();
    engine.finish(*request);
  }
  return given_up ? retire(engine, *request) : Status();
}

}  // namespace lapwing::request
