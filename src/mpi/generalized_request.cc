// MPI 5.0, section 13.2: generalized requests. The program's own operations, waited for like messages.
//
// The callbacks run without the endpoint's lock, on the application thread that waits, tests, cancels or frees; and free_fn on
// the one that calls MPI_Grequest_complete when the request was freed before.
#include "mpi/completion.h"
#include "mpi/implementation.h"
#include "mpi/status_fields.h"

namespace lapwing::mpi {
namespace {

class GeneralizedRequest final : public p2p::Request {
 public:
  GeneralizedRequest(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                     MPI_Grequest_cancel_function* cancel, void* extra_state) noexcept
      : Request(Kind::kGeneralized, false), query_(query), free_(free), cancel_(cancel), extra_state_(extra_state) {}

  Status start() override { return Status::error(MPI_ERR_REQUEST, "a generalized request is not persistent"); }

  Status query(MPI_Status& status) override { return outcome(query_(extra_state_, &status), "query"); }
  Status give_up() override { return outcome(free_(extra_state_), "free"); }
  Status cancel() override { return outcome(cancel_(extra_state_, done() ? 1 : 0), "cancel"); }
  void destroy() noexcept override { delete this; }

 private:
  ~GeneralizedRequest() = default;

  static Status outcome(int code, const char* which) {
    if (code == MPI_SUCCESS) return {};
    return Status::error(code, "the %s function of a generalized request returned error code %d", which, code);
  }

  MPI_Grequest_query_function* query_;
  MPI_Grequest_free_function* free_;
  MPI_Grequest_cancel_function* cancel_;
  void* extra_state_;
};

}  // namespace

Status grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                      MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request) {
  auto* object = new GeneralizedRequest(query_fn, free_fn, cancel_fn, extra_state);
  engine::Call call(process().engine);
  process().engine.begin(*object);
  object->set_active(true);
  *request = handle_of(*object);
  return {};
}

Status grequest_complete(MPI_Request handle) {
  p2p::Request* request = request_of(handle);
  if (request == nullptr || request->kind() != p2p::Request::Kind::kGeneralized)
    return Status::error(MPI_ERR_REQUEST, "the request is no generalized request");
  bool freed;
  {
    engine::Call call(process().engine);
    if (request->done()) return Status::error(MPI_ERR_REQUEST, "the generalized request has been completed before");
    freed = !request->active();
    process().engine.finish(*request);
  }
  if (!freed) return {};
  Status outcome = request->give_up();
  destroy_request(*request);
  return outcome;
}

}  // namespace lapwing::mpi
